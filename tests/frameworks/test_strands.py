"""What is recorded of a Strands agent: agents, tools, messages; errors and forks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from strands import Agent, tool
from strands.models.openai import OpenAIModel

import playhead
from playhead import observe
from playhead.model import names
from playhead.testing import MockModelServer, pytest_plugin, text, tool_call, tool_result_received
from tests.support.journal_reader import Recording, start_recording
from tests.support.programs.framework_runs import assert_contexts_are_the_requests

server = pytest_plugin.mock_model_server


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument()
        yield recording
        playhead.uninstrument()


@tool
def look_up(order: str) -> dict[str, str]:
    """Look an order up."""
    return {"order": order, "status": "delayed"}


@tool
def broken(order: str) -> str:
    """Fails."""
    raise LookupError(f"no {order}")


@tool
@observe(kind="tool")
def observed(order: str) -> str:
    """Is recorded by itself."""
    return f"{order} is there"


def agent(server: MockModelServer, name: str = "clerk", tools: Any = ()) -> Agent:
    model = OpenAIModel(client_args={"base_url": server.base_url, "api_key": "none", "max_retries": 0}, model_id="m")
    return Agent(name=name, model=model, system_prompt="be kind", tools=list(tools), callback_handler=None)


@pytest.mark.covers("strands", "spans", "messages", "tools", "streaming", "usage")
def test_agent_tools_and_model_calls_are_recorded(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("it is delayed"))
    result = agent(server, tools=[look_up])("where is A1?")
    assert str(result).strip() == "it is delayed"
    seen = recording.read()
    [root] = [span for span in seen.spans if span.attributes[names.KIND] == "agent"]
    assert root.attributes[names.AGENT_NAME] == "clerk"
    assert seen.value(root, names.OUTPUT_REF) == "it is delayed"
    [called] = [span for span in seen.spans if span.attributes[names.KIND] == "tool"]
    assert called.attributes[names.TOOL_NAME] == "look_up"
    assert seen.value(called, names.TOOL_ARGUMENTS_REF) == {"order": "A1"}
    assert seen.value(called, names.TOOL_RESULT_REF) == '{"order": "A1", "status": "delayed"}'
    calls = [span for span in seen.spans if span.attributes[names.KIND] == "llm"]
    assert {span.parent_id for span in (called, *calls)} == {root.span_id}
    assert all(call.attributes[names.OUTPUT_TOKENS] > 0 for call in calls)
    assert_contexts_are_the_requests(seen, server.requests, has_tokens=True)
    [asked] = seen.messages(calls[0].attributes[names.OUTPUT_MESSAGES_REF])
    assert asked["parts"][0]["id"] == called.attributes[names.TOOL_CALL_ID]


@pytest.mark.covers("strands", "errors")
def test_a_tool_that_fails_is_an_error_and_answers_again_as_it_did(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("broken"), tool_call("broken", {"order": "A1"}))
    server.otherwise(text("sorry"))
    with playhead.run("r") as run:
        live = agent(server, tools=[broken])
        live("where is A1?")
    [failed] = [span for span in recording.read().spans if span.attributes[names.KIND] == "tool"]
    assert (failed.status, failed.attributes[names.ERROR_TYPE]) == (2, "LookupError")
    requests = len(server.requests)
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        again = agent(server, tools=[broken])
        again("where is A1?")
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])
    assert [message["content"] for message in again.messages] == [message["content"] for message in live.messages]


def test_an_agent_that_is_a_tool_is_an_agent_inside_that_tool(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("researcher"), tool_call("researcher", {"input": "A1"}))
    server.otherwise(text("done"))
    clerk = agent(server, tools=[agent(server, "researcher").as_tool(description="Looks up.")])
    clerk("where is A1?")
    spans = recording.read().spans
    by_name = {span.attributes.get(names.AGENT_NAME): span for span in spans if span.attributes[names.KIND] == "agent"}
    [called] = [span for span in spans if span.attributes[names.KIND] == "tool"]
    assert by_name["researcher"].parent_id == called.span_id
    assert called.parent_id == by_name["clerk"].span_id
    assert called.attributes[names.IDEMPOTENT] is True


class Order(BaseModel):
    """An order."""

    order: str
    status: str


@pytest.mark.covers("strands", "resume")
def test_structured_output_comes_back_from_the_record(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("Order"), tool_call("Order", {"order": "A1", "status": "delayed"}))
    server.otherwise(text("done"))
    with playhead.run("r") as run:
        live = agent(server)("where is A1?", structured_output_model=Order)
    requests = len(server.requests)
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        again = agent(server)("where is A1?", structured_output_model=Order)
    assert live.structured_output == again.structured_output == Order(order="A1", status="delayed")
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])
    seen = recording.read()
    [root] = [span for span in seen.spans if span.attributes[names.KIND] == "agent"][:1]
    assert seen.value(root, names.OUTPUT_REF) == {"order": "A1", "status": "delayed"}


def test_an_observed_function_is_one_call(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("observed"), tool_call("observed", {"order": "A1"}))
    server.otherwise(text("done"))
    agent(server, tools=[observed])("where is A1?")
    assert len([span for span in recording.read().spans if span.attributes[names.KIND] == "tool"]) == 1


@pytest.mark.covers("strands", "fork")
def test_a_fork_gives_a_tool_another_result(server: MockModelServer):
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("done"))
    with playhead.run("r") as run:
        agent(server, tools=[look_up])("where is A1?")
    with playhead.fork(run.id, at="look_up", outcome="it is lost"), playhead.run("r"):
        clerk = agent(server, tools=[look_up])
        clerk("where is A1?")
    assert clerk.messages[2]["content"][0]["toolResult"]["content"] == [{"text": "it is lost"}]


def test_uninstrumented_it_is_as_it_was(recording: Recording, server: MockModelServer):
    playhead.uninstrument()
    server.otherwise(text("done"))
    assert not hasattr(Agent.stream_async, "_self_wrapper")
    agent(server)("hello")
    assert recording.read().spans == []

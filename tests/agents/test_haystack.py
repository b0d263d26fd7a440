"""What is recorded of Haystack: pipelines, components, agents, tools, messages; errors and forks."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import haystack
import pytest
from haystack import Document, Pipeline, component
from haystack.components.agents import Agent
from haystack.components.agents.state import State
from haystack.components.builders import ChatPromptBuilder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.core.errors import PipelineRuntimeError
from haystack.dataclasses import ChatMessage
from haystack.tools import tool
from haystack.tools.errors import ToolInvocationError

import playhead
from playhead import observe
from playhead.model import names
from playhead.testing import (
    MockModelServer,
    context_too_long,
    pytest_plugin,
    sequence,
    text,
    thinking,
    tool_call,
    tool_calls,
    tool_result_received,
)
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


@observe(kind="tool")
def _observed(order: str) -> str:
    """Is recorded by itself."""
    return f"{order} is there"


observed = tool(_observed)


@component
class ShelfRetriever:
    """Finds documents."""

    searched = 0

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, list[Document]]:
        """Finds two."""
        type(self).searched += 1
        return {"documents": [Document(content=f"{query} is delayed"), Document(content="other")]}


def agent(server: MockModelServer, tools: Any = (), **options: Any) -> Agent:
    model = OpenAIChatGenerator(model="m", api_base_url=server.base_url, max_retries=0)
    return Agent(chat_generator=model, system_prompt="be kind", tools=list(tools), **options)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")


QUESTION = [ChatMessage.from_user("where is A1?")]


def of_kind(recording: Recording, kind: str) -> list[Any]:
    return [span for span in recording.read().spans if span.attributes[names.KIND] == kind]


def assert_comes_back(ask: Callable[[], Any], server: MockModelServer, expected: Any = None) -> str:
    """The record gives what `ask` gives live, without a request; returns the id of the run."""
    with playhead.run("r") as run:
        live = ask()
    assert expected is None or live == expected
    requests = len(server.requests)
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        assert ask() == live
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])
    return str(run.id)


@pytest.mark.covers("haystack", "spans", "messages", "tools", "usage")
def test_agent_tools_and_model_calls_are_recorded(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("it is delayed"))
    assert agent(server, [look_up]).run(messages=QUESTION)["last_message"].text == "it is delayed"
    seen = recording.read()
    [root] = of_kind(recording, "agent")
    assert root.attributes[names.AGENT_NAME] == "Agent"
    assert seen.value(root, names.INPUT_REF) == {"input": "where is A1?"}
    assert seen.value(root, names.OUTPUT_REF) == "it is delayed"
    [called] = of_kind(recording, "tool")
    assert called.attributes[names.TOOL_NAME] == "look_up"
    assert seen.value(called, names.TOOL_ARGUMENTS_REF) == {"order": "A1"}
    assert seen.value(called, names.TOOL_RESULT_REF) == {"order": "A1", "status": "delayed"}
    calls = of_kind(recording, "llm")
    assert {span.parent_id for span in (called, *calls)} == {root.span_id}
    assert_contexts_are_the_requests(seen, server.requests, has_tokens=True)
    first = min(calls, key=lambda span: span.attributes[names.CALL_ORDER])
    [asked] = seen.messages(first.attributes[names.OUTPUT_MESSAGES_REF])
    assert asked["parts"][0]["id"] == called.attributes[names.TOOL_CALL_ID]


@pytest.mark.covers("haystack", "tools", "resume")
@pytest.mark.parametrize("is_async", [False, True])
def test_tools_that_are_asked_for_together_have_their_own_ids(
    recording: Recording, server: MockModelServer, is_async: bool
):
    both = tool_calls(tool_call("look_up", {"order": "A1"}), tool_call("look_up", {"order": "B2"}))
    server.when(~tool_result_received("look_up"), both)
    server.otherwise(text("done"))

    def ask() -> Any:
        if is_async:
            answer = asyncio.run(agent(server, [look_up]).run_async(messages=QUESTION))
        else:
            answer = agent(server, [look_up]).run(messages=QUESTION)
        return [message.to_dict()["content"] for message in answer["messages"]]

    assert_comes_back(ask, server)
    seen = recording.read()
    ran = {
        span.attributes[names.TOOL_CALL_ID]: seen.value(span, names.TOOL_ARGUMENTS_REF)
        for span in of_kind(recording, "tool")
    }
    first = min(of_kind(recording, "llm"), key=lambda span: span.attributes[names.CALL_ORDER])
    [asked] = seen.messages(first.attributes[names.OUTPUT_MESSAGES_REF])
    assert ran == {part["id"]: part["arguments"] for part in asked["parts"]}


@pytest.mark.covers("haystack", "streaming", "resume")
def test_a_stream_is_recorded_and_comes_back(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("it is delayed"))

    def ask() -> Any:
        chunks: list[str] = []
        agent(server, [look_up]).run(messages=QUESTION, streaming_callback=lambda chunk: chunks.append(chunk.content))
        return chunks

    assert_comes_back(ask, server)
    last = max(of_kind(recording, "llm"), key=lambda span: span.attributes[names.CALL_ORDER])
    [message] = recording.read().messages(last.attributes[names.OUTPUT_MESSAGES_REF])
    assert message["parts"] == [{"type": "text", "content": "it is delayed"}]


@pytest.mark.covers("haystack", "reasoning", "resume")
def test_a_models_thought_is_recorded_and_comes_back(recording: Recording, server: MockModelServer):
    server.otherwise(thinking("It says delayed.") + text("It is late."))
    assert_comes_back(lambda: agent(server).run(messages=QUESTION)["last_message"].text, server, "It is late.")
    [called] = of_kind(recording, "llm")
    assert recording.read().value(called, names.REASONING_REF) == "It says delayed."


@pytest.mark.covers("haystack", "spans", "resume")
@pytest.mark.parametrize("is_async", [False, True])
def test_components_of_a_pipeline_are_steps_and_retrievers(
    recording: Recording, server: MockModelServer, is_async: bool
):
    server.otherwise(text("done"))

    def ask() -> Any:
        kind = getattr(haystack, "AsyncPipeline", Pipeline) if is_async else Pipeline  # one class since Haystack 3
        pipeline = kind(metadata={"name": "desk"})
        pipeline.add_component("shelf", ShelfRetriever())
        prompt = "{% for each in documents %}{{ each.content }}{% endfor %}"
        pipeline.add_component("prompt", ChatPromptBuilder([ChatMessage.from_user(prompt)]))
        pipeline.add_component("clerk", agent(server))
        pipeline.connect("shelf.documents", "prompt.documents")
        pipeline.connect("prompt.prompt", "clerk.messages")
        data = {"shelf": {"query": "A1"}}
        answer = asyncio.run(pipeline.run_async(data)) if is_async else pipeline.run(data)
        return answer["clerk"]["last_message"].text

    ShelfRetriever.searched = 0
    run = assert_comes_back(ask, server, "done")
    assert ShelfRetriever.searched == 1
    by_name = {span.attributes[names.AGENT_NAME]: span for span in of_kind(recording, "agent")}
    assert by_name["clerk"].parent_id == by_name["desk"].span_id
    assert [span.attributes[names.GRAPH_NODE] for span in of_kind(recording, "step")] == ["prompt"]
    [found] = of_kind(recording, "retriever")
    assert found.parent_id == by_name["desk"].span_id
    with playhead.fork(run, at=found.span_id, outcome="A1 is lost"), playhead.run("r"):
        assert ask() == "done"
    assert server.requests[-1].messages[-1]["content"] == "A1 is lost"


@pytest.mark.covers("haystack", "spans", "resume", "fork")
def test_an_agent_that_is_a_tool_is_an_agent_inside_that_tool(recording: Recording, server: MockModelServer):
    from haystack.tools import AgentTool  # since Haystack 3.1

    task = [{"role": "user", "content": "Look A1 up."}]
    server.when(sequence(1), tool_call("researcher", {"messages": task}))
    server.when(sequence(2), tool_call("look_up", {"order": "A1"}))
    server.when(sequence(3), text("found"))
    server.otherwise(text("done"))

    def ask() -> Any:
        researcher = AgentTool(agent=agent(server, [look_up]), name="researcher", description="Looks up.")
        answer = agent(server, [researcher]).run(messages=QUESTION)
        return [message.to_dict()["content"] for message in answer["messages"]]

    run = assert_comes_back(ask, server)
    outer = next(span for span in of_kind(recording, "tool") if span.attributes[names.TOOL_NAME] == "researcher")
    inner = next(span for span in of_kind(recording, "agent") if span.parent_id == outer.span_id)
    assert inner.attributes[names.AGENT_NAME] == "researcher"
    assert outer.attributes[names.IDEMPOTENT] is True
    with playhead.fork(run, at="researcher", outcome="it is lost"), playhead.run("r"):
        ask()
    assert server.requests[-1].messages[-1]["content"] == "it is lost"


@pytest.mark.covers("haystack", "tools", "resume")
def test_what_a_tool_changes_in_the_agents_state_is_changed_again(recording: Recording, server: MockModelServer):
    @tool  # here, since Haystack 2 makes no tools of such functions
    def note(order: str, state: State) -> str:
        """Note an order."""
        state.set("order", order)
        return "noted"

    server.when(~tool_result_received("note"), tool_call("note", {"order": "A1"}))
    server.otherwise(text("done"))

    def ask() -> Any:
        return agent(server, [note], state_schema={"order": {"type": str}}).run(messages=QUESTION)["order"]

    assert_comes_back(ask, server, "A1")
    [called] = of_kind(recording, "tool")
    assert recording.read().value(called, names.TOOL_ARGUMENTS_REF) == {"order": "A1"}


@pytest.mark.covers("haystack", "errors")
def test_a_tool_that_fails_is_an_error_and_answers_again_as_it_did(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("broken"), tool_call("broken", {"order": "A1"}))
    server.otherwise(text("sorry"))

    def ask() -> Any:
        answer = agent(server, [broken], raise_on_tool_invocation_failure=False).run(messages=QUESTION)
        return [message.to_dict()["content"] for message in answer["messages"]]

    assert_comes_back(ask, server)
    [failed] = of_kind(recording, "tool")
    assert (failed.status, failed.attributes[names.ERROR_TYPE].rpartition(".")[2]) == (2, "ToolInvocationError")
    with pytest.raises((ToolInvocationError, PipelineRuntimeError), match="no A1"):  # the second of Haystack 2
        agent(server, [broken], raise_on_tool_invocation_failure=True).run(messages=QUESTION)


@pytest.mark.covers("haystack", "errors")
def test_a_refused_model_call_is_an_error(recording: Recording, server: MockModelServer):
    server.otherwise(context_too_long())
    with pytest.raises(Exception, match="maximum context length"):
        agent(server).run(messages=QUESTION)
    assert {span.status for kind in ("agent", "llm") for span in of_kind(recording, kind)} == {2}


@pytest.mark.covers("haystack", "fork")
def test_a_fork_gives_a_tool_another_result(server: MockModelServer):
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("done"))
    with playhead.run("r") as run:
        agent(server, [look_up]).run(messages=QUESTION)
    with playhead.fork(run.id, at="look_up", outcome="it is lost"), playhead.run("r"):
        agent(server, [look_up]).run(messages=QUESTION)
    assert server.requests[-1].messages[-1]["content"] == "it is lost"


def test_an_observed_function_is_one_call(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("_observed"), tool_call("_observed", {"order": "A1"}))
    server.otherwise(text("done"))
    agent(server, [observed]).run(messages=QUESTION)
    assert len(of_kind(recording, "tool")) == 1


def test_uninstrumented_it_is_as_it_was(recording: Recording, server: MockModelServer):
    playhead.uninstrument()
    server.otherwise(text("done"))
    assert not hasattr(Agent.run, "_self_wrapper")
    assert isinstance(vars(Pipeline)["_run_component"], staticmethod)
    agent(server).run(messages=QUESTION)
    assert recording.read().spans == []

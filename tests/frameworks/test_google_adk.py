"""What is recorded of agents of Google's ADK: agents, tools, messages, transfers, and what a tool changes."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.models.google_llm import Gemini
from google.adk.runners import InMemoryRunner
from google.adk.tools import ToolContext
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.genai import types

import playhead
from playhead import observe
from playhead.model import names
from playhead.testing import MockModelServer, Rule, pytest_plugin, text, thinking, tool_call, tool_result_received
from tests.support.journal_reader import Recording, start_recording
from tests.support.programs.framework_runs import assert_contexts_are_the_requests

server = pytest_plugin.mock_model_server


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    monkeypatch.setenv("GOOGLE_API_KEY", "none")
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument()
        yield recording
        playhead.uninstrument()


def look_up(order: str) -> dict[str, str]:
    """Look an order up."""
    return {"order": order, "status": "delayed"}


def remember(order: str, tool_context: ToolContext) -> str:
    """Keep the order in the session."""
    tool_context.state["order"] = order
    return "kept"


@observe(kind="tool")
def observed(order: str) -> str:
    """Is recorded by itself."""
    return f"{order} is there"


def broken(order: str) -> str:
    """Fails."""
    raise LookupError(f"no {order}")


def agent(server: MockModelServer, name: str = "clerk", instruction: str = "be kind", **more: Any) -> LlmAgent:
    model = Gemini(model="gemini-2.5-flash", base_url=server.url)
    return LlmAgent(name=name, model=model, instruction=instruction, description=name, **more)


def ask(agent: LlmAgent, question: str = "where is A1?", **how: Any) -> tuple[list[str], dict[str, Any]]:
    """What the agents said, and the session's state afterwards."""

    async def run() -> tuple[list[str], dict[str, Any]]:
        runner = InMemoryRunner(agent, app_name="shop")
        await runner.session_service.create_session(app_name="shop", user_id="ann", session_id="s1")
        said: list[str] = []
        message = types.UserContent(question)
        try:
            async for event in runner.run_async(user_id="ann", session_id="s1", new_message=message, **how):
                said += [part.text for part in (event.content.parts or ()) if part.text] if event.content else []
        finally:
            for model in models_of(agent):
                await model.api_client.aio.aclose()  # of this event loop: nothing else closes its sockets
        session = await runner.session_service.get_session(app_name="shop", user_id="ann", session_id="s1")
        return said, dict(session.state)

    return asyncio.run(run())


def models_of(agent: LlmAgent) -> Iterator[Gemini]:
    """The models of the agent, and of the agents that it may hand over to or call."""
    assert isinstance(agent.model, Gemini)
    yield agent.model
    called = [tool.agent for tool in agent.tools if isinstance(tool, AgentTool)]
    for other in (*agent.sub_agents, *called):
        assert isinstance(other, LlmAgent)
        yield from models_of(other)


def spans_of(recording: Recording, kind: str) -> list[Any]:
    return [span for span in recording.read().spans if span.attributes[names.KIND] == kind]


def again(server: MockModelServer, ask: Any) -> tuple[Any, Any]:
    """What the program gave live, and what it gives from the record; no request is made for the second."""
    with playhead.run("r") as run:
        live = ask()
    requests = len(server.requests)
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        replayed = ask()
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])
    return live, replayed


@pytest.mark.covers("google-adk", "spans", "messages", "tools", "usage")
def test_agent_tools_and_model_calls_are_recorded(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("it is delayed"))
    assert ask(agent(server, tools=[look_up]))[0] == ["it is delayed"]
    seen = recording.read()
    [root], [called] = spans_of(recording, "agent"), spans_of(recording, "tool")
    assert (root.attributes[names.AGENT_NAME], root.attributes[names.CONVERSATION]) == ("clerk", "s1")
    assert seen.value(root, names.OUTPUT_REF) == "it is delayed"
    assert called.attributes[names.TOOL_NAME] == "look_up"
    assert seen.value(called, names.TOOL_ARGUMENTS_REF) == {"order": "A1"}
    assert seen.value(called, names.TOOL_RESULT_REF) == {"order": "A1", "status": "delayed"}
    calls = spans_of(recording, "llm")
    assert {span.parent_id for span in (called, *calls)} == {root.span_id}
    assert all(call.attributes[names.OUTPUT_TOKENS] > 0 for call in calls)
    assert_contexts_are_the_requests(seen, server.requests, has_tokens=True)
    [asked] = seen.messages(calls[0].attributes[names.OUTPUT_MESSAGES_REF])
    assert asked["parts"][0]["id"] == called.attributes[names.TOOL_CALL_ID]


@pytest.mark.covers("google-adk", "resume")
def test_what_a_tool_changed_is_changed_again_without_running_it(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("remember"), tool_call("remember", {"order": "A1"}))
    server.otherwise(text("kept"))
    live, replayed = again(server, lambda: ask(agent(server, tools=[remember])))
    assert replayed == live == (["kept"], {"order": "A1"})


@pytest.mark.covers("google-adk", "resume")
def test_an_agent_that_takes_over_is_an_agent_inside_and_takes_over_again(
    recording: Recording, server: MockModelServer
):
    by_billing = Rule("billing is asked", lambda request: "you are billing" in str(request.messages[0]))
    server.when(by_billing, text("billing speaks"))
    server.otherwise(tool_call("transfer_to_agent", {"agent_name": "billing"}))

    def program() -> Any:
        return ask(agent(server, sub_agents=[agent(server, "billing", "you are billing")]))

    live, replayed = again(server, program)
    assert replayed == live
    assert live[0] == ["billing speaks"]
    seen = recording.read()
    by_name = {span.attributes[names.AGENT_NAME]: span for span in seen.spans if names.AGENT_NAME in span.attributes}
    assert by_name["billing"].parent_id == by_name["clerk"].span_id
    [event] = [event for event in seen.logs if names.HANDOFF_TO in event.attributes]
    assert event.attributes[names.HANDOFF_TO] == "billing"


def test_an_agent_that_is_a_tool_is_an_agent_inside_that_tool(recording: Recording, server: MockModelServer):
    by_researcher = Rule("the researcher is asked", lambda request: "you research" in str(request.messages[0]))
    server.when(by_researcher, text("found it"))
    server.when(~tool_result_received("researcher"), tool_call("researcher", {"request": "A1"}))
    server.otherwise(text("done"))
    researcher = AgentTool(agent(server, "researcher", "you research"))
    ask(agent(server, tools=[researcher]))
    by_name = {span.attributes[names.AGENT_NAME]: span for span in spans_of(recording, "agent")}
    [called] = spans_of(recording, "tool")
    assert by_name["researcher"].parent_id == called.span_id
    assert called.parent_id == by_name["clerk"].span_id


@pytest.mark.covers("google-adk", "streaming", "reasoning", "resume")
def test_streamed_thoughts_and_answers_are_recorded_and_come_again(recording: Recording, server: MockModelServer):
    server.otherwise(thinking("It left on Monday.") + text("A1 is late."))
    thinks = types.GenerateContentConfig(thinking_config=types.ThinkingConfig(include_thoughts=True))
    how: dict[str, Any] = {"run_config": RunConfig(streaming_mode=StreamingMode.SSE)}
    with playhead.run("r") as run:
        pieces, _ = ask(agent(server, generate_content_config=thinks), **how)
    [call] = spans_of(recording, "llm")
    seen = recording.read()
    assert call.attributes[names.TIME_TO_FIRST_CHUNK] > 0
    assert seen.value(call, names.REASONING_REF) == "It left on Monday."
    [answer] = seen.messages(call.attributes[names.OUTPUT_MESSAGES_REF])
    assert [(part["type"], part["content"]) for part in answer["parts"] if part["content"]] == [
        ("reasoning", "It left on Monday."),
        ("text", "A1 is late."),
    ]
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        again, _ = ask(agent(server, generate_content_config=thinks), **how)
    assert (len(server.requests), resumed.report.live) == (1, 0)
    assert again == pieces
    assert len(pieces) > 2  # partial events, and the whole


@pytest.mark.covers("google-adk", "errors")
def test_a_tool_that_fails_is_an_error(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("broken"), tool_call("broken", {"order": "A1"}))
    with pytest.raises(LookupError):
        ask(agent(server, tools=[broken]))
    [failed], [root] = spans_of(recording, "tool"), spans_of(recording, "agent")
    assert (failed.status, failed.attributes[names.ERROR_TYPE]) == (2, "LookupError")
    assert root.status == 2


def test_an_observed_function_is_one_call(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("observed"), tool_call("observed", {"order": "A1"}))
    server.otherwise(text("done"))
    ask(agent(server, tools=[observed]))
    assert len(spans_of(recording, "tool")) == 1


@pytest.mark.covers("google-adk", "fork")
@pytest.mark.parametrize("outcome", [{"status": "lost"}, "it is lost"])
def test_a_fork_gives_a_tool_another_result(server: MockModelServer, outcome: Any):
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("done"))
    with playhead.run("r") as run:
        ask(agent(server, tools=[look_up]))
    with playhead.fork(run.id, at="look_up", outcome=outcome), playhead.run("r"):
        ask(agent(server, tools=[look_up]))
    assert "lost" in str(server.requests[-1].messages[-1])


def test_uninstrumented_it_is_as_it_was(recording: Recording, server: MockModelServer):
    playhead.uninstrument()
    server.otherwise(text("done"))
    assert not any(hasattr(vars(kind).get("run_async"), "_self_wrapper") for kind in BaseTool.__subclasses__())
    ask(agent(server))
    assert recording.read().spans == []

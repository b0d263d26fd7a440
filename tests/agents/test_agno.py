"""What is recorded of Agno: agents, teams, workflows, tools, messages; errors and forks."""

import asyncio
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.exceptions import RetryAgentRun, StopAgentRun
from agno.models.openai import OpenAIChat
from agno.run import RunContext
from agno.team import Team
from agno.workflow import Parallel, Step, Workflow

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


def look_up(order: str) -> dict[str, str]:
    """Look an order up."""
    return {"order": order, "status": "delayed"}


def broken(order: str) -> str:
    """Fails."""
    raise LookupError(f"no {order}")


@observe(kind="tool")
def observed(order: str) -> str:
    """Is recorded by itself."""
    return f"{order} is there"


def each_day(order: str) -> Iterator[str]:
    """Where it was, day by day."""
    yield f"{order} left. "
    yield f"{order} is delayed."


def note(run_context: RunContext, order: str) -> str:
    """Note an order."""
    state: dict[str, Any] = run_context.session_state or {}
    state["order"] = order
    state.pop("old", None)
    return "noted"


def model(server: MockModelServer) -> OpenAIChat:
    return OpenAIChat(id="m", base_url=server.base_url, api_key="none", max_retries=0)


def agent(server: MockModelServer, name: str = "clerk", tools: Any = (), **options: Any) -> Agent:
    return Agent(name=name, model=model(server), instructions="be kind", tools=list(tools), telemetry=False, **options)


def of_kind(recording: Recording, kind: str) -> list[Any]:
    return [span for span in recording.read().spans if span.attributes[names.KIND] == kind]


@pytest.mark.covers("agno", "spans", "messages", "tools", "usage")
def test_agent_tools_and_model_calls_are_recorded(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("it is delayed"))
    assert agent(server, tools=[look_up]).run("where is A1?", session_id="s1").content == "it is delayed"
    seen = recording.read()
    [root] = of_kind(recording, "agent")
    assert (root.attributes[names.AGENT_NAME], root.attributes[names.CONVERSATION]) == ("clerk", "s1")
    assert seen.value(root, names.INPUT_REF) == {"input": "where is A1?"}
    assert seen.value(root, names.OUTPUT_REF) == "it is delayed"
    [called] = of_kind(recording, "tool")
    assert called.attributes[names.TOOL_NAME] == "look_up"
    assert seen.value(called, names.TOOL_ARGUMENTS_REF) == {"order": "A1"}
    assert seen.value(called, names.TOOL_RESULT_REF) == {"order": "A1", "status": "delayed"}
    calls = of_kind(recording, "llm")
    assert {span.parent_id for span in (called, *calls)} == {root.span_id}
    assert_contexts_are_the_requests(seen, server.requests, has_tokens=True)
    [asked] = seen.messages(calls[0].attributes[names.OUTPUT_MESSAGES_REF])
    assert asked["parts"][0]["id"] == called.attributes[names.TOOL_CALL_ID]


@pytest.mark.covers("agno", "streaming")
def test_a_stream_is_recorded_and_comes_back(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("it is delayed"))

    def ask() -> list[Any]:
        return [event.content for event in agent(server, tools=[look_up]).run("where is A1?", stream=True)]

    async def ask_later() -> list[Any]:
        return [event.content async for event in agent(server, tools=[look_up]).arun("where is A1?", stream=True)]

    with playhead.run("r") as run:
        live = [ask(), asyncio.run(ask_later())]
    assert "".join(filter(None, live[0])) == "it is delayed"
    seen = recording.read()
    assert [seen.value(span, names.OUTPUT_REF) for span in of_kind(recording, "agent")[:2]] == ["it is delayed"] * 2
    requests = len(server.requests)
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        assert [ask(), asyncio.run(ask_later())] == live
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])


def test_a_stream_that_is_left_early_ends_its_agent(recording: Recording, server: MockModelServer):
    server.otherwise(text("it is delayed"))
    events = agent(server).run("where is A1?", stream=True)
    next(events)
    events.close()
    [root] = of_kind(recording, "agent")
    assert root.attributes[names.OUTCOME] == "aborted"
    assert playhead.current_run_id() is None


@pytest.mark.covers("agno", "errors")
def test_a_tool_that_fails_is_an_error_and_answers_again_as_it_did(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("broken"), tool_call("broken", {"order": "A1"}))
    server.otherwise(text("sorry"))
    with playhead.run("r") as run:
        live = agent(server, tools=[broken]).run("where is A1?")
    [failed] = of_kind(recording, "tool")
    assert (failed.status, failed.status_message) == (2, "no A1")
    requests = len(server.requests)
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        again = agent(server, tools=[broken]).run("where is A1?")
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])
    assert [message.content for message in again.messages] == [message.content for message in live.messages]
    assert [tool.tool_call_error for tool in again.tools] == [tool.tool_call_error for tool in live.tools] == [True]


@pytest.mark.covers("agno", "errors")
def test_a_refused_model_call_is_an_error_of_the_agent(recording: Recording, server: MockModelServer):
    server.otherwise(context_too_long())
    assert agent(server).run("where is A1?").status == "ERROR"
    [root] = of_kind(recording, "agent")
    [refused] = of_kind(recording, "llm")
    assert (root.status, refused.status) == (2, 2)
    assert refused.attributes[names.ERROR_TYPE].endswith("BadRequestError")


@pytest.mark.covers("agno", "spans", "resume")
def test_a_team_hands_tasks_to_its_members(recording: Recording, server: MockModelServer):
    handed = tool_call("delegate_task_to_member", {"member_id": "researcher", "task": "Look A1 up."})
    server.when(sequence(1), handed)
    server.when(sequence(2), tool_call("look_up", {"order": "A1"}))
    server.when(sequence(3), text("found"))
    server.otherwise(text("done"))

    def ask() -> Any:
        team = Team(name="desk", model=model(server), members=[agent(server, "researcher", [look_up])], telemetry=False)
        output = team.run("where is A1?")
        return output.content, [member.content for member in output.member_responses]

    with playhead.run("r") as run:
        assert ask() == ("done", ["found"])
    by_name = {span.attributes[names.AGENT_NAME]: span for span in of_kind(recording, "agent") if span.parent_id}
    assert by_name["researcher"].parent_id == by_name["desk"].span_id
    [called] = of_kind(recording, "tool")
    assert called.parent_id == by_name["researcher"].span_id
    [handoff] = [event for event in recording.read().logs if event.name == names.HANDOFF]
    assert handoff.attributes[names.HANDOFF_TO] == "researcher"
    requests = len(server.requests)
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        assert ask() == ("done", ["found"])
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])


@pytest.mark.covers("agno", "spans", "resume")
def test_the_steps_of_a_workflow_are_agents_of_one_run(recording: Recording, server: MockModelServer):
    server.otherwise(text("done"))

    def ask() -> Any:
        steps = [Parallel(*(Step(name=name, agent=agent(server, name)) for name in ("left", "right")))]
        return Workflow(name="flow", steps=steps, telemetry=False).run("go").content

    with playhead.run("r") as run:
        live = ask()
    by_name = {span.attributes[names.AGENT_NAME]: span for span in of_kind(recording, "agent") if span.parent_id}
    assert {by_name[name].parent_id for name in ("left", "right")} == {by_name["flow"].span_id}
    requests = len(server.requests)
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        assert ask() == live
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])


@pytest.mark.covers("agno", "tools", "resume")
def test_what_a_tool_changes_in_the_sessions_state_is_changed_again(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("note"), tool_call("note", {"order": "A1"}))
    server.otherwise(text("done"))

    def ask() -> Any:
        state = {"old": 1, "kept": 2}
        return agent(server, tools=[note], session_state=state).run("note A1", session_id="s").session_state

    with playhead.run("r") as run:
        live = ask()
    assert (live["order"], live["kept"], "old" in live) == ("A1", 2, False)
    requests = len(server.requests)
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        again = ask()
    assert {**live, "current_run_id": None} == {**again, "current_run_id": None}
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])


@pytest.mark.covers("agno", "tools", "resume")
@pytest.mark.parametrize("is_async", [False, True])
def test_a_tool_that_is_a_generator_comes_back(recording: Recording, server: MockModelServer, is_async: bool):
    server.when(~tool_result_received("each_day"), tool_call("each_day", {"order": "A1"}))
    server.otherwise(text("done"))

    async def later(order: str) -> Any:
        """Where it was, day by day."""
        for item in each_day(order):
            yield item

    later.__name__ = "each_day"

    def ask() -> Any:
        if is_async:
            return asyncio.run(_answer(agent(server, tools=[later]))).messages[-2].content
        return agent(server, tools=[each_day]).run("where is A1?").messages[-2].content

    with playhead.run("r") as run:
        assert ask() == "A1 left. A1 is delayed."
    [called] = of_kind(recording, "tool")
    assert recording.read().value(called, names.TOOL_RESULT_REF) == "A1 left. A1 is delayed."
    requests = len(server.requests)
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        assert ask() == "A1 left. A1 is delayed."
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])


async def _answer(asked: Agent) -> Any:
    return await asked.arun("where is A1?")


def test_tools_that_are_asked_for_together_have_their_own_ids(recording: Recording, server: MockModelServer):
    both = tool_calls(tool_call("look_up", {"order": "A1"}), tool_call("look_up", {"order": "B2"}))
    server.when(~tool_result_received("look_up"), both)
    server.otherwise(text("done"))
    with playhead.run("r") as run:
        asyncio.run(_answer(agent(server, tools=[look_up])))
    seen = recording.read()
    ran = {
        span.attributes[names.TOOL_CALL_ID]: seen.value(span, names.TOOL_ARGUMENTS_REF)
        for span in of_kind(recording, "tool")
    }
    first = min(of_kind(recording, "llm"), key=lambda span: span.attributes[names.CALL_ORDER])
    [asked] = seen.messages(first.attributes[names.OUTPUT_MESSAGES_REF])
    assert ran == {part["id"]: part["arguments"] for part in asked["parts"]}
    requests = len(server.requests)
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        asyncio.run(_answer(agent(server, tools=[look_up])))
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])


def test_an_observed_function_is_one_call(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("observed"), tool_call("observed", {"order": "A1"}))
    server.otherwise(text("done"))
    agent(server, tools=[observed]).run("where is A1?")
    assert len(of_kind(recording, "tool")) == 1


@pytest.mark.covers("agno", "errors", "resume")
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "awaited"])
@pytest.mark.parametrize("error", [StopAgentRun("stop"), RetryAgentRun("again", user_message="With B2, please.")])
def test_what_a_tool_raises_for_the_agent_is_said_again(
    recording: Recording, server: MockModelServer, error: Exception, is_async: bool
):
    def directing(order: str) -> str:
        """Says how to go on."""
        raise error

    server.when(~tool_result_received("directing"), tool_call("directing", {"order": "A1"}))
    server.otherwise(text("done"))

    def ask() -> list[Any]:
        clerk = agent(server, tools=[directing])
        done = asyncio.run(clerk.arun("go")) if is_async else clerk.run("go")
        return [(message.role, message.content, message.tool_call_error) for message in done.messages or []]

    with playhead.run("r") as run:
        live = ask()
    requests = len(server.requests)
    assert ("tool", str(error), True) in live
    with playhead.resume(str(run.id), completed="rerun") as resumed, playhead.run("r"):
        assert ask() == live
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])


@pytest.mark.covers("agno", "fork")
def test_a_fork_gives_a_tool_another_result(server: MockModelServer):
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("done"))
    with playhead.run("r") as run:
        agent(server, tools=[look_up]).run("where is A1?")
    with playhead.fork(run.id, at="look_up", outcome="it is lost"), playhead.run("r"):
        output = agent(server, tools=[look_up]).run("where is A1?")
    assert [message.content for message in output.messages if message.role == "tool"] == ["it is lost"]
    assert "it is lost" in str(server.requests[-1].messages)


def test_uninstrumented_it_is_as_it_was(recording: Recording, server: MockModelServer):
    playhead.uninstrument()
    server.otherwise(text("done"))
    assert not hasattr(Agent.run, "_self_wrapper")
    agent(server).run("hello")
    assert recording.read().spans == []


@pytest.mark.covers("agno", "reasoning", "resume")
def test_a_models_thought_is_recorded_and_comes_back(recording: Recording, server: MockModelServer):
    server.otherwise(thinking("It says delayed.") + text("It is late."))

    def ask() -> Any:
        output = agent(server).run("where is A1?")
        return output.content, output.reasoning_content

    with playhead.run("r") as run:
        live = ask()
    [called] = of_kind(recording, "llm")
    assert recording.read().value(called, names.REASONING_REF) == "It says delayed."
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        assert ask() == live == ("It is late.", "It says delayed.")
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (1, 0, [])


# The second name is that before Agno 2.4.
_MEMORIES = (
    "update_memory_on_run" if "update_memory_on_run" in signature(Agent.__init__).parameters else "enable_user_memories"
)


@pytest.mark.covers("agno", "spans", "resume")
def test_memories_that_are_made_in_the_background_are_of_the_same_run(recording: Recording, server: MockModelServer):
    server.otherwise(text("done"))

    options: dict[str, Any] = {_MEMORIES: True}

    def ask() -> Any:
        return agent(server, db=InMemoryDb(), **options).run("I like tea.", user_id="u").content

    with playhead.run("r") as run:
        assert ask() == "done"
    assert len(of_kind(recording, "llm")) == len(server.requests) == 2
    assert len({span.attributes[names.RUN_ID] for span in recording.read().spans}) == 1
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        assert ask() == "done"
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (2, 0, [])

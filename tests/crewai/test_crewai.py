"""What is recorded of CrewAI: crews, tasks, agents, tools, flows; errors, forks."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crewai import LLM, Agent, Crew, Process, Task
from crewai.flow.flow import Flow, listen, start
from crewai.tools import BaseTool, tool

import playhead
from playhead import observe
from playhead.dialect import openai_chat as dialect
from playhead.model import names
from playhead.model.span import Span
from playhead.testing import MockModelServer, pytest_plugin, sequence, text, tool_call, tool_calls, tool_result_received
from tests.support.journal_reader import Journaled, Recording, kind, start_recording
from tests.support.programs.examples import ROOT, run_example

server = pytest_plugin.mock_model_server


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument()
        yield recording
        playhead.uninstrument()


@tool("Look up")
def look_up(order: str) -> dict[str, str]:
    """Looks an order up."""
    return {"order": order, "status": "delayed"}


class Broken(BaseTool):
    name: str = "broken"
    description: str = "Fails."
    failure: Any = None
    """What it returns; None: it raises."""

    def _run(self, order: str) -> Any:
        if self.failure is not None:
            return self.failure
        raise LookupError(f"no {order}")


@tool("observed")
@observe(kind="tool")
def observed(order: str) -> str:
    """Is recorded by itself."""
    return f"{order} is there"


def agent(server: MockModelServer, role: str = "clerk", tools: Any = (), **how: Any) -> Agent:
    llm = LLM(model="openai/gpt-4o-mini", base_url=server.base_url, api_key="none", max_retries=0, **how)
    return Agent(role=role, goal="Help.", backstory="You are kind.", tools=list(tools), llm=llm)


def task(of: Agent | None, description: str = "Where is A1?", **more: Any) -> Task:
    return Task(description=description, expected_output="A text", agent=of, **more)


def by_agent(seen: Journaled) -> dict[Any, Span]:
    return {span.attributes[names.AGENT_NAME]: span for span in seen.of_kind("agent")}


def essence(message: Any) -> Any:
    calls = [(call["id"], call["function"]) for call in message.get("tool_calls") or ()]
    called = [(call_id, function["name"], json.loads(function["arguments"])) for call_id, function in calls]
    return message["role"], message.get("content") or None, called, message.get("tool_call_id")


def assert_context_is_what_the_server_got(seen: Journaled, server: MockModelServer) -> None:
    calls = sorted(seen.of_kind("llm"), key=lambda span: span.attributes[names.CALL_ORDER])
    for call, request in zip(calls, server.requests, strict=True):
        sent = [dialect.from_message(message) for message in seen.messages(call.attributes[names.INPUT_MESSAGES_REF])]
        assert [essence(message) for message in sent] == [essence(message) for message in request.messages]


@pytest.mark.covers("crewai", "spans", "messages", "tools", "usage")
def test_crew_task_agent_tools_and_model_calls_are_recorded(recording: Recording, server: MockModelServer):
    both = tool_calls(tool_call("look_up", {"order": "A1"}), tool_call("look_up", {"order": "B2"}))
    server.when(~tool_result_received("look_up"), both)
    server.otherwise(text("it is delayed"))
    clerk = agent(server, tools=[look_up])
    crew = Crew(name="desk", agents=[clerk], tasks=[task(clerk, "Where is {order}?", name="find")])
    assert crew.kickoff(inputs={"order": "A1"}).raw == "it is delayed"
    seen = recording.read()
    agents = by_agent(seen)
    [step] = seen.of_kind("step")
    assert agents["desk"].parent_id is None
    assert (step.name, step.parent_id) == ("find", agents["desk"].span_id)
    assert agents["clerk"].parent_id == step.span_id
    assert seen.value(agents["desk"], names.INPUT_REF) == {"input": {"order": "A1"}}
    assert seen.value(agents["clerk"], names.INPUT_REF) == {"input": "Where is A1?"}
    assert {seen.value(span, names.OUTPUT_REF) for span in (step, *agents.values())} == {"it is delayed"}
    calls, tools = seen.of_kind("llm"), seen.of_kind("tool")
    assert {span.parent_id for span in (*calls, *tools)} == {agents["clerk"].span_id}
    found = [seen.value(span, names.TOOL_RESULT_REF) for span in tools]
    assert sorted(found, key=str) == [{"order": order, "status": "delayed"} for order in ("A1", "B2")]
    [asked] = seen.messages(min(calls, key=lambda span: span.start_ns).attributes[names.OUTPUT_MESSAGES_REF])
    assert {part["id"] for part in asked["parts"]} == {span.attributes[names.TOOL_CALL_ID] for span in tools}
    assert all(call.attributes[names.INPUT_TOKENS] > 0 < call.attributes[names.OUTPUT_TOKENS] for call in calls)
    assert_context_is_what_the_server_got(seen, server)


@pytest.mark.covers("crewai", "spans", "streaming", "messages")
def test_an_agent_alone_is_the_run_also_asynchronous_and_streamed(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("it is delayed"))
    done = asyncio.run(agent(server, tools=[look_up], stream=True).kickoff_async("Where is A1?"))
    assert done.raw == "it is delayed"
    seen = recording.read()
    [root] = seen.of_kind("agent")
    assert root.parent_id is None
    assert seen.value(root, names.INPUT_REF) == {"input": "Where is A1?"}
    assert seen.value(root, names.OUTPUT_REF) == "it is delayed"
    assert {span.parent_id for span in (*seen.of_kind("llm"), *seen.of_kind("tool"))} == {root.span_id}
    assert_context_is_what_the_server_got(seen, server)


@pytest.mark.covers("crewai", "tools")
def test_an_agent_that_another_one_asks_is_inside_the_call_of_that_tool(recording: Recording, server: MockModelServer):
    delegate = tool_call("delegate_work_to_coworker", {"task": "Find A1", "context": "-", "coworker": "clerk"})
    server.when(sequence(1), delegate)
    server.otherwise(text("done"))
    manager, clerk = agent(server, "manager"), agent(server, "clerk")
    crew = Crew(agents=[clerk], tasks=[task(None)], manager_agent=manager, process=Process.hierarchical)
    assert crew.kickoff().raw == "done"
    seen = recording.read()
    [asked] = seen.of_kind("tool")
    assert asked.attributes[names.IDEMPOTENT] is True
    agents = by_agent(seen)
    assert (agents["clerk"].parent_id, asked.parent_id) == (asked.span_id, agents["manager"].span_id)


@pytest.mark.covers("crewai", "tools")
def test_an_agent_that_names_its_tools_in_texts_calls_them_once(recording: Recording, server: MockModelServer):
    """Models without tool calls: the framework reads them out of the text."""
    server.when(sequence(1), text('Thought: look\nAction: look_up\nAction Input: {"order": "A1"}'))
    server.otherwise(text("Thought: I know.\nFinal Answer: it is delayed"))
    clerk = agent(server, tools=[look_up])
    clerk.llm.supports_function_calling = lambda: False
    assert Crew(agents=[clerk], tasks=[task(clerk)]).kickoff().raw == "it is delayed"
    [called] = recording.read().of_kind("tool")
    assert called.attributes[names.TOOL_NAME] == "look_up"
    assert recording.read().value(called, names.TOOL_ARGUMENTS_REF) == {"order": "A1"}


@pytest.mark.covers("crewai", "errors", "resume")
@pytest.mark.parametrize(("is_reported", "error"), [(False, "LookupError"), (True, "tool_reported")])
def test_a_tool_that_fails_is_an_error_and_answers_again_as_it_did(
    recording: Recording, server: MockModelServer, is_reported: bool, error: str
):
    failures = pytest.importorskip("crewai.tools.tool_failure") if is_reported else None  # which older versions lack
    broken = Broken(failure=failures.ToolFailure(message="no A1") if failures else None)
    server.when(~tool_result_received("broken"), tool_call("broken", {"order": "A1"}))
    server.otherwise(text("sorry"))
    with playhead.run("r") as run:
        live = agent(server, tools=[broken]).kickoff("Where is A1?")
    [failed] = recording.read().of_kind("tool")
    assert (failed.status, failed.attributes[names.ERROR_TYPE]) == (2, error)
    assert names.UNRESTORABLE not in failed.attributes
    requests = len(server.requests)
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        again = agent(server, tools=[broken]).kickoff("Where is A1?")
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])
    assert again.messages == live.messages


@pytest.mark.covers("crewai", "errors")
def test_an_error_of_the_model_ends_every_call_around_it(recording: Recording, server: MockModelServer):
    clerk = agent(server)
    with pytest.raises(Exception, match="no answer"):
        Crew(agents=[clerk], tasks=[task(clerk)]).kickoff()
    spans = recording.read().spans
    assert {kind(span) for span in spans if span.status == 2} == {"agent", "step", "llm"}
    assert len({span.span_id for span in spans}) == len(spans)


def test_an_observed_function_is_one_call(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("observed"), tool_call("observed", {"order": "A1"}))
    server.otherwise(text("done"))
    agent(server, tools=[observed]).kickoff("Where is A1?")
    assert len(recording.read().of_kind("tool")) == 1


@pytest.mark.covers("crewai", "fork")
def test_a_fork_gives_a_tool_another_result(server: MockModelServer):
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("done"))
    with playhead.run("r") as run:
        agent(server, tools=[look_up]).kickoff("Where is A1?")
    with playhead.fork(run.id, at="look_up", outcome="it is lost"), playhead.run("r"):
        agent(server, tools=[look_up]).kickoff("Where is A1?")
    assert server.requests[-1].messages[-1]["content"] == "it is lost"


@pytest.mark.covers("crewai", "spans")
def test_a_flow_is_a_run_and_its_methods_are_steps(recording: Recording, server: MockModelServer):
    server.otherwise(text("it is delayed"))

    class Support(Flow):  # pyright: ignore[reportMissingTypeArgument]
        @start()
        def ask(self) -> str:
            clerk = agent(server)
            return str(Crew(agents=[clerk], tasks=[task(clerk)]).kickoff().raw)

        @listen(ask)
        def close(self, answer: str) -> str:
            return answer.upper()

    assert Support().kickoff() == "IT IS DELAYED"
    seen = recording.read()
    agents = by_agent(seen)
    steps = {span.name: span for span in seen.of_kind("step")}
    assert agents.keys() == {"Support", "crew", "clerk"}
    assert agents["Support"].parent_id is None
    assert {steps["ask"].parent_id, steps["close"].parent_id} == {agents["Support"].span_id}
    assert agents["crew"].parent_id == steps["ask"].span_id
    assert seen.value(agents["Support"], names.OUTPUT_REF) == "IT IS DELAYED"


def test_uninstrumented_it_is_as_it_was(recording: Recording, server: MockModelServer):
    playhead.uninstrument()
    server.otherwise(text("done"))
    for method in (Crew.kickoff, Agent.execute_task, BaseTool.run):
        assert not hasattr(method, "_self_wrapper")
    agent(server).kickoff("hello")
    assert recording.read().spans == []


@pytest.mark.slow
def test_the_example_runs_and_is_recorded(tmp_path: Path):
    done = run_example(ROOT / "examples/frameworks/crewai_agent.py", tmp_path)
    assert done.code == 0, done.errors
    assert "Traceback" not in done.errors
    assert "late by two days" in done.out

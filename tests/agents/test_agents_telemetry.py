"""The frameworks' own OpenTelemetry spans beside ours, in the user's provider: each call and each agent is one."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from opentelemetry import trace

import playhead
from playhead.model import event as ev
from playhead.model import names
from playhead.testing import MockModelServer, pytest_plugin, text, tool_call, tool_result_received
from tests.support.instrumentation_switches import only_run, recorded_with_theirs
from tests.support.journal_reader import Recording

server = pytest_plugin.mock_model_server


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    yield from recorded_with_theirs(tmp_path / "journal", monkeypatch)


def look_up(order: str) -> dict[str, str]:
    """Look an order up."""
    return {"order": order, "status": "delayed"}


def agno(server: MockModelServer) -> str:
    from agno.agent import Agent
    from agno.models.openai import OpenAIChat
    from openinference.instrumentation.agno import AgnoInstrumentor

    AgnoInstrumentor().instrument(tracer_provider=trace.get_tracer_provider(), skip_dep_check=True)
    try:
        model = OpenAIChat(id="m", base_url=server.base_url, max_retries=0)
        Agent(name="clerk", model=model, tools=[look_up], telemetry=False).run("where is A1?")
    finally:
        AgnoInstrumentor().uninstrument()
    return "openinference.instrumentation.agno"


def haystack(server: MockModelServer) -> str:
    from haystack import Pipeline, tracing
    from haystack.components.agents import Agent
    from haystack.components.generators.chat import OpenAIChatGenerator
    from haystack.dataclasses import ChatMessage
    from haystack.tools import tool
    from haystack_integrations.tracing.opentelemetry import OpenTelemetryTracer

    tracing.enable_tracing(OpenTelemetryTracer(trace.get_tracer("haystack")))
    tracing.tracer.is_content_tracing_enabled = True
    try:
        model = OpenAIChatGenerator(model="m", api_base_url=server.base_url, max_retries=0)
        pipeline = Pipeline(metadata={"name": "desk"})
        pipeline.add_component("clerk", Agent(chat_generator=model, tools=[tool(look_up)]))
        pipeline.run({"clerk": {"messages": [ChatMessage.from_user("where is A1?")]}})
    finally:
        tracing.disable_tracing()
        tracing.tracer.is_content_tracing_enabled = False
    return "haystack"


@pytest.mark.parametrize(
    ("program", "agents"), [(agno, ["clerk"]), (haystack, ["desk", "clerk"])], ids=["agno", "haystack"]
)
def test_each_call_and_each_agent_is_one(
    recording: Recording, server: MockModelServer, program: Callable[[MockModelServer], str], agents: list[str]
):
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("it is delayed"))
    with playhead.run("r"):
        scope = program(server)
    spans = recording.read().spans
    assert scope in {span.scope for span in spans}
    run = only_run(recording)
    counts = Counter(type(event).__name__ for event in run.events)
    assert (counts["LlmCalled"], counts["LlmCompleted"], run.row.llm_calls) == (2, 2, 2)
    assert (counts["ToolCalled"], counts["ToolCompleted"]) == (1, 1)
    steps = [event for event in run.events if isinstance(event, ev.StepStarted)]
    assert [step.name for step in steps if step.step_kind == "agent"] == agents
    by_id = {span.span_id: span for span in recording.read().spans}
    called = [event for event in run.events if isinstance(event, ev.LlmCalled | ev.ToolCalled)]
    assert {by_id[str(event.span)].scope or names.SCOPE for event in called} == {names.SCOPE}

"""Handoffs between agents, as other people's telemetry tells of them."""

import json

import pytest

from playhead.lift import lift
from playhead.model import names
from playhead.model.event import AgentHandoff, StepStarted
from playhead.model.state import fold
from tests.senders.programs import scene
from tests.senders.sent import sent
from tests.unit.lift.spans import a_span

SAID_BY = (
    "google_adk_handoff", "logfire_openai_agents", "openinference_openai_agents", "openllmetry_openai_agents",
)  # fmt: skip


@pytest.mark.parametrize("name", SAID_BY)
def test_a_handoff_is_an_event_and_changes_who_acts(name: str):
    last = sent(name).runs()[-1]
    [handoff] = [event for event in last.events if isinstance(event, AgentHandoff)]
    assert (handoff.actor, handoff.to) == ("clerk", scene.HANDOFF_TO)
    assert fold(event for event in last.events if event.seq <= handoff.seq).agent == scene.HANDOFF_TO
    after = [event for event in last.events if isinstance(event, StepStarted) and event.seq > handoff.seq]
    assert after[0].actor == scene.HANDOFF_TO


def test_a_handoff_that_does_not_name_its_target_goes_to_the_next_agent():
    lifted = [one.span for one in sent("openllmetry_openai_agents").lifted]
    [marked] = [one for one in lifted if names.HANDOFF_TO in one.attributes]
    assert (marked.attributes[names.HANDOFF_TO], marked.attributes[names.KIND]) == ("", "step")


def test_opentelemetrys_own_instrumentation_does_not_say_that_there_was_a_handoff():
    it = sent("otel_genai_openai_agents")
    assert not any(isinstance(event, AgentHandoff) for event in it.events())
    assert scene.HANDOFF_TO in {event.actor for event in it.events()}


@pytest.mark.parametrize(
    ("tool", "argument"),
    [("transfer_to_agent", "agent_name"), ("handoff_to_agent", "agent_name"), ("handoff", "to_agent")],
)
def test_the_handoff_tools_of_frameworks_name_the_target_in_an_argument(tool: str, argument: str):
    attributes = {names.OPERATION: "execute_tool", names.TOOL_NAME: tool}
    given = {**attributes, names.TOOL_ARGUMENTS: json.dumps({argument: "tailor"})}
    assert lift(a_span(given)).span.attributes[names.HANDOFF_TO] == "tailor"
    for odd in ("{", "[]", "7", json.dumps({argument: 7}), json.dumps({argument: ""})):
        assert names.HANDOFF_TO not in lift(a_span({**attributes, names.TOOL_ARGUMENTS: odd})).span.attributes


def test_a_handoff_that_failed_is_none():
    it = sent("google_adk_handoff")
    [marked] = [one.span for one in it.lifted if names.HANDOFF_TO in one.span.attributes]
    marked.status, before = 2, marked.status
    try:
        assert not any(isinstance(event, AgentHandoff) for event in it.events())
    finally:
        marked.status = before


def test_a_task_of_crewai_is_not_named_by_its_description():
    lifted = [one.span.name for one in sent("openllmetry_crewai").lifted]
    assert "crewai.task" in lifted
    assert not any("Marker" in name for name in lifted)

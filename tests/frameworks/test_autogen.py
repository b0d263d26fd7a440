"""Agents on AutoGen: what is recorded of them; killed and resumed, no completed call is repeated."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from playhead.model import names
from playhead.rewind import ASKED
from playhead.testing import MockModelServer, pytest_plugin, text, tool_call, tool_offered, tool_result_received
from tests.support.programs.framework_runs import (
    ALL_EFFECTS,
    ANSWER,
    Agent,
    assert_a_refused_model_call_is_an_error,
    assert_contexts_are_the_requests,
    assert_fork_gives_a_tool_another_result,
    killed,
)

server = pytest_plugin.mock_model_server
PROGRAM = Path(__file__).parent / "programs/autogen_agent.py"


@pytest.mark.slow
@pytest.mark.covers("autogen", "spans", "messages", "tools", "streaming", "usage")
@pytest.mark.parametrize("variant", ["plain", "streamed"])
def test_agent_tools_and_messages_are_recorded(server: MockModelServer, tmp_path: Path, variant: str):
    agent = Agent(PROGRAM, variant, tmp_path, server)
    agent.script()
    code, answer, errors = agent.run()
    assert (code, answer) == (0, ANSWER), errors
    assert agent.effects() == ALL_EFFECTS
    agent.assert_is_recorded_well()
    seen = agent.recorded()
    [of_agent] = seen.of_kind("agent")
    assert of_agent.attributes[names.AGENT_NAME] == "support"
    assert seen.value(of_agent, names.INPUT_REF) == {"input": "Refund A1, please."}
    assert seen.value(of_agent, names.OUTPUT_REF) == ANSWER
    tools = seen.of_kind("tool")
    assert {span.parent_id for span in (*tools, *seen.of_kind("llm"))} == {of_agent.span_id}
    looked_up = {span.span_id for span in tools if span.attributes[names.TOOL_NAME] == "look_up"}
    assert {span.parent_id for span in seen.calls("database")} == looked_up  # though it ran in another thread
    [refunded] = seen.calls("refund")
    assert seen.value(refunded, names.TOOL_RESULT_REF) == "refunded 5.0"
    assert_contexts_are_the_requests(seen, server.requests, has_tokens=variant != "streamed")


@pytest.mark.slow
@pytest.mark.covers("autogen", "spans", "resume")
def test_agents_of_a_team_are_agents_of_the_run(server: MockModelServer, tmp_path: Path):
    agent = Agent(PROGRAM, "team", tmp_path, server)
    server.when(~tool_offered("look_up"), tool_call("transfer_to_clerk", {}))
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text(ANSWER))
    code, answer, errors = agent.run()
    assert (code, answer) == (0, ANSWER), errors
    seen = agent.recorded()
    team = next(span for span in seen.of_kind("agent") if names.RUN_ROOT in span.attributes)
    inside = {span.attributes[names.AGENT_NAME]: span for span in seen.of_kind("agent") if span is not team}
    assert inside.keys() == {"desk", "clerk"}
    assert seen.value(inside["clerk"], names.OUTPUT_REF) == seen.value(team, names.OUTPUT_REF) == ANSWER
    assert {span.parent_id for span in inside.values()} == {team.span_id}
    [looked_up] = seen.calls("look_up")
    assert looked_up.parent_id == inside["clerk"].span_id
    [event] = [log for log in seen.logs if log.name == names.HANDOFF]
    assert event.attributes[names.HANDOFF_TO] == "clerk"
    requests = len(server.requests)
    code, answer, errors = agent.run(PLAYHEAD_RESUME=agent.run_id())
    assert (code, answer, len(server.requests)) == (0, ANSWER, requests), errors
    assert agent.effects() == ["look_up A1"]


@pytest.mark.slow
@pytest.mark.covers("autogen", "tools", "resume")
def test_an_agent_that_is_a_tool_is_inside_the_tools_call(server: MockModelServer, tmp_path: Path):
    agent = Agent(PROGRAM, "agent tool", tmp_path, server)
    server.when(tool_offered("clerk") & ~tool_result_received("clerk"), tool_call("clerk", {"task": "Where is A1?"}))
    server.when(tool_offered("look_up") & ~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text(ANSWER))
    code, answer, errors = agent.run()
    assert (code, answer) == (0, ANSWER), errors
    seen = agent.recorded()
    by_name = {span.attributes[names.AGENT_NAME]: span for span in seen.of_kind("agent")}
    [asked] = [span for span in seen.of_kind("tool") if span.attributes[names.TOOL_NAME] == "clerk"]
    assert (by_name["clerk"].parent_id, asked.parent_id) == (asked.span_id, by_name["desk"].span_id)
    requests = len(server.requests)
    code, answer, errors = agent.run(PLAYHEAD_RESUME=agent.run_id())
    assert (code, answer, len(server.requests)) == (0, ANSWER, requests), errors
    assert agent.effects() == ["look_up A1"]


@pytest.mark.slow
@pytest.mark.covers("autogen", "resume")
@killed("plain", "streamed")
def test_it_goes_on_from_where_it_was_killed(
    server: MockModelServer, tmp_path: Path, variant: str, check: Callable[[Agent], None]
):
    check(Agent(PROGRAM, variant, tmp_path, server))


@pytest.mark.slow
@pytest.mark.covers("autogen", "fork")
def test_a_fork_gives_a_tool_another_result(server: MockModelServer, tmp_path: Path):
    assert_fork_gives_a_tool_another_result(Agent(PROGRAM, "plain", tmp_path, server))


@pytest.mark.slow
@pytest.mark.covers("autogen", "tools", "fork")
def test_a_fork_gives_an_agent_that_is_a_tool_another_answer(server: MockModelServer, tmp_path: Path):
    agent = Agent(PROGRAM, "agent tool", tmp_path, server)
    server.when(tool_offered("clerk") & ~tool_result_received("clerk"), tool_call("clerk", {"task": "Where is A1?"}))
    server.when(tool_offered("look_up") & ~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text(ANSWER))
    code, _, errors = agent.run()
    assert code == 0, errors
    what = {"fork": agent.run_id(), "options": {"at": "clerk", "outcome": "it is lost"}}
    code, answer, errors = agent.run(**{ASKED: json.dumps(what)})
    assert (code, answer) == (0, ANSWER), errors
    assert "it is lost" in str(server.requests[-1].messages[-1])
    assert agent.effects() == ["look_up A1"]


@pytest.mark.slow
@pytest.mark.covers("autogen", "errors")
def test_a_refused_model_call_is_an_error(server: MockModelServer, tmp_path: Path):
    assert_a_refused_model_call_is_an_error(Agent(PROGRAM, "plain", tmp_path, server))

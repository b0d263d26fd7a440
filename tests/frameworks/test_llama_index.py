"""Agents on LlamaIndex: what is recorded of them; killed and resumed, no completed call is repeated."""

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
PROGRAM = Path(__file__).parent / "programs/llama_index_agent.py"


@pytest.mark.slow
@pytest.mark.covers("llama-index", "spans", "messages", "tools", "streaming", "usage")
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
    assert {span.parent_id for span in (*seen.of_kind("tool"), *seen.of_kind("llm"))} == {of_agent.span_id}
    [refunded] = seen.calls("refund")
    assert seen.value(refunded, names.TOOL_RESULT_REF)["raw_output"] == "refunded 5"
    assert_contexts_are_the_requests(seen, server.requests, has_tokens=variant != "streamed")


@pytest.mark.slow
@pytest.mark.covers("llama-index", "spans", "resume")
def test_a_handoff_is_an_event_and_happens_again_on_resume(server: MockModelServer, tmp_path: Path):
    agent = Agent(PROGRAM, "handoff", tmp_path, server)
    server.when(~tool_offered("look_up"), tool_call("handoff", {"to_agent": "clerk", "reason": "it knows"}))
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text(ANSWER))
    code, answer, errors = agent.run()
    assert (code, answer) == (0, ANSWER), errors
    seen = agent.recorded()
    [event] = [log for log in seen.logs if log.name == names.HANDOFF]
    assert event.attributes[names.HANDOFF_TO] == "clerk"
    assert [span.attributes[names.TOOL_NAME] for span in seen.of_kind("tool")] == ["look_up"]
    code, answer, errors = agent.run(PLAYHEAD_RESUME=agent.run_id())
    assert (code, answer, len(server.requests)) == (0, ANSWER, 3), errors
    assert agent.effects() == ["look_up A1"]


@pytest.mark.slow
@pytest.mark.covers("llama-index", "spans", "resume")
def test_a_retriever_is_recorded_with_query_and_documents(server: MockModelServer, tmp_path: Path):
    agent = Agent(PROGRAM, "retriever", tmp_path, server)
    code, first, errors = agent.run()
    assert (code, first) == (0, "delayed 0.5 delayed 0.5"), errors
    seen = agent.recorded()
    one, two = seen.of_kind("retriever")
    assert [seen.value(each, names.INPUT_REF) for each in (one, two)] == [{"query": "A1"}, {"query": "B2"}]
    [found] = seen.value(one, names.OUTPUT_REF)
    assert (found["node"]["text"], found["score"]) == ("delayed", 0.5)
    code, again, errors = agent.run(PLAYHEAD_RESUME=agent.run_id())
    assert (code, again) == (0, first), errors
    assert agent.effects() == ["retrieve A1", "retrieve B2"]
    what = {"fork": agent.run_id(), "options": {"at": one.span_id, "outcome": "lost"}}
    code, other, errors = agent.run(**{ASKED: json.dumps(what)})
    assert (code, other) == (0, "lost None delayed 0.5"), errors
    assert agent.effects() == ["retrieve A1", "retrieve B2", "retrieve B2"]


@pytest.mark.slow
@pytest.mark.covers("llama-index", "resume")
@killed("plain", "streamed")
def test_it_goes_on_from_where_it_was_killed(
    server: MockModelServer, tmp_path: Path, variant: str, check: Callable[[Agent], None]
):
    check(Agent(PROGRAM, variant, tmp_path, server))


@pytest.mark.slow
@pytest.mark.covers("llama-index", "fork")
def test_a_fork_gives_a_tool_another_result(server: MockModelServer, tmp_path: Path):
    assert_fork_gives_a_tool_another_result(Agent(PROGRAM, "plain", tmp_path, server))


@pytest.mark.slow
@pytest.mark.covers("llama-index", "errors")
def test_a_refused_model_call_is_an_error(server: MockModelServer, tmp_path: Path):
    assert_a_refused_model_call_is_an_error(Agent(PROGRAM, "plain", tmp_path, server))

"""Agents on smolagents: what is recorded of them; killed and resumed, no completed call is repeated."""

from collections.abc import Callable
from pathlib import Path

import pytest
import smolagents
import smolagents.models

import playhead
from playhead.errors import InDoubt
from playhead.model import names
from playhead.testing import MockModelServer, contains, pytest_plugin, text, tool_call
from tests.support.journal_reader import Journaled
from tests.support.programs.framework_runs import (
    ALL_EFFECTS,
    ANSWER,
    LOOKED_UP,
    REFUND,
    Agent,
    assert_a_refused_model_call_is_an_error,
    assert_contexts_are_the_requests,
    assert_fork_gives_a_tool_another_result,
    killed,
)

server = pytest_plugin.mock_model_server
PROGRAM = Path(__file__).parent / "programs/smolagents_agent.py"
CODE = """Thought: both, then the money.
<code>
first = look_up(order="A1")
second = look_up("B2")
refund("A1", amount=5)
final_answer("A1 is refunded.")
</code>"""


class SmolAgent(Agent):
    """Results go back to the model as texts, and the answer is a tool's."""

    def script(self) -> None:
        self.server.when(~contains("delayed"), LOOKED_UP)
        self.server.when(~contains("refunded 5"), REFUND)
        self.server.otherwise(tool_call("final_answer", {"answer": ANSWER}))

    def assert_is_recorded_well(self) -> None:
        seen = self.recorded()
        assert_every_tool_has_the_id_of_the_models_request(seen)
        assert len({span.attributes[names.RUN_ID] for span in seen.spans}) == 1
        assert not any(names.UNRESTORABLE in span.attributes for span in seen.spans)


def assert_every_tool_has_the_id_of_the_models_request(seen: Journaled) -> None:
    asked = {
        (part["id"], part["name"], str(part["arguments"]))
        for span in seen.of_kind("llm")
        if names.OUTPUT_MESSAGES_REF in span.attributes
        for message in seen.messages(span.attributes[names.OUTPUT_MESSAGES_REF])
        for part in message["parts"]
        if part["type"] == "tool_call"
    }
    ran = {
        (
            span.attributes[names.TOOL_CALL_ID],
            span.attributes[names.TOOL_NAME],
            str(seen.value(span, names.TOOL_ARGUMENTS_REF)),
        )
        for span in seen.of_kind("tool")
    }
    assert len(asked) == 4
    assert ran == asked


@pytest.mark.slow
@pytest.mark.covers("smolagents", "spans", "messages", "tools", "usage")
@pytest.mark.parametrize("variant", ["plain", "streamed"])
def test_agent_tools_and_messages_are_recorded(server: MockModelServer, tmp_path: Path, variant: str):
    agent = SmolAgent(PROGRAM, variant, tmp_path, server)
    agent.script()
    code, answer, errors = agent.run()
    assert (code, answer) == (0, ANSWER), errors
    assert agent.effects() == ALL_EFFECTS
    seen = agent.recorded()
    [of_agent] = seen.of_kind("agent")
    assert of_agent.attributes[names.AGENT_NAME] == "support"
    assert seen.value(of_agent, names.INPUT_REF) == {"input": "Refund A1, please."}
    assert seen.value(of_agent, names.OUTPUT_REF) == ANSWER
    assert_every_tool_has_the_id_of_the_models_request(seen)
    [refunded] = seen.calls("refund")
    assert seen.value(refunded, names.TOOL_RESULT_REF) == "refunded 5"
    calls = seen.of_kind("llm")
    assert len(calls) == 3
    assert_contexts_are_the_requests(seen, server.requests, has_tokens=True)
    for call in calls:
        assert call.parent_id == of_agent.span_id
        assert {each["function"]["name"] for each in seen.value(call, names.TOOL_DEFINITIONS_REF)} == {
            "look_up", "refund", "final_answer",
        }  # fmt: skip


@pytest.mark.slow
@pytest.mark.covers("smolagents", "tools")
def test_tools_that_an_agents_code_calls_are_recorded(server: MockModelServer, tmp_path: Path):
    agent = SmolAgent(PROGRAM, "code", tmp_path, server)
    server.otherwise(text(CODE))
    code, answer, errors = agent.run()
    assert (code, answer) == (0, ANSWER), errors
    seen = agent.recorded()
    ran = [
        (span.attributes[names.TOOL_NAME], seen.value(span, names.TOOL_ARGUMENTS_REF)) for span in seen.of_kind("tool")
    ]
    assert ran == [
        ("look_up", {"order": "A1"}),
        ("look_up", {"order": "B2"}),
        ("refund", {"order": "A1", "amount": 5}),
        ("final_answer", {"answer": ANSWER}),
    ]
    [of_agent] = seen.of_kind("agent")
    assert {span.parent_id for span in seen.of_kind("tool")} == {of_agent.span_id}
    code, answer, errors = agent.run(PLAYHEAD_RESUME=agent.run_id())
    assert (code, answer, len(server.requests)) == (0, ANSWER, 1), errors
    assert agent.effects() == ALL_EFFECTS


@pytest.mark.slow
@pytest.mark.covers("smolagents", "resume", "streaming")
@killed("plain", "streamed")
def test_it_goes_on_from_where_it_was_killed(
    server: MockModelServer, tmp_path: Path, variant: str, check: Callable[[Agent], None]
):
    check(SmolAgent(PROGRAM, variant, tmp_path, server))


@pytest.mark.slow
@pytest.mark.covers("smolagents", "fork")
def test_a_fork_gives_a_tool_another_result(server: MockModelServer, tmp_path: Path):
    assert_fork_gives_a_tool_another_result(SmolAgent(PROGRAM, "plain", tmp_path, server))


@pytest.mark.slow
@pytest.mark.covers("smolagents", "errors")
def test_a_refused_model_call_is_an_error(server: MockModelServer, tmp_path: Path):
    assert_a_refused_model_call_is_an_error(SmolAgent(PROGRAM, "plain", tmp_path, server))


@pytest.mark.covers("smolagents", "resume")
def test_a_run_that_stands_still_is_not_taken_for_a_rate_limit():
    asked: list[Exception] = []

    def refuse(error: Exception) -> None:
        asked.append(error)
        raise error

    playhead.instrument()
    try:
        retry = smolagents.OpenAIModel("m", api_base="http://127.0.0.1:9", api_key="none").retryer
        stopped = InDoubt("tool refund had begun, and nobody knows: {'order': '429'}")
        with pytest.raises(InDoubt):  # else it waits for a minute first
            retry(refuse, stopped)
    finally:
        playhead.uninstrument()
    assert asked == [stopped]
    assert smolagents.models.is_rate_limit_error(RuntimeError("429 Too Many Requests"))

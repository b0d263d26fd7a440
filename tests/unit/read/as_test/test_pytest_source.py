"""A recorded run → a pytest file: what stands in it evaluates to what was recorded."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.model.message import Message
from playhead.testing import (
    context_too_long,
    dropped_connection,
    malformed_tool_call,
    rate_limit,
    server_error,
    text,
    thinking,
    tool_call,
)
from playhead.testing.answers import AssistantMessage
from playhead_collector.read.given_answers import GivenAnswer
from playhead_collector.read.pytest_file import RecordedTurn, RunToTest, answer_source, asked_text, pytest_source
from playhead_collector.read.python_source import literal

_FUNCTIONS = {
    each.__name__: each
    for each in (
        context_too_long, dropped_connection, malformed_tool_call, rate_limit, server_error, text, thinking, tool_call,
    )
}  # fmt: skip
TEXTS = st.text(max_size=300)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)
PARTS = st.one_of(
    st.builds(lambda content: {"type": "text", "content": content}, TEXTS),
    st.builds(lambda content: {"type": "reasoning", "content": content}, TEXTS),
    st.builds(
        lambda name, arguments, call: {"type": "tool_call", "name": name, "arguments": arguments, "id": call},
        TEXTS, st.dictionaries(TEXTS, JSON, max_size=3) | TEXTS, st.none() | TEXTS,
    ),
)  # fmt: skip


def evaluated(source: str) -> Any:
    return eval(source, dict(_FUNCTIONS))


@given(JSON, st.integers(0, 12))
def test_a_literal_is_the_value(value: Any, indent: int):
    assert evaluated(literal(value, indent)) == value


@given(st.lists(PARTS, max_size=4))
def test_an_answer_says_what_was_said(parts: list[dict[str, Any]]):
    source = answer_source(RecordedTurn("", {"role": "assistant", "parts": parts}), 8)
    assert source is not None
    said = evaluated(source)
    assert isinstance(said, AssistantMessage)
    of_kind = lambda kind: [part["content"] for part in parts if part["type"] == kind]  # noqa: E731
    assert (said.text or "") == "".join(of_kind("text"))
    assert (said.thinking or "") == "".join(of_kind("reasoning"))
    called = [part for part in parts if part["type"] == "tool_call"]
    assert [(call.name, call.id) for call in said.tool_calls] == [(part["name"], part["id"]) for part in called]


@given(TEXTS, TEXTS, st.lists(st.tuples(TEXTS, JSON), max_size=3), JSON, st.none() | TEXTS)
def test_a_file_of_any_run_is_python(name: str, asked: str, tools: Any, given: Any, program: str | None):
    answer: Message = {"role": "assistant", "parts": [{"type": "text", "content": asked}]}
    run = RunToTest(
        run="0a" * 16, name=name, begun="2026-11-23T10:00:00Z", status="failed",
        exchanges=[RecordedTurn(asked, answer)],
        tools=tools, error_type="ValueError", program=program, function="agents.Support.answer", input=given,
    )  # fmt: skip
    source = pytest_source(run)
    compile(source.encode("utf-8", "surrogatepass").decode("utf-8", "replace"), "test_it.py", "exec")
    assert ("run_program(" in source) == (program is not None)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (("openai.RateLimitError", "slow down"), rate_limit(0, message="slow down")),
        (("BadRequestError", "too long"), context_too_long(message="too long")),
        (("APIConnectionError", "gone"), dropped_connection()),
        (("InternalServerError", "oh"), server_error(message="oh")),
    ],
)
def test_a_call_that_failed_fails_again(error: tuple[str, str], expected: Any):
    source = answer_source(RecordedTurn("", None, error=error))
    assert source is not None
    assert evaluated(source) == expected


def test_a_call_without_an_answer_is_left_out():
    assert answer_source(RecordedTurn("hi", None)) is None


def test_the_length_that_cut_an_answer_is_given_again():
    answer: Message = {"role": "assistant", "parts": [{"type": "text", "content": "once upon"}]}
    source = answer_source(RecordedTurn("", answer, finish_reasons=("length",)))
    assert source == "text('once upon', finish_reason='length')"


def test_what_was_asked_is_the_text_that_the_mock_model_sees():
    result = {"type": "tool_call_response", "id": "c", "response": "20 euros"}
    assert asked_text({"role": "tool", "parts": [result]}) == "20 euros"
    assert (
        asked_text({"role": "user", "parts": [{"type": "text", "content": "a"}, {"type": "text", "content": "b"}]})
        == "ab"
    )
    assert asked_text(None) == ""


def test_a_test_calls_no_function_of_python_s_own_modules():
    """Whoever may send spans chooses these names, and whoever runs the test would run them."""
    sent: dict[str, Any] = {"function": "os.system", "input": {"command": "rm -rf ~"}}
    run = RunToTest("0a" * 16, None, "2026-11-23T10:00:00Z", "completed", [], [], **sent)
    assert "pytest.skip(" in pytest_source(run)
    assert "import system" not in pytest_source(run)
    assert "pytest.skip(" in pytest_source(replace(run, program="-m http.server"))
    assert "run_program('code.py')" in pytest_source(replace(run, program="code.py"))
    assert "from agents import system" in pytest_source(replace(run, function="agents.system"))


def test_what_nobody_knows_how_to_start_is_skipped_with_the_reason():
    run = RunToTest("0a" * 16, None, "2026-11-23T10:00:00Z", "completed", [], [], function="agents.Support.answer")
    assert 'pytest.skip("say in start_agent() how your agent is started' in pytest_source(run)


@pytest.mark.parametrize(
    ("output", "repeatable"),
    [
        ({"refunded": 20, "order": "A1"}, True),
        (["done", None, 1.5], True),
        ("order 0123456789", True),
        ({"message": {"id": "lc_run--01a20cd4-88f7-746f-8a7c-6b3283603605-0"}}, False),
        (["2cc89f460079c1d52ecb6a8aa2957d72"], False),
        ({"messages": [{"content": "x", "response_metadata": {}}]}, False),
    ],
)
def test_an_output_that_differs_each_time_is_not_compared(output: Any, repeatable: bool):
    run = RunToTest("0a" * 16, None, "2026-11-23T10:00:00Z", "completed", [], [], output=output, answer="done")
    assert ("run.output ==" in pytest_source(run)) == repeatable
    assert ("run.answer ==" in pytest_source(run)) != repeatable


def test_what_people_answered_is_told_before_the_program_is_started():
    given = [GivenAnswer("deny", "run refund", details={"amount": 500}, reason="too much"), GivenAnswer("expire", None)]
    run = RunToTest(
        "0a" * 16, None, "2026-11-23T10:00:00Z", "running", [], [], given_answers=given, waits=True, runs_before=1
    )
    lines = pytest_source(run).splitlines()
    at = lines.index("    playhead_recorder.deny('run refund', details={'amount': 500}, reason='too much', times=1)")
    assert lines[at + 1 : at + 5] == [
        "    playhead_recorder.expire(None, times=1)",
        "    with playhead_recorder.until_it_waits():  # as it did when it was recorded",
        "        start_agent()",
        "    run = playhead_recorder.runs[1]",
    ]

"""A run as the index has it: its JSON reads back as it was, and each decision is found by the terms of any question
that it meets."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.model.canonical import Content, content_of
from playhead.model.event import ToolCalled, ToolCompleted, ToolFailed
from playhead_collector.analysis.search.records import (
    SearchedDecision,
    SearchedValue,
    SearchRecord,
    decode,
    encode,
    result_of,
)
from playhead_collector.analysis.search.terms import DecisionConditions, query_terms, terms_of
from playhead_collector.analysis.transcript.transcript import ToolRun
from playhead_collector.read.values import ContentCache

START = 1_760_000_000_000_000_000
# Programs cut emojis in two, and read bytes as text.
CUT = ["cut \ud83d", "\ude00 cut", "\udcff"]
words = st.text(st.characters(codec="utf-8"), max_size=300) | st.sampled_from(CUT)
values = st.builds(
    SearchedValue.of,
    st.sampled_from(["a", "b[0].c", "b[1].c", "d.e", *CUT]),
    words,
    st.sampled_from([None, "user", "invented"]),
) | st.builds(lambda text: SearchedValue.of("f", text * 90, "derived", suspect=True), st.text(min_size=4, max_size=5))
decisions = st.builds(
    SearchedDecision,
    seq=st.integers(1, 2**31),
    kind=st.sampled_from(["tool_call", "answer"]),
    time_ns=st.integers(START - 10**9, START + 10**15),
    agent=st.sampled_from([None, "support"]),
    tool=st.sampled_from([None, "search", "refund", *CUT]),
    attribution=st.sampled_from([None, "user_request"]),
    result=st.sampled_from([None, "ok", "error"]),
    after=st.sampled_from([None, "first", "error"]),
    chosen=st.sampled_from([None, "x"]),
    values=st.lists(values, max_size=4),
)
records = st.builds(
    SearchRecord,
    status=st.sampled_from(["completed", "failed"]),
    decisions=st.lists(decisions, max_size=4),
)


@settings(deadline=None)
@given(records)
def test_what_is_written_reads_back(record: SearchRecord):
    assert decode(encode(record, START), START) == record


@settings(deadline=None)
@given(records, st.data())
def test_a_decision_is_found_by_the_terms_of_each_question_that_it_meets(record: SearchRecord, data: st.DataObject):
    for decision in record.decisions:
        asked: dict[str, Any] = {"status": record.status}
        for name in ("kind", "agent", "tool", "attribution", "result", "after"):
            if data.draw(st.booleans()):
                asked[name] = getattr(decision, name)
        if decision.values and data.draw(st.booleans()):
            value = data.draw(st.sampled_from(list(decision.values)))
            if value.hash is None:
                name = data.draw(st.sampled_from(sorted(value.names)))
                asked |= {"arguments": ((name, value.value),), "value": value.value, "source": value.source}
                asked["suspect"] = value.suspect
        conditions = DecisionConditions(**asked)
        assert conditions.matches(decision)
        assert set(query_terms(conditions)) <= terms_of(record)


@settings(deadline=None)
@given(st.text(min_size=201, max_size=400))
def test_long_values_are_told_apart_behind_their_beginning(text: str):
    decision = SearchedDecision(1, "tool_call", START, tool="write", values=[SearchedValue.of("text", text, "user")])
    record = SearchRecord("completed", [decision])
    for other, is_met in ((text, True), (text + "x", False), (text[:200], False)):
        conditions = DecisionConditions(arguments=(("text", other),))
        assert conditions.matches(decision) is is_met
        assert (set(query_terms(conditions)) <= terms_of(record)) is is_met


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("order", {"order"}),
        ("flights[0].date", {"flights[0].date", "flights.date", "date"}),
        ("a[0][1]", {"a[0][1]", "a"}),
        ("", {""}),
    ],
)
def test_an_argument_can_be_asked_for_by_several_names(path: str, names: set[str]):
    assert SearchedValue.of(path, "x").names == names


def called(value: Any, *, end: Any = None) -> str:
    content = content_of(value)
    header = {"id": "e", "run": "r", "seq": 1, "time_ns": 1}
    begin = ToolCalled(**header, name="search")
    end = end or ToolCompleted(**header, name="search", result=content.ref)
    return result_of(ToolRun(begin, {}, end=end), ContentCache({content.ref: content}))


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ({"orders": 2}, "ok"), ("it is on its way", "ok"), (0, "ok"), (False, "ok"), ("Error: no such user", "error"),
        ({"error": "gone"}, "error"), ({"ok": False}, "error"), ("", "empty"), ([], "empty"), ({}, "empty"),
        (None, "empty"), ("[]", "empty"), (" none ", "empty"), ({"error": None}, "ok"),
    ],
)  # fmt: skip
def test_a_result_is_one_word(value: Any, result: str):
    assert called(value) == result


def test_a_result_that_is_no_value():
    header = {"id": "e", "run": "r", "seq": 1, "time_ns": 1, "name": "search"}
    lost = Content(b"lost", "text/plain").ref
    assert called(1, end=ToolFailed(**header, message="no")) == "error"
    assert called(1, end=ToolFailed(**header, outcome="cancelled")) == "cancelled"
    assert called(1, end=ToolCompleted(**header)) == "unknown"
    assert called(1, end=ToolCompleted(**header, result=lost)) == "unknown"
    assert result_of(ToolRun(ToolCalled(**header), {}), ContentCache({})) == "open"

"""Evaluations become events of the run: those of log records, of events of spans, and of attributes of spans."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.model import names
from playhead.model.event import EventLogged, RunEvent, ScoreRecorded
from playhead.model.span import LogEvent, SpanEvent
from playhead.projection.scores import score_of
from tests.unit.projection.recording import Recording

NUMBER = {names.EVALUATION_NAME: "quality", names.EVALUATION_VALUE: 0.25, names.EVALUATION_LABEL: "poor"}
CATEGORY = {names.EVALUATION_NAME: "verdict", names.EVALUATION_LABEL: "refund", names.EVALUATION_EXPLANATION: "why"}


def events_of(run: Recording) -> list[RunEvent]:
    return list(run.project().events)


def scores(events: list[RunEvent]) -> list[ScoreRecorded]:
    return [event for event in events if isinstance(event, ScoreRecorded)]


def evaluation(run: Recording, attributes: dict[str, Any], span: str | None, scope: str = "deepeval") -> LogEvent:
    log = LogEvent(names.EVALUATION, run.now_ns, run.run, span, dict(attributes), scope=scope)
    run.logs.append(log)
    return log


def test_a_log_record_scores_the_call_that_it_belongs_to():
    run = Recording()
    with run.root() as root:
        call = run.tool("search")
        evaluation(run, NUMBER, call.span_id)
        evaluation(run, CATEGORY, root.span_id)
    about_run, about_call = sorted(scores(events_of(run)), key=lambda score: score.about or "")
    assert (about_call.value, about_call.label, about_call.about, about_call.source) == (
        0.25,
        "poor",
        call.span_id,
        "deepeval",
    )
    assert (about_run.value, about_run.label, about_run.about, about_run.comment) == ("refund", None, None, "why")


def test_our_own_record_scores_the_run_wherever_the_program_was():
    run = Recording()
    with run.root(), run.call("step", "judge"):
        log = run.log(names.EVALUATION)
        log.attributes |= NUMBER | {names.SCORE_TYPE: "boolean", names.EVALUATION_VALUE: 1.0}
    (score,) = scores(events_of(run))
    assert (score.value, score.about) == (True, None)


def test_a_span_says_scores_in_its_attributes_and_in_its_events():
    run = Recording(ours=False)
    with run.root("evaluated"), run.call("tool", "judge") as judge:
        judge.attributes |= NUMBER
        judge.events.append(SpanEvent(names.EVALUATION, run.now_ns, dict(CATEGORY)))
        judge.events.append(SpanEvent(names.EVALUATION, run.now_ns, dict(CATEGORY)))
    found = scores(events_of(run))
    assert [score.value for score in found] == [0.25, "refund", "refund"]
    assert {score.about for score in found} == {judge.span_id}
    assert len({score.id for score in found}) == 3


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {names.EVALUATION_NAME: "quality"},
        {names.EVALUATION_VALUE: 1.0},
        {names.EVALUATION_NAME: "quality", names.EVALUATION_VALUE: float("nan")},
        {names.EVALUATION_NAME: "quality", names.EVALUATION_LABEL: ""},
        {names.EVALUATION_NAME: 7, names.EVALUATION_LABEL: "good"},
    ],
)
def test_an_evaluation_that_says_no_score_is_a_logged_event(attributes: dict[str, Any]):
    run = Recording()
    with run.root():
        evaluation(run, attributes, None)
    events = events_of(run)
    assert scores(events) == []
    assert [event.name for event in events if isinstance(event, EventLogged)] == [names.EVALUATION]


def test_a_score_changes_nothing_else_of_the_run():
    run, scored = Recording(), Recording()
    for each in (run, scored):
        with each.root():
            each.tool("search")
    evaluation(scored, NUMBER, None)
    before, after = run.project(), scored.project()
    assert [event.id for event in before.events] == [
        event.id for event in after.events if event.kind != "score_recorded"
    ]
    assert (after.row.status, after.row.ended_ns) == (before.row.status, before.row.ended_ns)


@given(
    st.dictionaries(
        st.sampled_from(
            [names.EVALUATION_NAME, names.EVALUATION_VALUE, names.EVALUATION_LABEL, names.EVALUATION_EXPLANATION,
             names.SCORE_TYPE, names.EVALUATION_EXPLANATION + "_ref"]
        ),
        st.one_of(
                st.none(), st.booleans(), st.integers(), st.floats(),
                st.sampled_from(["", "x", "boolean", "\ud800", "\x00"]),
                st.just(["x"]),
            ),
    )
)  # fmt: skip
def test_whatever_attributes_say_gives_a_score_that_can_be_stored_or_none(attributes: dict[str, Any]):
    score = score_of(attributes)
    assert score is None or (score.name and (score.value != "") and score.value == score.value)

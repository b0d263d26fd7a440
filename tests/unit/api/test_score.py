"""`playhead.score`: what it journals, and that it never hurts the program."""

from typing import Any

import pytest

import playhead
from playhead.model import names
from playhead.model.span import LogEvent
from tests.support.journal_reader import Recording


def scored(recording: Recording) -> list[LogEvent]:
    return [log for log in recording.read().logs if log.name == names.EVALUATION]


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    ("value", "kind", "said"),
    [
        (0.5, "number", {names.EVALUATION_VALUE: 0.5}),
        (3, "number", {names.EVALUATION_VALUE: 3.0}),
        (True, "boolean", {names.EVALUATION_VALUE: 1.0}),
        (False, "boolean", {names.EVALUATION_VALUE: 0.0}),
        ("refund", "category", {names.EVALUATION_LABEL: "refund"}),
    ],
)
def test_a_score_is_opentelemetry_s_event_for_evaluations(recording: Recording, value: Any, kind: str, said: Any):
    with playhead.run("support") as run:
        playhead.score("outcome", value, comment="because")
    (log,) = scored(recording)
    assert log.attributes[names.RUN_ID] == run.id
    assert log.attributes[names.CALL_ORDER] == 2
    about = {names.EVALUATION_NAME: "outcome", names.SCORE_TYPE: kind, names.EVALUATION_EXPLANATION: "because"}
    assert {name: log.attributes[name] for name in (*about, *said)} == about | said


@pytest.mark.usefixtures("quiet")
def test_a_run_that_has_ended_is_scored_by_its_id(recording: Recording):
    with playhead.run("support") as run:
        pass
    playhead.score("resolved", True, run=run.id, span="00f067aa0ba902b7")
    (log,) = scored(recording)
    assert (log.trace_id, log.span_id) == (None, None)
    assert (log.attributes[names.RUN_ID], log.attributes[names.SCORED_SPAN]) == (run.id, "00f067aa0ba902b7")
    assert names.CALL_ORDER not in log.attributes  # a number of its own would be a hole in the run's


def test_a_comment_is_redacted_and_left_out_with_content(recording: Recording):
    recording.configure(redact=lambda value: value.replace("4711", "****") if isinstance(value, str) else value)
    with playhead.run("support"):
        playhead.score("resolved", True, comment="account 4711")
    assert [log.attributes[names.EVALUATION_EXPLANATION] for log in scored(recording)] == ["account ****"]
    recording.configure(capture_content=False)
    with playhead.run("support"):
        playhead.score("resolved", True, comment="account 4711")
    assert names.EVALUATION_EXPLANATION not in scored(recording)[-1].attributes


class Hostile:
    def __bool__(self) -> bool:
        raise SystemExit

    __repr__ = __str__ = __eq__ = __hash__ = __bool__  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("name", "value", "more"),
    [
        ("", 1.0, {}),
        (None, 1.0, {}),
        ("x", float("nan"), {}),
        ("x", 10**400, {}),
        ("x", None, {}),
        ("x", "", {}),
        ("x", [1], {}),
        ("x", Hostile(), {}),
        (Hostile(), 1.0, {}),
        ("x", 1.0, {"run": "last"}),
        ("x", 1.0, {"run": Hostile()}),
        ("x", 1.0, {"span": "nowhere"}),
    ],
)
def test_what_cannot_be_a_score_is_a_warning(
    recording: Recording, caplog: pytest.LogCaptureFixture, name: Any, value: Any, more: dict[str, Any]
):
    with playhead.run("support"):
        playhead.score(name, value, **more)
    assert scored(recording) == []
    assert [record.levelname for record in caplog.records if record.name == "playhead"] == ["WARNING"]


def test_outside_a_run_the_warning_says_what_to_do(recording: Recording, caplog: pytest.LogCaptureFixture):
    playhead.score("resolved", True)
    assert scored(recording) == []
    assert "say which: run=ID" in caplog.text


def test_nothing_happens_while_recording_is_off(recording: Recording):
    recording.configure(disabled=True)
    with playhead.run("support") as run:
        playhead.score("resolved", True)
    playhead.score("resolved", True, run=run.id or "0" * 32)
    assert scored(recording) == []

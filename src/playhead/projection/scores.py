"""store → [projection]: reads scores from OpenTelemetry's evaluation events and attributes.

An evaluation is a log record (`playhead.score` also writes one), an event of a span, or attributes of a span.  It is
ignored if it has no name, or neither a number nor a label.  Pure.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from playhead.model import names
from playhead.model.event import ScoreRecorded
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.projection.attributes import number, ref, text

BOOLEAN: Final = "boolean"
_PREFIX: Final = "gen_ai.evaluation."
_COMMENT_REF: Final = names.EVALUATION_EXPLANATION + names.REF_SUFFIX


@dataclass(frozen=True, slots=True)
class Score:
    """The score of an evaluation; the fields are those of `ScoreRecorded`."""

    name: str
    value: float | bool | str
    label: str | None
    comment: str | None
    explanation: ContentRef | None

    def event(self, head: Mapping[str, Any], about: str | None, source: str) -> ScoreRecorded:
        """The event. `head`: the fields of all events; `about`: the span that was scored, None for the run; `source`:
        the instrumentation that reported it."""
        return ScoreRecorded(
            **head,
            name=self.name,
            value=self.value,
            label=self.label,
            about=about,
            source=source,
            comment=self.comment,
            explanation=self.explanation,
        )


def score_of(attributes: Mapping[str, Any]) -> Score | None:
    """The score in these attributes; None when they have none."""
    name, label = text(attributes, names.EVALUATION_NAME), text(attributes, names.EVALUATION_LABEL)
    measured = number(attributes, names.EVALUATION_VALUE)
    if measured is not None and not math.isfinite(measured):
        measured = None
    if name is None or (measured is None and label is None):
        return None
    value: float | bool | str
    if measured is None:
        value, label = label or "", None
    elif attributes.get(names.SCORE_TYPE) == BOOLEAN:
        value = measured != 0
    else:
        value = measured
    comment = text(attributes, names.EVALUATION_EXPLANATION)
    return Score(name, value, label, comment, ref(attributes, _COMMENT_REF))


def score_event(log: LogEvent, head: Mapping[str, Any], *, is_root: bool) -> ScoreRecorded:
    """The event of a log record with a score. `is_root`: the record's span is the run's root, or is unknown."""
    score = score_of(log.attributes)
    assert score is not None  # noqa: S101 - `log_kind` has looked
    return score.event(head, scored_span(log, is_root=is_root), log.scope)


def scored_span(log: LogEvent, *, is_root: bool) -> str | None:
    """The id of the span that was evaluated; None: the run."""
    if names.SCORE_TYPE in log.attributes:  # the span of our own records is where `score` was called
        return text(log.attributes, names.SCORED_SPAN)
    return None if is_root else log.span_id


def scores_on(span: Span) -> Iterator[Score]:
    """Yields the scores in a span's attributes and events."""
    for _, attributes in _said_on(span):
        if (score := score_of(attributes)) is not None:
            yield score


def evaluations_on(span: Span) -> Iterator[LogEvent]:
    """Yields the scores on a span as equivalent log events; none while the span is open."""
    for nth, (time_ns, attributes) in enumerate(_said_on(span)):
        if span.end_ns is None or score_of(attributes) is None:
            continue
        fields = {key: value for key, value in attributes.items() if key.startswith(_PREFIX) or key == names.SCORE_TYPE}
        fields |= {names.SCORED_SPAN: span.span_id, names.EVALUATION_ON_SPAN: nth}
        yield LogEvent(names.EVALUATION, time_ns, span.trace_id, span.span_id, fields, names.SCOPE, {})


def _said_on(span: Span) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yields the evaluations on a span: time in ns since 1970, and attributes."""
    if names.EVALUATION_NAME in span.attributes:
        yield span.end_ns or span.start_ns, span.attributes
    for event in span.events:
        if event.name == names.EVALUATION:
            yield event.time_ns, event.attributes

"""store → [project]: scores, as OpenTelemetry's evaluation events and attributes say them.

An evaluation may come as a log record (what `playhead.score` writes, too), as an event of a span, or as attributes of
a span.  One without a name, or with neither a number nor a label, is no score.  Pure.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from playhead.model import names
from playhead.model.event import ScoreRecorded
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.project.attributes import number, ref, text

BOOLEAN: Final = "boolean"
_PREFIX: Final = "gen_ai.evaluation."
_COMMENT_REF: Final = names.EVALUATION_EXPLANATION + names.REF_SUFFIX


@dataclass(frozen=True, slots=True)
class Score:
    """A score as an evaluation says it; the fields are those of `ScoreRecorded`."""

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
    """The score that these attributes say; None when they say none."""
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
    """The event of a log record that says a score. `is_root`: the record's span is the run's outermost one."""
    score = score_of(log.attributes)
    assert score is not None  # noqa: S101 - `log_kind` has looked
    return score.event(head, scored_span(log, is_root=is_root), log.scope)


def scored_span(log: LogEvent, *, is_root: bool) -> str | None:
    """The span that an evaluation is about; None: the run."""
    if names.SCORE_TYPE in log.attributes:  # our own records stand where the program was
        return text(log.attributes, names.SCORED_SPAN)
    return None if is_root else log.span_id


def scores_on(span: Span) -> Iterator[Score]:
    """The scores on a span: in its attributes, and in its events."""
    for _, attributes in _said_on(span):
        if (score := score_of(attributes)) is not None:
            yield score


def evaluations_on(span: Span) -> Iterator[LogEvent]:
    """The scores on a span as the log events that could stand in their place; none while it goes on."""
    for nth, (time_ns, attributes) in enumerate(_said_on(span)):
        if span.end_ns is None or score_of(attributes) is None:
            continue
        own = {key: value for key, value in attributes.items() if key.startswith(_PREFIX) or key == names.SCORE_TYPE}
        own |= {names.SCORED_SPAN: span.span_id, names.EVALUATION_ON_SPAN: nth}
        yield LogEvent(names.EVALUATION, time_ns, span.trace_id, span.span_id, own, names.SCOPE, {})


def _said_on(span: Span) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """When evaluations on a span were made, in ns since 1970, and the attributes that say them."""
    if names.EVALUATION_NAME in span.attributes:
        yield span.end_ns or span.start_ns, span.attributes
    for event in span.events:
        if event.name == names.EVALUATION:
            yield event.time_ns, event.attributes

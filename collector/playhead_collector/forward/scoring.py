"""worker → [scoring] → senders.  Converts evaluations into scores of Langfuse and annotations of Phoenix.  Pure.

Both keep one score per id, so sending a score again changes nothing.
"""

from dataclasses import dataclass
from typing import Any

from playhead.model import names
from playhead.model.span import LogEvent
from playhead.outbound.options import OutboundOptions
from playhead.projection.attributes import text
from playhead.projection.counted_run import RunCalls
from playhead.projection.scores import Score, score_of, scored_span
from playhead_collector.store.packing.span_pages import log_key


@dataclass(frozen=True, slots=True)
class OutboundScore:
    """A score of the span `span_id`. `is_of_run`: the whole run was scored, and this is its first span. `author`: the
    person or program that posted it; None for an evaluator."""

    id: str
    score: Score
    trace_id: str
    span_id: str
    is_of_run: bool
    author: str | None = None
    comment: str | None = None


def is_score(log: LogEvent) -> bool:
    """Whether the log event is an evaluation with a name and a value."""
    return log.name == names.EVALUATION and score_of(log.attributes) is not None


def is_on_span(log: LogEvent) -> bool:
    """Whether the evaluation is recorded on a span: backends that read recorded spans get it with the span."""
    return names.EVALUATION_ON_SPAN in log.attributes


def outbound_score(
    run: RunCalls, log: LogEvent, options: OutboundOptions, explanation: str | None = None
) -> OutboundScore | None:
    """Returns the score in the log event, masked and cut as `options` say; None if the scored run or call is not stored
    yet. `explanation` is the text of the score's content ref."""
    score, roots = score_of(log.attributes), run.tree.roots
    if score is None or not roots:
        return None
    about = scored_span(log, is_root=log.span_id == roots[0].span.span_id)
    node = roots[0] if about is None else run.tree.get(about)
    if node is None:
        return None
    author, comment = text(log.attributes, names.SCORE_AUTHOR), score.comment or explanation
    if comment is not None:
        comment = None if options.content == "ref" else str(options.redact(comment) if options.redact else comment)
        if comment is not None and options.content == "preview":
            comment = comment[: options.preview_characters]
    score_id = f"playhead-{log_key(log).hex()}-{node.span.span_id}"
    return OutboundScore(score_id, score, node.span.trace_id, node.span.span_id, about is None, author, comment)


def annotation(outgoing: OutboundScore) -> dict[str, Any]:
    """Returns the body of Phoenix's POST /v1/span_annotations."""
    value, label = outgoing.score.value, outgoing.score.label
    result: dict[str, Any] = {"explanation": outgoing.comment}
    if isinstance(value, bool):
        result |= {"score": float(value), "label": label or str(value).lower()}
    elif isinstance(value, str):
        result["label"] = value
    else:
        result |= {"score": value, "label": label}
    body = {
        "span_id": outgoing.span_id,
        "name": outgoing.score.name,
        "annotator_kind": "CODE" if outgoing.author is None else "HUMAN",
        "result": {key: value for key, value in result.items() if value is not None},
        "metadata": {} if outgoing.author is None else {"author": outgoing.author},
        "identifier": outgoing.id,
    }
    return {"data": [body]}


def langfuse_score(outgoing: OutboundScore) -> dict[str, Any]:
    """Returns the body of Langfuse's POST /api/public/scores."""
    value = outgoing.score.value
    kind = "CATEGORICAL" if isinstance(value, str) else "BOOLEAN" if isinstance(value, bool) else "NUMERIC"
    metadata = {"author": outgoing.author, "label": outgoing.score.label}
    body = {
        "id": outgoing.id,
        "traceId": outgoing.trace_id,
        "observationId": None if outgoing.is_of_run else outgoing.span_id,
        "name": outgoing.score.name,
        "value": int(value) if isinstance(value, bool) else value,
        "dataType": kind,
        "comment": outgoing.comment,
        "metadata": {key: value for key, value in metadata.items() if value is not None} or None,
    }
    return {key: value for key, value in body.items() if value is not None}

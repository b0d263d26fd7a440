"""[store] → forward: converts posted scores to the log events that OpenTelemetry defines for evaluations.  Pure.

So a score is forwarded like a log event, whether a program reported it or a person posted it.
"""

from typing import Any

from playhead.model import names
from playhead.model.span import LogEvent
from playhead_collector.store.ports.scores import StoredScore


def evaluation(score: StoredScore) -> LogEvent:
    """Returns the log event for a score. The same score gives the same log event."""
    value = score.value
    kind = "category" if isinstance(value, str) else "boolean" if isinstance(value, bool) else "number"
    fields: dict[str, Any] = {
        names.RUN_ID: score.run,
        names.EVALUATION_NAME: score.name,
        names.EVALUATION_VALUE: None if isinstance(value, str) else float(value),
        names.EVALUATION_LABEL: value if isinstance(value, str) else score.label,
        names.EVALUATION_EXPLANATION: score.comment,
        names.SCORE_TYPE: kind,
        names.SCORED_SPAN: score.span,
        names.SCORE_AUTHOR: score.author,
        names.SCORE_ID: score.id,
    }
    attributes = {key: value for key, value in fields.items() if value is not None}
    return LogEvent(names.EVALUATION, score.scored_ns, score.run, score.span, attributes, names.SCOPE, {})

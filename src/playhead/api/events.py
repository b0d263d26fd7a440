"""`playhead.event`, `metric` and `score`: facts that the program records itself.

Events and numbers belong to the innermost observed call; outside a run the functions do nothing, so a library may call
them. A score says how good a run was, or one of its calls; it is recorded as OpenTelemetry's event for evaluations, and
may also be given to a run that has ended.
"""

import math
import time
from typing import Any, Literal

from playhead.api.log_events import as_text, log_event, log_event_of
from playhead.calls import runtime
from playhead.calls.lifecycle import current_span
from playhead.calls.span import ObservedSpan
from playhead.kernel.guard import guarded, warn_once
from playhead.model import names
from playhead.model.ids import SPAN_ID, WHOLE_ID
from playhead.model.objects.plain_forms import safe_repr

Priority = Literal["critical", "normal"]


def event(name: str, data: object = None, *, priority: Priority = "normal") -> None:
    """Records an event of the program's own: `playhead.event("order_shipped", {"order": 17}, priority="critical")`.

    The event is in the journal when this returns, and becomes a `custom_event` of the run. `data` is any value; it is
    redacted and stored as content. Never raises; an unknown priority counts as "normal", with one warning.
    """
    if as_text(priority) not in ("critical", "normal"):
        text = safe_repr(priority)
        warn_once(f"priority {text}", f"event(priority={text}): expected critical or normal")
        priority = "normal"
    payloads = {} if data is None else {names.VALUE_REF: data}
    log_event(names.EVENT, {names.EVENT_NAME: as_text(name), names.EVENT_PRIORITY: priority}, payloads)


def metric(name: str, value: float, *, unit: str | None = None) -> None:
    """Records a number that the program measured: `playhead.metric("compression_ratio", 0.3)`.

    It becomes a `metric_recorded` event of the run. Never raises; a value that is not a finite number is not recorded,
    with one warning.
    """
    number = _finite(value)
    if number is None:
        about = f"metric({as_text(name)!r})"
        warn_once(about, f"{about} is not recorded: its value is no finite number")
        return
    attributes: dict[str, Any] = {names.METRIC_NAME: as_text(name), names.VALUE: number}
    if unit is not None:
        attributes[names.METRIC_UNIT] = as_text(unit)
    log_event(names.METRIC, attributes, {})


def _finite(value: Any) -> float | None:
    """Returns the value as a float (numpy scalars, too); None if it is not a finite number."""
    try:
        number = float(value) if not isinstance(value, str | bytes) else math.nan
    except Exception:  # noqa: BLE001 - it is the user's object, and may raise anything
        return None
    return number if math.isfinite(number) else None


# --- scores -----------------------------------------------------------------------------------------------------------


def score(
    name: str,
    value: float | bool | str,
    *,
    run: str | None = None,
    span: str | None = None,
    comment: str | None = None,
) -> None:
    """Records a score of the current run, or of `run` (its id): a number, a boolean, or the name of a category.

    `span`: id of the scored call (16 hex digits); None: the run as a whole. A later score of the same name takes the
    place of an earlier one; both are kept. The score is in the journal when this returns. Never raises: logs a warning
    for a score that cannot be recorded.
    """
    with guarded("record a score"):
        problem = _score_problem(name, value, run, span)
        if problem is not None:
            warn_once(f"score {problem}", f"playhead.score({safe_repr(name)}, ...) recorded nothing: {problem}")
            return
        here = current_span()
        if here is not None and run in (None, here.run.id):
            log_event_of(here, names.EVALUATION, _score_attributes(name, value, span, comment, here), {})
        elif run is not None:
            _record_score_of_run(run, _score_attributes(name, value, span, comment, None))
        else:
            warn_once("score outside", "playhead.score() recorded nothing: there is no run here, so say which: run=ID")


def _score_problem(name: object, value: object, run: object, span: object) -> str | None:
    """Returns why this score cannot be recorded; None if it can."""
    if not isinstance(name, str) or not name:
        return "its name has to be a text that is not empty"
    if not isinstance(value, bool | int | float | str) or value == "":
        return "its value has to be a number, a boolean, or the name of a category"
    if isinstance(value, int | float) and _finite(value) is None:
        return "its value has to be a finite number"
    if run is not None and not (isinstance(run, str) and WHOLE_ID.fullmatch(run)):
        return "`run` has to be a run's id, which has 32 hex digits"
    if span is not None and not (isinstance(span, str) and SPAN_ID.fullmatch(span)):
        return "`span` has to be a span's id, which has 16 hex digits"
    return None


def _score_attributes(
    name: str, value: float | bool | str, span: str | None, comment: str | None, here: ObservedSpan | None
) -> dict[str, Any]:
    """Returns the attributes of the event, with the comment redacted."""
    attributes: dict[str, Any] = {names.EVALUATION_NAME: name}
    if isinstance(value, str):
        attributes |= {names.SCORE_TYPE: "category", names.EVALUATION_LABEL: value}
    else:
        attributes |= {names.SCORE_TYPE: "boolean" if isinstance(value, bool) else "number"}
        attributes[names.EVALUATION_VALUE] = float(value)
    if span is not None:
        attributes[names.SCORED_SPAN] = span
    to = runtime.recorder()
    if comment is not None and to is not None:
        plain = comment if type(comment) is str else safe_repr(comment)
        if explanation := to.text(plain, here.redact if here is not None else None):
            attributes[names.EVALUATION_EXPLANATION] = explanation
    return attributes


def _record_score_of_run(run: str, attributes: dict[str, Any]) -> None:
    """Journals the score of a run that is not the current one: it may have ended, in this process or in another."""
    to = runtime.recorder()
    if to is None:
        return
    frames = to.frames()
    frames.new = {}
    to.log(names.EVALUATION, (time.time_ns(), None, None, {names.RUN_ID: run, **attributes}), frames)

"""`playhead.event` and `playhead.metric`: events and numbers that a program records itself.

An event belongs to the innermost observed call. Outside a run the functions do nothing, so a library may call them.
"""

import math
from typing import Any, Literal

from playhead.api.scope import as_text, log_event
from playhead.kernel.guard import warn_once
from playhead.model import names
from playhead.model.objects.plain_forms import safe_repr

Priority = Literal["critical", "normal"]


def event(name: str, data: Any = None, *, priority: Priority = "normal") -> None:
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

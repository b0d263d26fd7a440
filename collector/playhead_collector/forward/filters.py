"""settings → [filters] → worker.  Which runs a destination gets, and which values are masked for it.  Pure."""

import re
from collections.abc import Callable
from enum import Enum, auto
from typing import Any, cast

from playhead.model.objects.masking import Mask
from playhead.model.state import RUNNING
from playhead.projection.run_row import RunRow
from playhead_collector.destination_settings import DestinationSettings

_MASKED = "[masked]"
_MOST_DEPTH = 200


class ForwardDecision(Enum):
    """Decision about the new items of a run."""

    SEND = auto()
    WAIT = auto()
    """Undecided while the run goes on."""
    LEAVE_OUT = auto()


def has_filters(settings: DestinationSettings) -> bool:
    """Whether the decision depends on the run."""
    return bool(settings.agents or settings.statuses or settings.tags)


def decide(settings: DestinationSettings, row: RunRow | None) -> ForwardDecision:
    """Returns whether a destination gets a run, given the run's row (None: the run was deleted). All filters must
    match."""
    if not has_filters(settings):
        return ForwardDecision.SEND
    if row is None:
        return ForwardDecision.LEAVE_OUT
    going_on = row.status == RUNNING
    if settings.statuses and (going_on or row.status not in settings.statuses):
        return ForwardDecision.WAIT if going_on else ForwardDecision.LEAVE_OUT
    for wanted, recorded in ((settings.agents, row.agents), (settings.tags, row.tags)):
        if wanted and not set(wanted) & set(recorded):
            return ForwardDecision.WAIT if going_on else ForwardDecision.LEAVE_OUT
    return ForwardDecision.SEND


def redaction(settings: DestinationSettings) -> Callable[[Any], Any] | None:
    """Returns the function that masks values and messages for this destination; None if nothing is masked."""
    if not settings.mask_keys and settings.mask_pattern is None:
        return None
    return Redaction(Mask(settings.mask_keys), settings.mask_pattern)


class Redaction:
    """Masks values under certain keys, and matches of a pattern in texts."""

    def __init__(self, mask: Mask, pattern: "re.Pattern[str] | None") -> None:
        self._mask = mask
        self._pattern = pattern

    def __call__(self, value: Any) -> Any:
        """Returns the value with masks. Raises ValueError if it is nested too deeply."""
        return self._of(value, 0)

    def _of(self, value: Any, depth: int) -> Any:
        if depth > _MOST_DEPTH:
            raise ValueError("nested too deeply to be masked")
        if isinstance(value, str):
            return value if self._pattern is None else self._pattern.sub(_MASKED, value)
        if isinstance(value, dict):
            return {
                self._of(key, depth + 1): _MASKED if self._mask.hides(key, inner) else self._of(inner, depth + 1)
                for key, inner in cast(dict[Any, Any], value).items()
            }
        if isinstance(value, list | tuple):
            return [self._of(inner, depth + 1) for inner in cast("list[Any]", value)]
        if isinstance(value, bytes) and self._pattern is not None:
            return self._of_bytes(value)
        return value

    def _of_bytes(self, value: bytes) -> bytes:
        """Masks bytes that are UTF-8 text. Returns others (images, files) unchanged."""
        try:
            return self._of(value.decode(), 0).encode()
        except UnicodeDecodeError:
            return value

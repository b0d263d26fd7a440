"""settings → [filters] → worker.  Which runs a destination gets, and what is masked for it.  Pure."""

import re
from collections.abc import Callable
from enum import Enum, auto
from typing import Any, cast

from playhead.model.objects.masking import Mask
from playhead.model.state import RUNNING
from playhead.project.run_row import RunRow
from playhead_collector.destination_settings import DestinationSettings

_MASKED = "[masked]"
_MOST_DEPTH = 200


class ForwardDecision(Enum):
    """What becomes of what arrived of a run."""

    SEND = auto()
    WAIT = auto()
    """It is not known yet: the run goes on."""
    LEAVE_OUT = auto()


def has_filters(settings: DestinationSettings) -> bool:
    """Whether the run has to be looked at."""
    return bool(settings.agents or settings.statuses or settings.tags)


def decide(settings: DestinationSettings, row: RunRow | None) -> ForwardDecision:
    """Whether a destination gets a run, given the run's row. All filters have to hold; None: the run was deleted."""
    if not has_filters(settings):
        return ForwardDecision.SEND
    if row is None:
        return ForwardDecision.LEAVE_OUT
    going_on = row.status == RUNNING
    if settings.statuses and (going_on or row.status not in settings.statuses):
        return ForwardDecision.WAIT if going_on else ForwardDecision.LEAVE_OUT
    for wanted, found in ((settings.agents, row.agents), (settings.tags, row.tags)):
        if wanted and not set(wanted) & set(found):
            return ForwardDecision.WAIT if going_on else ForwardDecision.LEAVE_OUT
    return ForwardDecision.SEND


def redaction(settings: DestinationSettings) -> Callable[[Any], Any] | None:
    """The function that masks values and messages for this destination; None: nothing is masked."""
    if not settings.mask_keys and settings.mask_pattern is None:
        return None
    return Redaction(Mask(settings.mask_keys), settings.mask_pattern)


class Redaction:
    """Masks what stands under certain keys, and what a pattern finds in texts."""

    def __init__(self, mask: Mask, pattern: "re.Pattern[str] | None") -> None:
        self._mask = mask
        self._pattern = pattern

    def __call__(self, value: Any) -> Any:
        """The value without what is to be masked.  Raises ValueError for one that is nested too deeply."""
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
        """Bytes that are text are masked as that; others are pictures and files, in which a pattern finds nothing."""
        try:
            return self._of(value.decode(), 0).encode()
        except UnicodeDecodeError:
            return value

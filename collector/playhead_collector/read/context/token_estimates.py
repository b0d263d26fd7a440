"""[read]: estimates how many tokens a text has if no provider reported it.

The plain estimate is proportional to the length in bytes. It is multiplied by a factor from recorded calls: the number
that the provider reported, divided by the plain estimate of the same input. Pure.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from playhead.model.message import Message
from playhead_collector.read.values import text_of

REPORTED, CALIBRATED, ESTIMATED = "reported", "calibrated", "estimated"
RUN, PROJECT = "run", "project"
# English text has four bytes to a token; each message is framed by about four tokens.
_BYTES_PER_TOKEN, _FRAME = 4, 4
# The tokens of an image depend on its size in pixels, not in bytes. This is for 1,024 x 1,024 pixels.
_IMAGE = 765


@dataclass(frozen=True, slots=True)
class Sample:
    """The reported input tokens of a call, and the plain estimate of the same input."""

    reported: int
    estimate: float


@dataclass(frozen=True, slots=True)
class Scale:
    """The factor for plain estimates. Without samples it is 1, and its basis is `estimated`."""

    factor: float = 1.0
    calls: int = 0
    scope: str = PROJECT

    @property
    def basis(self) -> str:
        """The basis of scaled numbers: `calibrated`, or `estimated` without samples."""
        return CALIBRATED if self.calls else ESTIMATED

    def tokens(self, estimate: float) -> int:
        """Scales a plain estimate to a number of tokens."""
        return round(self.factor * estimate)


def calibrate(samples: Sequence[Sample], scope: str) -> Scale:
    """Returns the factor that fits all samples together."""
    usable = [sample for sample in samples if sample.reported > 0 and sample.estimate > 0]
    if not usable:
        return Scale()
    factor = sum(sample.reported for sample in usable) / sum(sample.estimate for sample in usable)
    return Scale(round(factor, 4), len(usable), scope)


def estimate_message(message: Message | None) -> float:
    """Returns the plain estimate for a message and its frame tokens; 0 for a message that is not stored."""
    return 0.0 if message is None else _FRAME + sum(map(_part, message["parts"]))


def estimate_value(value: Any) -> float:
    """Returns the plain estimate for system instructions or tool definitions."""
    return 0.0 if value is None else _text(text_of(value))


def estimate_all(messages: Iterable[Message | None], *values: Any) -> float:
    """Returns the plain estimate for a whole context."""
    return sum(map(estimate_message, messages)) + sum(map(estimate_value, values))


def _part(part: dict[str, Any]) -> float:
    kind = part.get("type")
    if kind in ("blob", "file", "uri"):
        return _IMAGE
    if kind == "tool_call":
        return _text(f"{part.get('name')}{text_of(part.get('arguments') or '')}")
    value = part.get("response", part.get("content"))
    return 0.0 if value is None else _text(text_of(value))


def _text(text: str) -> float:
    return len(text.encode("utf-8", "replace")) / _BYTES_PER_TOKEN

"""What to do where a record does not simply answer, and what came of replaying."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from playhead.replay.calls import Outcome, RecordedCall
from playhead.replay.divergence import Divergence

OnDivergence = Literal["live", "raise"] | Callable[[Divergence], Any]
OnDoubt = Literal["rerun", "raise"] | Callable[[RecordedCall], Any]
Tools = Literal["live", "deny"] | Callable[[str, Any], Any]


@dataclass(slots=True)
class Policy:
    """What to do where the record does not simply answer."""

    on_divergence: OnDivergence = "live"
    in_doubt: OnDoubt = "raise"
    tools: Tools = "live"
    outcomes: dict[str, Any] = field(default_factory=dict[str, Any])
    """Span id → an outcome that stands in for what is not known, or for what was."""


@dataclass(slots=True)
class Told:
    """What happened while replaying, for the report."""

    answered: int = 0
    live: int = 0
    in_doubt: list[str] = field(default_factory=list[str])
    divergences: list[Divergence] = field(default_factory=list[Divergence])
    changed_code: list[str] = field(default_factory=list[str])
    """Functions that are not what they were, and whose recorded results were given all the same."""


def in_doubt_sentence(call: RecordedCall, arguments: Any, why: str | None) -> str:
    """For the person who has to decide; `why`: it is known to have ended, but cannot be given back."""
    if why is not None:
        what = f"{call.place} was executed, and what came of it cannot be given back ({why})"
    elif call.span.end_ns is not None:
        what = f"{call.place} was cancelled, and nobody knows whether it took effect"
    else:
        what = f"{call.place} had begun when the process died, and nobody knows whether it took effect"
    return (
        f"{what}; its arguments: {arguments!r}. Look, and then say what came of it (playhead resume --outcome "
        f"{call.span.span_id}=RESULT), or let it run again (in_doubt='rerun', or @observe(idempotent=True) if running "
        "it twice does no harm)"
    )


def is_open(call: RecordedCall) -> bool:
    """Whether the call has begun and never ended: it can go on under its own identity."""
    return call.outcome is Outcome.IN_DOUBT and call.span.end_ns is None

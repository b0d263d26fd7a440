"""[read]: how long a run is kept, as its answer says."""

from typing import TYPE_CHECKING, Final

from playhead.model.times import rfc3339
from playhead.projection.run_row import RunRow
from playhead.wire.operations.retention import Pin, TierName
from playhead.wire.operations.runs import RunRetention

if TYPE_CHECKING:
    from playhead_collector.store.ports.tiers import StoredPin

TIER_NAMES: Final[tuple[TierName, ...]] = ("hot", "warm", "cold", "archive", "deleted")
"""Names of tiers, by their numbers in rows."""
_COLD: Final = TIER_NAMES.index("cold")


def tier_of(row: RunRow) -> TierName:
    """Returns the tier that a run is in."""
    return TIER_NAMES[row.tier]


def is_thinned(row: RunRow) -> bool:
    """Returns whether something of the run's record may be gone by a rule."""
    return row.tier >= _COLD


def why_thinned(row: RunRow) -> str:
    """Returns a sentence on what a rule did to a thinned run."""
    when = "" if row.thinned_ns is None else f" on {rfc3339(row.thinned_ns)[:10]}"
    return f"run {row.run} was thinned{when} by retention rule {row.thinned_rule!r} (it is {tier_of(row)})"


def pin_answer(run: str, pin: "StoredPin") -> Pin:
    """Converts a pin to an answer."""
    return {"run": run, "reason": pin.reason, "key": pin.api_key, "time": rfc3339(pin.pinned_ns)}


def with_next(
    answer: RunRetention, run: str, step: "tuple[int, int, str] | None", pin: "StoredPin | None"
) -> RunRetention:
    """Adds what happens next, as (number of the tier, ns since 1970, rule), and the pin."""
    more = answer.copy()
    if step is not None:
        tier, at_ns, rule = step
        more["next_tier"], more["next_time"], more["next_rule"] = TIER_NAMES[tier], rfc3339(at_ns), rule
    more["pin"] = None if pin is None else pin_answer(run, pin)
    return more


def retention_answer(row: RunRow) -> RunRetention:
    """Returns what a row says: without the next step and the pin, which the journal does not know (`with_next`)."""
    return {
        "tier": tier_of(row),
        "thinned": None if row.thinned_ns is None else rfc3339(row.thinned_ns),
        "rule": row.thinned_rule,
        "next_tier": None,
        "next_time": None,
        "next_rule": None,
        "pin": None,
    }

"""store → [project]: sealed runs.

A run that has ended and received no data for a while is sealed: the seqs of its events never change again.  Events
of data that arrives later are appended and marked `late`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from playhead.model.event import MessageAdded, RunEvent, RunResumed, RunStarted, UnknownEvent


def keep_sealed_order(sealed: Sequence[RunEvent], events: Sequence[RunEvent]) -> list[RunEvent]:
    """All events of a sealed run: the sealed ones with their seqs, matched by id, then the others in their order."""
    now = {event.id: event for event in events}
    ordered = [_renumbered(now.get(old.id, old), old.seq, old.late) for old in sealed]
    sealed_ids = {old.id for old in sealed}
    # A message that a late call added may have been attributed to a later call when the run was sealed. It is in the
    # sealed events already, under another id.
    renamed = Counter(old.message for old in sealed if isinstance(old, MessageAdded) and old.id not in now)
    for event in events:
        if event.id in sealed_ids:
            continue
        if isinstance(event, MessageAdded) and renamed[event.message] > 0:
            renamed[event.message] -= 1
            continue
        ordered.append(_renumbered(event, ordered[-1].seq + 1 if ordered else event.seq, late=True))
    return ordered


def is_resumed(sealed: Sequence[RunEvent], events: Sequence[RunEvent]) -> bool:
    """Whether a sealed run was resumed: a later attempt follows the sealed events, all of which keep their position and
    are not `late`."""
    count = len(sealed)
    following = events[count] if len(events) > count else None
    return (
        isinstance(following, RunResumed)
        and following.attempt > latest_attempt(sealed)
        and all(old.id == event.id and not old.late for old, event in zip(sealed, events, strict=False))
    )


def latest_attempt(events: Iterable[RunEvent]) -> int:
    """The highest attempt number in these events."""
    return max((event.attempt for event in events if isinstance(event, RunStarted | RunResumed)), default=0)


def _renumbered(event: RunEvent, seq: int, late: bool) -> RunEvent:
    if event.seq == seq and event.late == late:
        return event
    if isinstance(event, UnknownEvent):  # its JSON is kept as it came, except for seq and `late`
        original = {**event.original, "seq": seq} | ({"late": True} if late else {})
        return replace(event, seq=seq, late=late, original=original)
    return replace(event, seq=seq, late=late)

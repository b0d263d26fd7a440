"""Compares the events of a run before and after a projection.  Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from playhead.model.event import RunEvent


@dataclass(frozen=True, slots=True)
class EventsDifference:
    """The difference that a projection made to a run's events.  See `RunChange` in `store/ports/changes.py`."""

    first: int
    last: int
    known: int
    altered: tuple[int, ...] = ()
    was: tuple[int, ...] | None = None

    @property
    def changes_events(self) -> bool:
        """Whether there is any difference."""
        return self.last > self.known or bool(self.altered) or self.was is not None

    @property
    def first_changed(self) -> int:
        """The first seq whose event is new or changed."""
        return min((self.first, *self.altered))


def grown(known: int, new: int, altered: Iterable[RunEvent]) -> EventsDifference:
    """Returns the difference of a run that had `known` events and got `new` more at the end, while events in `altered`
    got other data."""
    return EventsDifference(known + 1, known + new, known, tuple(sorted(event.seq for event in altered)))


def difference(
    before: Mapping[int, RunEvent], known: int, after: Sequence[RunEvent], shared: int, shared_before: int
) -> EventsDifference:
    """Returns the difference of a run that had `known` events before. Its own events are now `after`, which follow the
    `shared` events of its parent. `shared_before`: the number of shared events before.

    `before` has the earlier events by seq. Events that are known to be unchanged may be missing in it.
    """
    last = shared + len(after)
    moved = _first_moved(before, known, after, shared)
    if shared != shared_before:
        moved = min(moved, shared + 1, shared_before + 1)
    if moved > min(known, last) and last >= known:
        altered = tuple(seq for seq, old in before.items() if seq <= last and old != after[seq - shared - 1])
        return EventsDifference(known + 1, last, known, tuple(sorted(altered)))
    seqs = {event.id: seq for seq, event in before.items()}

    def former(seq: int) -> int:
        if seq <= shared:
            return seq if seq <= shared_before else 0
        return (
            seq
            if seq <= known and seq > shared_before and seq not in before
            else seqs.get(after[seq - shared - 1].id, 0)
        )

    was = tuple(former(seq) for seq in range(moved, last + 1))
    altered = [seq for seq in before if shared < seq < moved and before[seq] != after[seq - shared - 1]]
    altered += [
        seq
        for seq, old in enumerate(was, moved)
        if old in before and seq > shared and replace(before[old], seq=seq) != after[seq - shared - 1]
    ]
    return EventsDifference(moved, last, known, tuple(sorted(altered)), was)


def _first_moved(before: Mapping[int, RunEvent], known: int, after: Sequence[RunEvent], shared: int) -> int:
    last = shared + len(after)
    for seq in sorted(before):
        if seq > last or seq <= shared or before[seq].id != after[seq - shared - 1].id:
            return seq
    return min(known, last) + 1

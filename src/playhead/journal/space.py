"""Keeps the journal within its limit: the oldest acknowledged segments go first, whoever's they are.

What is not acknowledged is never deleted here.
"""

from contextlib import suppress
from pathlib import Path

from playhead.journal.lane import LaneReader, adopt, lanes


def journal_bytes(journal_dir: Path) -> int:
    """What the journal takes on disk."""
    readers = [LaneReader(path) for path in lanes(journal_dir)]
    return sum(reader.segment_bytes(number) for reader in readers for number in reader.segments())


def reclaim(journal_dir: Path, own: Path, max_bytes: int) -> int:
    """Deletes acknowledged segments, oldest first, until the journal fits; returns what it takes then.

    Of its own lane only what lies before the segment being shipped; of other lanes only those whose owner is dead.
    """
    total = journal_bytes(journal_dir)
    for path in lanes(journal_dir):
        if total <= max_bytes:
            break
        with suppress(OSError):  # what cannot be deleted now, e.g. because another process does so too, stays
            total -= (_shrink_own if path == own else _shrink_dead)(path, total - max_bytes)
    return total


def _shrink_own(path: Path, excess: int) -> int:
    reader, freed = LaneReader(path), 0
    acked = reader.acked()
    for number in reader.segments():
        if number >= acked.segment or freed >= excess:
            break
        freed += reader.segment_bytes(number)
        reader.delete_segment(number)
    return freed


def _shrink_dead(path: Path, excess: int) -> int:
    lock = adopt(path)
    if lock is None:
        return 0
    try:
        reader = LaneReader(path)
        numbers = reader.segments()
        acked = reader.acked()
        size = sum(map(reader.segment_bytes, numbers))
        if not numbers or (acked.segment >= numbers[-1] and acked.offset >= reader.segment_bytes(numbers[-1])):
            reader.delete()
            return size
        return _shrink_own(path, excess)
    finally:
        lock.close()

"""recorder → [memory]: a journal that keeps its frames in memory, for tests of programs.

Nothing is written to a disk, nothing is delivered, and no thread is started.
"""

from pathlib import Path

from playhead.journal.journal import Journal


class MemoryJournal(Journal):
    """Keeps appended frames as long as the object exists.  Safe for threads, as lists are."""

    def __init__(self) -> None:
        super().__init__(
            Path(),
            durability="process",
            max_bytes=1,
            resource={},
            on_quota_change=_nothing_to_do,
            on_failed_write=_nothing,
        )
        self._kept: list[bytes] = []

    def append(self, frames: bytes) -> bool:
        """Keeps these frames. Always True."""
        self._kept.append(frames)
        return True

    def appended_since(self, position: int) -> tuple[bytes, int]:
        """All frames that were appended after this position (0: all), and the position after them."""
        pieces = self._kept[position:]
        return b"".join(pieces), position + len(pieces)

    def flush(self) -> bool:
        """Does nothing, since nothing waits to be written. Always True."""
        return True

    def open(self) -> None:
        """Does nothing: there is no lane, so nothing can be delivered."""

    def close(self) -> None:
        """Does nothing: appended frames stay readable."""


def _nothing_to_do(room: bool) -> None:
    """Does nothing: there is always room."""


def _nothing() -> None:
    """Does nothing: no write fails."""

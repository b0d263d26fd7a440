"""[journal]: positions in a lane, and the files that keep them."""

import os
from dataclasses import dataclass
from pathlib import Path

from playhead.journal.files import open_private


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A position in a lane: segment number, and offset in bytes."""

    segment: int
    offset: int


def position_in(path: Path) -> Position:
    """The position stored in the file; the beginning of a lane if there is none.  Raises OSError."""
    try:
        segment, offset = path.read_text(errors="replace").split()
        return Position(int(segment), int(offset))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return Position(1, 0)


def note_position(path: Path, position: Position, *, is_there: bool = False) -> None:
    """Stores the position in the file, in one small atomic write. `is_there`: do not create it. Raises OSError."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC) if is_there else open_private(path, os.O_WRONLY)
    try:
        os.pwrite(fd, f"{position.segment:020d} {position.offset:020d}\n".encode(), 0)
    finally:
        os.close(fd)

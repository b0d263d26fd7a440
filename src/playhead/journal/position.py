"""[journal]: positions in a lane, and the files that keep them."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A position in a lane: segment number, and offset in bytes."""

    segment: int
    offset: int


def position_in(path: Path) -> Position:
    """The position in the file; the beginning of a lane where there is none.  Raises OSError."""
    try:
        segment, offset = path.read_text(errors="replace").split()
        return Position(int(segment), int(offset))
    except (FileNotFoundError, ValueError):
        return Position(1, 0)

"""Overwrites records in the files of a lane, so that their bytes are gone and all others stay where they are.

A frame is replaced by a filler of the same size: an end of no segment, which every reader passes over. Positions in the
lane (what is acknowledged, what the index knows) stay right. The writer of a lane only appends, so that a living one is
not disturbed.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from playhead.journal.frame import END, HEADER_BYTES, frame

# No segment has this number, nor the one after it.
_OF_NO_SEGMENT = b"[-2,0]"
SMALLEST_PAYLOAD_BYTES = len(_OF_NO_SEGMENT)


def filler(payload_bytes: int) -> bytes:
    """Returns a frame with a payload of this size, which readers pass over. Raises ValueError for a size below
    SMALLEST_PAYLOAD_BYTES."""
    if payload_bytes < SMALLEST_PAYLOAD_BYTES:
        raise ValueError(f"a payload of {payload_bytes} bytes is too small: it has {SMALLEST_PAYLOAD_BYTES} at least")
    return frame(END, _OF_NO_SEGMENT.ljust(payload_bytes))


def overwrite(segment: Path, payloads: Iterable[tuple[int, int]]) -> None:
    """Overwrites frames of a segment. `payloads`: of each, the offset after it and the bytes of its payload. Durable
    once this returns. Raises OSError."""
    fd = os.open(segment, os.O_WRONLY)
    try:
        for end, size in payloads:
            os.pwrite(fd, filler(size), end - size - HEADER_BYTES)
        os.fsync(fd)
    finally:
        os.close(fd)

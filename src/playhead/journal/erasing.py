"""Overwrites records in the files of a lane, so that their bytes are gone and all others stay where they are.

A frame is replaced by a filler of the same size: an end of no segment, which every reader passes over. Positions in the
lane (what is acknowledged, what the index knows) stay right. The writer of a lane only appends, so that a living one is
not disturbed.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from playhead.journal.frame import END, frame, read_thread, thread_frame

# No segment has this number, nor the one after it.
_OF_NO_SEGMENT = b"[-2,0]"
SMALLEST_PAYLOAD_BYTES = len(_OF_NO_SEGMENT)


def filler(payload_bytes: int) -> bytes:
    """Returns a frame with a payload of this size, which readers pass over. Raises ValueError for a size below
    SMALLEST_PAYLOAD_BYTES."""
    if payload_bytes < SMALLEST_PAYLOAD_BYTES:
        raise ValueError(f"a payload of {payload_bytes} bytes is too small: it has {SMALLEST_PAYLOAD_BYTES} at least")
    return frame(END, _OF_NO_SEGMENT.ljust(payload_bytes))


def shortened(thread: bytes, kept: int) -> bytes:
    """Returns frames of the size of a thread's frame with this payload: the thread's first `kept` messages alone, and a
    filler. There has to be one message more at least."""
    extension = read_thread(thread)
    shorter = thread_frame(extension.parent, extension.messages[:kept])
    return shorter + filler(len(thread) - len(shorter))


def overwrite(segment: Path, replacements: Iterable[tuple[int, bytes]]) -> None:
    """Overwrites frames of a segment: each offset with frames of the size of what is there. Durable once this returns.
    Raises OSError."""
    fd = os.open(segment, os.O_WRONLY)
    try:
        for offset, frames in replacements:
            os.pwrite(fd, frames, offset)
        os.fsync(fd)
    finally:
        os.close(fd)

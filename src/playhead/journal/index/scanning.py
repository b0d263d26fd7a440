"""[index]: the frames of a segment → rows of the index."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Any

import orjson

from playhead.journal.frame import (
    ANNOUNCEMENT,
    CONTENT,
    HEADER_BYTES,
    LOG,
    RESOURCE,
    SPAN,
    THREAD,
    is_cut_frame,
    read_thread,
    readable_frames,
)
from playhead.model import names
from playhead.model.thread import extend

START_BYTES = 16
# Offset of a frame, and size of its payload.
SPOT = Struct(">II")
_TRACE = re.compile("[0-9a-f]{32}")
_RUN = re.compile(rb'"%s":"([0-9a-f]{32})"' % re.escape(names.RUN_ID.encode()))
_FORK = re.compile(rb'"%s":"([0-9a-f]{32})"' % re.escape(names.FORK_OF.encode()))
NO_RESOURCE = -1


@dataclass(slots=True)
class Scanned:
    """Contents of a part of a segment.  Offsets are those of frames, from the beginning of the file."""

    covered: int
    """Where the last whole frame ends."""
    resource: int
    """Offset of the resource that applies after `covered`; NO_RESOURCE if there is none."""
    damaged: int = 0
    """Bytes before `covered` that are no frames."""
    damaged_end: int = 0
    """Damaged bytes after `covered`: neither a frame nor the incomplete frame of a crash or a running append."""
    runs: dict[tuple[bytes, int], list[bytes]] = field(default_factory=dict[tuple[bytes, int], list[bytes]])
    """By run and resource: a `SPOT` for each record."""
    contents: dict[bytes, tuple[int, int]] = field(default_factory=dict[bytes, tuple[int, int]])
    nodes: dict[bytes, tuple[int, int]] = field(default_factory=dict[bytes, tuple[int, int]])
    forks: set[tuple[bytes, bytes]] = field(default_factory=set[tuple[bytes, bytes]])
    """Pairs of a run and the run it was forked from."""


def scan(data: bytes, start: int, resource: int) -> Scanned:
    """Scans `data`, a segment's bytes from offset `start` on; `resource`: offset of the resource that applies there."""
    scanned = Scanned(start, resource)
    last = 0
    for kind, payload, end in readable_frames(data):
        offset = end - len(payload) - HEADER_BYTES
        scanned.damaged += offset - last
        last = end
        _take(scanned, kind, payload, start + offset)
    rest = data[last:]
    scanned.covered = start + last
    scanned.damaged_end = len(rest) if rest and not is_cut_frame(rest) else 0
    return scanned


def _take(scanned: Scanned, kind: bytes, payload: bytes, offset: int) -> None:
    if kind == CONTENT:
        scanned.contents[payload[:START_BYTES]] = offset, len(payload)
    elif kind == THREAD:
        extension = read_thread(payload)
        for node in extend(extension.messages, extension.parent):
            scanned.nodes[node.ref.digest[:START_BYTES]] = offset, len(payload)
    elif kind == RESOURCE:
        scanned.resource = offset
    elif kind in (SPAN, ANNOUNCEMENT, LOG) and (run := run_in(kind, payload)) is not None:
        scanned.runs.setdefault((run, scanned.resource), []).append(SPOT.pack(offset, len(payload)))
        for parent in _FORK.findall(payload):
            scanned.forks.add((run, bytes.fromhex(parent.decode())))


def run_in(kind: bytes, payload: bytes) -> bytes | None:
    """The id of a record's run, 16 bytes; the trace id if the record names no run.  None if it has neither."""
    named = _RUN.search(payload)
    if named is not None:
        return bytes.fromhex(named[1].decode())
    try:
        record: Any = orjson.loads(payload)
        trace = record[2] if kind == LOG else record[0]
    except (ValueError, IndexError, TypeError, KeyError):
        return None
    return bytes.fromhex(trace) if isinstance(trace, str) and _TRACE.fullmatch(trace) else None


Spots = Mapping[bytes, tuple[int, int]]

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
    found = Scanned(start, resource)
    last = 0
    for kind, payload, end in readable_frames(data):
        at = end - len(payload) - HEADER_BYTES
        found.damaged += at - last
        last = end
        _take(found, kind, payload, start + at)
    rest = data[last:]
    found.covered = start + last
    found.damaged_end = len(rest) if rest and not is_cut_frame(rest) else 0
    return found


def _take(found: Scanned, kind: bytes, payload: bytes, at: int) -> None:
    if kind == CONTENT:
        found.contents[payload[:START_BYTES]] = at, len(payload)
    elif kind == THREAD:
        extension = read_thread(payload)
        for node in extend(extension.messages, extension.parent):
            found.nodes[node.ref.digest[:START_BYTES]] = at, len(payload)
    elif kind == RESOURCE:
        found.resource = at
    elif kind in (SPAN, ANNOUNCEMENT, LOG) and (run := run_in(kind, payload)) is not None:
        found.runs.setdefault((run, found.resource), []).append(SPOT.pack(at, len(payload)))
        for parent in _FORK.findall(payload):
            found.forks.add((run, bytes.fromhex(parent.decode())))


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

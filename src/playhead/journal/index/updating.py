"""lane → [updating] → reading.  Brings the index up to date with the journal's folder.

Scans the frames of segments into rows of the index (`scan`), adds these rows, and removes those of deleted segments
(`IndexUpdate`), since the index, too, holds recorded content.
"""

import os
import re
import sqlite3
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
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
from playhead.journal.index import database
from playhead.journal.lane import LaneReader, entries_of, is_of_newer_format, is_owned
from playhead.model import names
from playhead.model.ids import WHOLE_ID
from playhead.model.thread import extend

# --- frames of a segment → rows ---------------------------------------------------------------------------------------


START_BYTES = 16
# Offset of a frame, and size of its payload.
SPOT = Struct(">II")
_RUN_ID = re.compile(rb'"%s":"([0-9a-f]{32})"' % re.escape(names.RUN_ID.encode()))
_FORK_OF = re.compile(rb'"%s":"([0-9a-f]{32})"' % re.escape(names.FORK_OF.encode()))
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
        _take_frame(scanned, kind, payload, start + offset)
    rest = data[last:]
    scanned.covered = start + last
    scanned.damaged_end = len(rest) if rest and not is_cut_frame(rest) else 0
    return scanned


def _take_frame(scanned: Scanned, kind: bytes, payload: bytes, offset: int) -> None:
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
        for parent in _FORK_OF.findall(payload):
            scanned.forks.add((run, bytes.fromhex(parent.decode())))


def run_in(kind: bytes, payload: bytes) -> bytes | None:
    """The id of a record's run, 16 bytes; the trace id if the record names no run.  None if it has neither."""
    named = _RUN_ID.search(payload)
    if named is not None:
        return bytes.fromhex(named[1].decode())
    try:
        record: Any = orjson.loads(payload)
        trace = record[2] if kind == LOG else record[0]
    except (ValueError, IndexError, TypeError, KeyError):
        return None
    return bytes.fromhex(trace) if isinstance(trace, str) and WHOLE_ID.fullmatch(trace) else None


# --- updating ---------------------------------------------------------------------------------------------------------


Spots = Mapping[bytes, tuple[int, int]]


# File systems round times of changes, some to 2 s: two changes within that time cannot be told apart.
_SETTLED_NS = 3_000_000_000


# Suffix to the path of the lane, size in bytes (None: not compared), and time of change in ns.
_KnownFile = tuple[str, int | None, int]


@dataclass(frozen=True, slots=True)
class _KnownSegment:
    id: int
    size: int
    changed: int
    covered: int
    resource: int
    damaged: int


@contextmanager
def transaction(db: sqlite3.Connection) -> Generator[None]:
    """Commits all writes of the block, or none if it raises.  Raises sqlite3.Error."""
    db.execute("begin immediate")
    try:
        yield
        db.execute("commit")
    except BaseException:
        with suppress(sqlite3.Error):
            db.execute("rollback")
        raise


class IndexUpdate:
    """One update of an index.  `bytes_read`: how much of the segments had to be read for it."""

    def __init__(self, db: sqlite3.Connection, journal_dir: Path) -> None:
        self._db = db
        self._journal_dir = journal_dir
        self.bytes_read = 0

    def run(self) -> None:
        """Adds what was appended since the last update, and removes what was deleted.

        Raises OSError when the folder cannot be read, and sqlite3.Error.
        """
        if self._changed():
            with transaction(self._db):
                for name, path in self._changed():  # again: another process may have done it meanwhile
                    self._update_lane(name, path)

    def prune(self) -> None:
        """Only removes what was deleted.  Raises OSError and sqlite3.Error."""
        with transaction(self._db):
            for name, path in self._changed():
                lane = self._lane(name)
                if lane is not None:
                    self._forget_missing(lane, LaneReader(path))

    def _lane(self, name: str) -> int | None:
        row = self._db.execute("select id from lane where name = ?", (name,)).fetchone()
        return None if row is None else row[0]

    def _changed(self) -> list[tuple[str, Path]]:
        """Names and paths of the lanes that may have changed since the last update, deleted ones included."""
        final_lanes = self._final_lanes()
        others = {name for (name,) in self._db.execute("select name from lane where not is_final")}
        changed_lanes: list[tuple[str, Path]] = []
        folder = os.fspath(self._journal_dir)
        for name in entries_of(self._journal_dir):
            files = final_lanes.pop(name, None)
            path = f"{folder}/{name}"
            if files is not None:
                if not _is_unchanged(path, files):
                    changed_lanes.append((name, Path(path)))
            elif name in others or (name != database.FOLDER and _is_lane(path)):
                others.discard(name)
                changed_lanes.append((name, Path(path)))
        return [*changed_lanes, *((name, self._journal_dir / name) for name in (*final_lanes, *others))]

    def _final_lanes(self) -> dict[str, list[_KnownFile]]:
        """The folder and the segments of each lane that has ended, by the lane's name."""
        query = (
            "select name, lane.changed, number, size, segment.changed from lane left join segment "
            "on segment.lane = lane.id where is_final"
        )
        lanes: dict[str, list[_KnownFile]] = {}
        for name, folder_changed, number, size, changed in self._db.execute(query):
            files = lanes.get(name)
            if files is None:
                files = lanes[name] = [("", None, folder_changed)]
            if number is not None:
                files.append((f"/{number:08d}.segment", size, changed))
        return lanes

    def _update_lane(self, name: str, path: Path) -> None:
        reader = LaneReader(path)
        lane = self._lane(name)
        try:
            changed = path.stat().st_mtime_ns
        except FileNotFoundError:
            if lane is not None:
                self._forget_missing(lane, reader)
                self._db.execute("delete from lane where id = ?", (lane,))
            return
        except PermissionError:
            return  # another user's
        # Checked before the segments are read: an owner that has ended writes no more.
        is_final = not _may_be_owned(path) and time.time_ns() - changed > _SETTLED_NS
        if lane is None:
            query = "insert into lane (name, changed, is_final) values (?, 0, 0)"
            lane = self._db.execute(query, (name,)).lastrowid or 0
        self._forget_missing(lane, reader)
        for number in reader.segments():
            self._update_segment(lane, number, reader.segment_path(number))
        for end in reader.lost_ends():
            self._db.execute(
                "update segment set damaged_end = ? where lane = ? and number = ?",
                (end.lost_bytes, lane, end.at.segment),
            )
        self._db.execute("update lane set changed = ?, is_final = ? where id = ?", (changed, is_final, lane))

    def _forget_missing(self, lane: int, reader: LaneReader) -> None:
        there = set(reader.segments())
        rows = self._db.execute("select id, number from segment where lane = ?", (lane,)).fetchall()
        for segment, number in rows:
            if number not in there:
                database.forget_segment(self._db, segment)
                self._db.execute("delete from segment where id = ?", (segment,))

    def _update_segment(self, lane: int, number: int, path: Path) -> None:
        known_segment = self._segment(lane, number)
        try:
            with path.open("rb") as file:
                state = os.fstat(file.fileno())
                size, changed = state.st_size, state.st_mtime_ns
                if known_segment is not None and (size, changed) == (known_segment.size, known_segment.changed):
                    return
                if known_segment is not None and (size < known_segment.covered or size == known_segment.size):
                    database.forget_segment(self._db, known_segment.id)  # another file, or written to in the middle
                    known_segment = _KnownSegment(known_segment.id, 0, 0, 0, NO_RESOURCE, 0)
                start = 0 if known_segment is None else known_segment.covered
                file.seek(start)
                data = file.read()
        except FileNotFoundError:  # deleted meanwhile, to free space
            return
        self.bytes_read += len(data)
        scanned = scan(data, start, NO_RESOURCE if known_segment is None else known_segment.resource)
        damaged = scanned.damaged + (0 if known_segment is None else known_segment.damaged)
        values = (size, changed, scanned.covered, scanned.resource, damaged, scanned.damaged_end)
        row = self._db.execute(
            "insert into segment (lane, number, size, changed, covered, resource, damaged, damaged_end) "
            "values (?, ?, ?, ?, ?, ?, ?, ?) on conflict (lane, number) do update set size = excluded.size, "
            "changed = excluded.changed, covered = excluded.covered, resource = excluded.resource, "
            "damaged = excluded.damaged, damaged_end = excluded.damaged_end returning id",
            (lane, number, *values),
        ).fetchone()
        self._add(row[0], scanned)

    def _segment(self, lane: int, number: int) -> _KnownSegment | None:
        row = self._db.execute(
            "select id, size, changed, covered, resource, damaged from segment where lane = ? and number = ?",
            (lane, number),
        ).fetchone()
        return None if row is None else _KnownSegment(*row)

    def _add(self, segment: int, scanned: Scanned) -> None:
        self._db.executemany(
            "insert or replace into record (run, segment, at, resource, spots) values (?, ?, ?, ?, ?)",
            (
                (run, segment, int.from_bytes(spots[0][:4], "big"), resource, b"".join(spots))
                for (run, resource), spots in scanned.runs.items()
            ),
        )
        self._db.executemany(
            "insert or ignore into fork (parent, run, segment) values (?, ?, ?)",
            ((parent, run, segment) for run, parent in scanned.forks),
        )
        for table, spots in (("content", scanned.contents), ("thread", scanned.nodes)):
            self._db.executemany(
                f"insert or replace into {table} (start, segment, at, size) values (?, ?, ?, ?)",  # noqa: S608
                _spot_rows(segment, spots),
            )


def _spot_rows(segment: int, spots: Spots) -> Iterator[tuple[bytes, int, int, int]]:
    return ((start, segment, *spots[start]) for start in sorted(spots))


def _is_lane(path: str) -> bool:
    try:
        os.stat(f"{path}/lock")  # noqa: PTH116 - thousands of lanes: Path objects take longer than the system
        return not is_of_newer_format(Path(path))
    except OSError:
        return False


def _is_unchanged(path: str, files: Sequence[_KnownFile]) -> bool:
    try:
        for end, size, changed in files:
            state = os.stat(path + end)  # noqa: PTH116 - as above
            if state.st_mtime_ns != changed or (size is not None and state.st_size != size):
                return False
    except OSError:
        return False
    return True


def _may_be_owned(lane: Path) -> bool:
    try:
        return is_owned(lane)
    except OSError:  # a folder that can only be read
        return True

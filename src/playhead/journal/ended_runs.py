"""Ended runs: finds the runs in a segment and which of them end there, and stores their ids in a file of the journal.

A run may end in another lane than the one in which it began: it was resumed, or its process forked. A lane can be
deleted only when its runs are known to have ended, and the lane that has the end may be deleted first. So the ids of
ended runs are kept in a file of lines in the journal's folder that all processes append to (`EndedRuns`); above 1 MiB,
its older half is removed.
"""

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from playhead.journal.files import open_private
from playhead.journal.frame import ANNOUNCEMENT, SPAN, read_span, readable_frames
from playhead.model import names
from playhead.model.digest import sha256

# --- runs in a segment ------------------------------------------------------------------------------------------------


_RUN_ID = re.compile(rb'"%s":"([^"\n]*)"' % re.escape(names.RUN_ID.encode()))
_IS_ROOT = b'"%s":true' % names.RUN_ROOT.encode()
# The JSON-escaped text: the same text is always escaped in the same way.
_SESSION = re.compile(rb'"%s":"((?:[^"\\]|\\.)*)"' % re.escape(names.CONVERSATION.encode()))
_RETENTION = re.compile(rb'"%s":([0-9]+)' % re.escape(names.RUN_RETENTION.encode()))
_SESSION_KEY_DIGITS = 32


@dataclass(frozen=True, slots=True)
class SegmentRuns:
    """The runs with records in a segment, by their ids."""

    runs: frozenset[bytes]
    """Runs with records here."""
    ended: frozenset[bytes]
    """Runs that ended here."""
    sessions: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    """Keys of the sessions of runs that began or ended here."""
    retention: Mapping[bytes, float] = field(default_factory=dict[bytes, float])
    """Whole seconds for which to keep a session (by key) or a run (by id); only those for which a program set it."""


def runs_in(data: bytes) -> SegmentRuns:
    """The runs in a segment's bytes."""
    # Every record of a run contains its id.
    runs = frozenset(_RUN_ID.findall(data))
    ended: set[bytes] = set()
    sessions: dict[bytes, bytes] = {}
    retention: dict[bytes, float] = {}
    for kind, payload, _ in readable_frames(data) if _IS_ROOT in data else ():
        if kind not in (SPAN, ANNOUNCEMENT) or _IS_ROOT not in payload:
            continue
        run_ids = _RUN_ID.findall(payload)
        session, keeps = _SESSION.search(payload), _RETENTION.search(payload)
        if kind == SPAN:
            ended.update(run_ids)
        if session is not None:
            sessions |= dict.fromkeys(run_ids, _session_key(session[1]))
        if keeps is not None:
            periods = dict.fromkeys([*run_ids, *(sessions[run] for run in run_ids if run in sessions)], float(keeps[1]))
            retention = _longest_times(retention, periods)
    return SegmentRuns(runs, frozenset(ended), sessions, retention)


def begun_and_open(segments: Iterable[bytes]) -> dict[str, str]:
    """The ids of the runs whose first attempt began in these segments of a lane and has not ended there, each with the
    recorded name of the process that began it (empty if none is recorded)."""
    begun: dict[str, str] = {}
    for data in segments:
        for kind, payload, _ in readable_frames(data) if _IS_ROOT in data else ():
            if kind not in (SPAN, ANNOUNCEMENT) or _IS_ROOT not in payload:
                continue
            attributes = read_span(payload).attributes
            run_id = str(attributes.get(names.RUN_ID))
            if kind == SPAN:
                begun.pop(run_id, None)
            elif not attributes.get(names.RUN_ATTEMPT):
                begun[run_id] = str(attributes.get(names.RUN_PROCESS, ""))
    return begun


def merge_segment_runs(seen: Iterable[SegmentRuns]) -> SegmentRuns:
    """The runs in several segments, combined."""
    runs, ended = set[bytes](), set[bytes]()
    sessions: dict[bytes, bytes] = {}
    retention: dict[bytes, float] = {}
    for segment_runs in seen:
        runs |= segment_runs.runs
        ended |= segment_runs.ended
        sessions |= segment_runs.sessions
        retention = _longest_times(retention, segment_runs.retention)
    return SegmentRuns(frozenset(runs), frozenset(ended), sessions, retention)


def _session_key(session: bytes) -> bytes:
    """Hashes the name of a session to a key that does not show the name and is as long as a run's id."""
    return b"s" + sha256(session).hexdigest()[: _SESSION_KEY_DIGITS - 1].encode()


def _longest_times(left: Mapping[bytes, float], right: Mapping[bytes, float]) -> dict[bytes, float]:
    return {key: max(left.get(key, 0.0), right.get(key, 0.0)) for key in {**left, **right}}


# --- files of lines ---------------------------------------------------------------------------------------------------


# 1 MiB: 30,000 runs, more than are resumed or forked in an hour.
_MAX_FILE_BYTES = 2**20


class SharedLinesFile:
    """One file of lines. Belongs to one thread; other processes may use the same file at the same time."""

    def __init__(self, path: Path):
        """Does not access the disk."""
        self._path = path

    def read(self) -> list[bytes]:
        """The lines, oldest first; empty if there is no file.  Raises OSError."""
        try:
            return [line for line in self._path.read_bytes().split(b"\n") if line]
        except FileNotFoundError:
            return []

    def append(self, lines: Iterable[bytes]) -> None:
        """Appends these lines to the file.  Raises OSError."""
        data = b"".join(line + b"\n" for line in lines)
        if not data:
            return
        fd = open_private(self._path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(fd, data)
            size = os.fstat(fd).st_size
        finally:
            os.close(fd)
        if size > _MAX_FILE_BYTES:
            self._cut()

    def _cut(self) -> None:
        """Removes the older half of the file. Lines that another process appends at the same time may be lost."""
        tail = self._path.read_bytes()[-_MAX_FILE_BYTES // 2 :].partition(b"\n")[2]
        new = self._path.with_suffix(f".{os.getpid()}.new")
        with suppress(FileNotFoundError):
            new.unlink()
        fd = open_private(new, os.O_WRONLY | os.O_EXCL)
        with os.fdopen(fd, "wb") as file:
            file.write(tail)
        new.replace(self._path)


# --- ids of ended runs ------------------------------------------------------------------------------------------------


_ENDED_RUNS_FILE = "ended-runs"


class EndedRuns:
    """The ended runs of one journal. Belongs to one thread; other processes may use the same file at the same time.

    An id that is lost is found again in its lane; if that is gone, the other lanes of the run are kept until the
    journal needs the space.
    """

    def __init__(self, journal_dir: Path):
        """`journal_dir`: the folder of the journal. Does not access the disk."""
        self._lines = SharedLinesFile(journal_dir / _ENDED_RUNS_FILE)

    def read(self) -> set[bytes]:
        """The stored ids of ended runs; empty if there is no file.  Raises OSError."""
        return set(self._lines.read())

    def add(self, runs: Iterable[bytes]) -> None:
        """Appends the ids of ended runs to the file.  Raises OSError."""
        self._lines.append(sorted(runs))

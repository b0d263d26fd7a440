"""The journal's files as a source of recorded runs."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import orjson

from playhead.errors import JournalUnusable
from playhead.journal.frame import (
    ANNOUNCEMENT,
    CONTENT,
    HEADER_BYTES,
    LOG,
    RESOURCE,
    SPAN,
    THREAD,
    is_cut_frame,
    read_content,
    read_log,
    read_span,
    read_thread,
    readable_frames,
)
from playhead.journal.lane import LaneReader, lanes
from playhead.lift import SharedMessages, lift, lift_logs
from playhead.model import names
from playhead.model.canonical import Content
from playhead.model.ref import ContentRef
from playhead.model.span import Attributes, LogEvent, Span
from playhead.model.thread import ThreadNode
from playhead.wire.pack import ThreadExtension
from playhead_collector.store.records.memory import MemoryRecords, last_recorded_ns
from playhead_collector.store.records.ports import RunRecords

_Record = TypeVar("_Record", Span, LogEvent)
_TRACE = re.compile("[0-9a-f]{32}")
_RUN = re.compile(rb'"%s":"([0-9a-f]{32})"' % re.escape(names.RUN_ID.encode()))


@dataclass(frozen=True, slots=True)
class _Frame:
    """A span, an announcement or a log event as it stands in a file, and the resource that holds for it."""

    kind: bytes
    payload: bytes
    resource: Attributes


@dataclass(slots=True)
class _Found:
    """What the files have: records by run, places of contents by digest, threads."""

    runs: dict[str, list[_Frame]] = field(default_factory=dict[str, list[_Frame]])
    contents: dict[bytes, tuple[Path, int, int]] = field(default_factory=dict[bytes, tuple[Path, int, int]])
    threads: list[ThreadExtension] = field(default_factory=list[ThreadExtension])
    damaged: dict[Path, int] = field(default_factory=dict[Path, int])


class JournalRecords:
    """Implements `RecordSource` over the lanes of a journal's folder, also of processes that still record.

    The files are read once, when something is asked for the first time; contents stay in them until they are asked for.
    """

    def __init__(self, journal_dir: Path) -> None:
        """`journal_dir`: the folder of the journal."""
        self._journal_dir = journal_dir
        self._files: _Found | None = None
        self._lifted = MemoryRecords()
        """Threads, and contents that stood in spans of other instrumentations."""

    @property
    def damaged(self) -> Mapping[Path, int]:
        """Files of which a part cannot be read, with the bytes of that part: what stood there is left out."""
        return self._found().damaged

    def runs(self) -> Sequence[str]:
        return list(self._found().runs)

    def version(self, run: str) -> str | None:
        frames = self._found().runs.get(run)
        return None if frames is None else str(len(frames))

    def records(self, run: str) -> RunRecords:
        spans: list[Span] = []
        logs: list[LogEvent] = []
        for each in self._found().runs.get(run, ()):
            with suppress(ValueError, TypeError, IndexError):  # a record of another version of this library
                if each.kind == LOG:
                    logs.append(_with_origin(read_log(each.payload), each.resource))
                else:
                    spans.append(_with_origin(read_span(each.payload), each.resource))
        shared = SharedMessages()
        lifted, lifted_logs = [lift(span, shared=shared) for span in spans], lift_logs(logs)
        for each in (*lifted, *lifted_logs):
            self._lifted.add(contents=each.contents, threads=each.threads)
        spans, logs = [each.span for each in lifted], [each.log for each in lifted_logs]
        return RunRecords(spans, logs, last_recorded_ns(spans, logs))

    def contents(self, refs: Iterable[ContentRef]) -> Mapping[ContentRef, Content]:
        wanted = {ref.plain for ref in refs}
        found = dict(self._lifted.contents(wanted))
        places = self._found().contents
        for ref in sorted(wanted - found.keys(), key=lambda ref: places.get(ref.digest, (Path(), 0, 0))):
            place = places.get(ref.digest)
            if place is not None and (content := _read(*place)) is not None:
                found[ref] = content
        return found

    def nodes(self, threads: Iterable[ContentRef]) -> Mapping[ContentRef, ThreadNode]:
        found = self._found()
        if found.threads:
            self._lifted.add(threads=found.threads)
            found.threads = []
        return self._lifted.nodes(threads)

    def beginning_with(self, beginnings: Iterable[bytes]) -> Sequence[ContentRef]:
        wanted = set(beginnings)
        here = [ContentRef.from_digest(digest) for digest in self._found().contents if digest[:16] in wanted]
        return [*here, *self._lifted.beginning_with(wanted)]

    def _found(self) -> _Found:
        if self._files is None:
            try:
                self._files = _read_files(self._journal_dir)
            except OSError as error:
                raise JournalUnusable(
                    f"the journal in {self._journal_dir} cannot be read ({error.strerror}): "
                    "set PLAYHEAD_JOURNAL_DIR to the folder that was recorded in, and see that it can be read"
                ) from error
        return self._files


def _read_files(journal_dir: Path) -> _Found:
    found = _Found()
    for lane in lanes(journal_dir):
        reader = LaneReader(lane)
        numbers = reader.segments()
        for number in numbers:
            path = reader.segment_path(number)
            try:
                data = path.read_bytes()
            except FileNotFoundError:  # its space was given back meanwhile
                continue
            _take_segment(found, path, data)
    return found


def _take_segment(found: _Found, path: Path, data: bytes) -> None:
    resource: Attributes = {}
    last = damaged = 0
    for kind, payload, end in readable_frames(data):
        damaged += end - len(payload) - HEADER_BYTES - last
        last = end
        if kind == CONTENT:
            found.contents[payload[:32]] = (path, end - len(payload), len(payload))
        elif kind == THREAD:
            found.threads.append(read_thread(payload))
        elif kind == RESOURCE:
            resource = orjson.loads(payload)
        elif kind in (SPAN, ANNOUNCEMENT, LOG) and (run := _run_in(kind, payload)) is not None:
            found.runs.setdefault(run, []).append(_Frame(kind, payload, resource))
    rest = data[last:]
    if rest and not is_cut_frame(rest):  # a cut frame: a crash, or an append that is under way
        damaged += len(rest)
    if damaged:
        found.damaged[path] = damaged


def _with_origin(record: _Record, resource: Attributes) -> _Record:
    """The record with what stands once for many in a file: its resource, and the scope of our own records."""
    record.resource, record.scope = resource, record.scope or names.SCOPE
    return record


def _run_in(kind: bytes, payload: bytes) -> str | None:
    """The run of a record; a record that names none belongs to the run of its trace."""
    named = _RUN.search(payload)
    if named is not None:
        return named[1].decode()
    try:
        record: Any = orjson.loads(payload)
        trace = record[2] if kind == LOG else record[0]
    except (ValueError, IndexError, TypeError, KeyError):
        return None
    return trace if isinstance(trace, str) and _TRACE.fullmatch(trace) else None


def _read(path: Path, at: int, size: int) -> Content | None:
    try:
        with path.open("rb") as file:
            file.seek(at)
            return read_content(file.read(size))[1]
    except (OSError, IndexError, ValueError):
        return None  # its space was given back meanwhile


def damage_of(damaged: Mapping[Path, int]) -> Iterator[str]:
    """A sentence for each file of which a part cannot be read."""
    for path, size in damaged.items():
        yield f"{size:,} bytes of {path} are damaged: what stood there is left out"

"""store → [bundle] → a file.  Writes a run, the runs from which it was forked, and all contents that they name.

The file is one gzipped tar; `playhead.wire.export_layout` has the names of the files in it.
"""

import asyncio
import hashlib
import io
import tarfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from types import TracebackType
from typing import BinaryIO, Self

from playhead.model.canonical import Content, canonical_json
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.model.thread import extend
from playhead.model.times import rfc3339
from playhead.projection.run_row import RunRow
from playhead.wire import export_layout as layout
from playhead.wire.otlp_json import logs_json, traces_json
from playhead.wire.pack import Pack, ThreadExtension
from playhead_collector.errors import Refused
from playhead_collector.read.content import pack_refs
from playhead_collector.read.notes import note_answer
from playhead_collector.read.record import RunRecord, line_of_forks
from playhead_collector.read.scores import score_answer
from playhead_collector.store.ports.scores import POSTED, SCORER, ScoreFilter

# Contents are compressed little better at higher levels, which take several times as long.
_COMPRESSION = 3


class Archive:
    """Writes an export to `file`.  Blocks.  Contents are written at once, the files of lines by `finish`.

    `known`: digests of contents and thread nodes that were written; `counts`: the numbers for the manifest.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._to = file
        self._lines: defaultdict[str, list[bytes]] = defaultdict(list)
        self.known: set[bytes] = set()
        self.counts: Counter[str] = Counter()

    def __enter__(self) -> Self:
        self._tar = tarfile.open(fileobj=self._to, mode="w:gz", compresslevel=_COMPRESSION, format=tarfile.PAX_FORMAT)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._tar.close()

    def line(self, name: str, line: bytes) -> set[bytes]:
        """Adds a line to one of the files of lines. Returns the digests of the refs in the line."""
        self._lines[name].append(line + b"\n")
        return layout.refs_in(line)

    def pack(self, pack: Pack) -> set[bytes]:
        """Adds contents and threads, each once. Returns the digests of the refs in those that are new."""
        digests: set[bytes] = set()
        for content in pack.contents:
            digests |= self._content(content)
        for thread in pack.threads:
            digests |= self._thread(thread)
        return digests

    def _content(self, content: Content) -> set[bytes]:
        ref = content.ref.plain
        if ref.digest in self.known:
            return set()
        self.known.add(ref.digest)
        self.counts.update(contents=1, content_bytes=len(content.data))
        self._file(layout.content_file(ref.digest.hex()), content.data)
        self.line(layout.CONTENTS, layout.ContentLine.of(content).line())
        return layout.refs_in(content.data)

    def _thread(self, thread: ThreadExtension) -> set[bytes]:
        new = [node for node in extend(thread.messages, thread.parent) if node.ref.digest not in self.known]
        if not new:
            return set()
        messages = tuple(node.message for node in new)
        self.known.update(node.ref.digest for node in new)
        self.line(layout.THREADS, layout.thread_line(ThreadExtension(new[0].parent, messages)))
        return {message.digest for message in messages}

    def finish(self) -> None:
        """Writes the files of lines and the manifest, which completes the export."""
        files: dict[str, layout.LineFile] = {}
        for name in layout.LINE_FILES:
            data = b"".join(self._lines[name])
            files[name] = layout.LineFile(len(self._lines[name]), len(data), hashlib.sha256(data).hexdigest())
            self._file(name, data)
        names = ("runs", "spans", "logs", "contents", "content_bytes", "missing", "scores", "notes")
        made_at = datetime.now(UTC).isoformat(timespec="seconds")
        manifest = layout.Manifest(_version(), made_at, **{name: self.counts[name] for name in names}, files=files)
        self._file(layout.MANIFEST, layout.manifest_bytes(manifest))

    def _file(self, name: str, data: bytes) -> None:
        about = tarfile.TarInfo(name)
        about.size = len(data)
        self._tar.addfile(about, io.BytesIO(data))


def _version() -> str:
    try:
        return version("playhead")
    except PackageNotFoundError:
        return "0"


# --- a run with all that it names ------------------------------------------------------------------------------------

MAX_CONTENT_BYTES = 1024 * 1024 * 1024
"""Limit of all contents of a bundle together; runs with more are exported with the command line."""

_ITEMS_A_LINE = 256
_REFS_AT_ONCE = 500


async def write_bundle(record: RunRecord, to: BinaryIO, most: int = MAX_CONTENT_BYTES) -> None:
    """Writes the export as a gzipped tar to `to`.  Raises Refused (413) if the contents have more than `most` bytes
    together; the file is incomplete then."""
    with Archive(to) as archive:
        waiting = await _write_records(record, archive)
        while waiting:
            refs = [ContentRef.from_digest(digest) for digest in sorted(waiting)[:_REFS_AT_ONCE]]
            packed = await pack_refs(record.store, record.project_id, refs)
            waiting |= await asyncio.to_thread(archive.pack, packed.pack)
            absent = {ref.digest for ref in refs[: packed.looked_at]} - archive.known
            archive.counts["missing"] += len(absent)
            archive.known |= absent
            waiting -= archive.known
            if archive.counts["content_bytes"] > most:
                message = f"the contents of run {record.run} have more than {most:,} bytes: use `playhead export`"
                raise Refused(413, "too_large", message)
        await asyncio.to_thread(archive.finish)


async def _write_records(record: RunRecord, archive: Archive) -> set[bytes]:
    """Writes the records of the run and of the runs from which it was forked. Returns the digests of the refs in
    them."""
    digests: set[bytes] = set()
    async for row in line_of_forks(record.row, partial(record.store.runs.get, record.project_id)):
        spans = await record.store.spans.read(record.project_id, row.run)
        logs = await record.store.spans.logs(record.project_id, row.run)
        digests |= await asyncio.to_thread(_write_record, archive, row, spans, logs)
        await _write_scores(record, row.run, archive)
        await _write_notes(RunRecord(record.store, record.project_id, row), archive)
    return digests


async def _write_scores(record: RunRecord, run: str, archive: Archive) -> None:
    """Writes the scores that were posted or that scorers gave. Those that programs recorded are in the log events."""
    for source in (POSTED, SCORER):
        await _write_scores_of(record, ScoreFilter(run, source=source), archive)


async def _write_scores_of(record: RunRecord, where: ScoreFilter, archive: Archive) -> None:
    before: tuple[int, str, str] | None = None
    while page := await record.store.scores.page(record.project_id, where, limit=_ITEMS_A_LINE, before=before):
        for score in page:
            archive.line(layout.SCORES, layout.score_line(score_answer(score)))
        archive.counts.update(scores=len(page))
        before = (page[-1].scored_ns, page[-1].run, page[-1].id)


async def _write_notes(record: RunRecord, archive: Archive) -> None:
    before: tuple[int, str] | None = None
    while page := await record.store.notes.page(record.project_id, record.run, limit=_ITEMS_A_LINE, before=before):
        for note in page:
            archive.line(layout.NOTES, layout.note_line(await note_answer(record, note)))
        archive.counts.update(notes=len(page))
        before = (page[-1].noted_ns, page[-1].id)


def _write_record(archive: Archive, row: RunRow, spans: Sequence[Span], logs: Sequence[LogEvent]) -> set[bytes]:
    ended = None if row.ended_ns is None else rfc3339(row.ended_ns)
    about = {"run": row.run, "name": row.name, "status": row.status, "started": rfc3339(row.started_ns), "ended": ended}
    digests = archive.line(layout.RUNS, canonical_json(about | {"fork_of": row.fork_of}))
    for start in range(0, len(spans), _ITEMS_A_LINE):
        digests |= archive.line(layout.TRACES, canonical_json(traces_json(spans[start : start + _ITEMS_A_LINE])))
    for start in range(0, len(logs), _ITEMS_A_LINE):
        digests |= archive.line(layout.LOGS, canonical_json(logs_json(logs[start : start + _ITEMS_A_LINE])))
    archive.counts.update(runs=1, spans=len(spans), logs=len(logs))
    return digests

"""store → [reading] → archive.  Reads a run, the runs that it was forked from, and everything that they name."""

import asyncio
from collections.abc import Sequence
from typing import BinaryIO

from playhead.model.canonical import canonical_json
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.model.times import rfc3339
from playhead.project.run_row import RunRow
from playhead.wire import export_layout as layout
from playhead.wire.otlp_json import logs_json, traces_json
from playhead_collector.errors import Refused
from playhead_collector.read.bundle.archive import Archive
from playhead_collector.read.content import pack_refs
from playhead_collector.read.record import RunRecord
from playhead_collector.read.scores.answers import score_answer
from playhead_collector.store.ports.scores import POSTED, ScoreFilter

MAX_CONTENT_BYTES = 1024 * 1024 * 1024
"""Limit of all contents of a bundle together; runs with more are exported with the command line."""

_ITEMS_A_LINE = 256
_REFS_AT_ONCE = 500
_MAX_ABOVE = 50


async def write_bundle(record: RunRecord, to: BinaryIO, most: int = MAX_CONTENT_BYTES) -> None:
    """Writes the export as a gzipped tar.  Raises Refused (413) for contents of more than `most` bytes together; the
    file is incomplete then."""
    with Archive(to) as archive:
        waiting = await _records(record, archive)
        while waiting:
            asked = [ContentRef.from_digest(digest) for digest in sorted(waiting)[:_REFS_AT_ONCE]]
            packed = await pack_refs(record.store, record.project_id, asked)
            waiting |= await asyncio.to_thread(archive.pack, packed.pack)
            absent = {ref.digest for ref in asked[: packed.looked_at]} - archive.known
            archive.counts["missing"] += len(absent)
            archive.known |= absent
            waiting -= archive.known
            if archive.counts["content_bytes"] > most:
                message = f"the contents of run {record.run} have more than {most:,} bytes: use `playhead export`"
                raise Refused(413, "too_large", message)
        await asyncio.to_thread(archive.finish)


async def _records(record: RunRecord, archive: Archive) -> set[bytes]:
    """Writes the records of the run and of the runs it was forked from. Returns the digests of the refs in them."""
    found: set[bytes] = set()
    known: set[str] = set()
    row: RunRow | None = record.row
    while row is not None and row.run not in known and len(known) <= _MAX_ABOVE:
        known.add(row.run)
        spans = await record.store.spans(record.project_id, row.run)
        logs = await record.store.logs(record.project_id, row.run)
        found |= await asyncio.to_thread(_write, archive, row, spans, logs)
        await _scores(record, row.run, archive)
        row = None if row.fork_of is None else await record.store.run(record.project_id, row.fork_of)
    return found


async def _scores(record: RunRecord, run: str, archive: Archive) -> None:
    """Writes the scores that were posted; those of the program are among its log events."""
    before: tuple[int, str, str] | None = None
    while some := await record.store.scores(
        record.project_id, ScoreFilter(run, source=POSTED), limit=_ITEMS_A_LINE, before=before
    ):
        for score in some:
            archive.line(layout.SCORES, layout.score_line(score_answer(score)))
        archive.counts.update(scores=len(some))
        before = (some[-1].scored_ns, some[-1].run, some[-1].id)


def _write(archive: Archive, row: RunRow, spans: Sequence[Span], logs: Sequence[LogEvent]) -> set[bytes]:
    ended = None if row.ended_ns is None else rfc3339(row.ended_ns)
    about = {"run": row.run, "name": row.name, "status": row.status, "started": rfc3339(row.started_ns), "ended": ended}
    found = archive.line(layout.RUNS, canonical_json(about | {"fork_of": row.fork_of}))
    for at in range(0, len(spans), _ITEMS_A_LINE):
        found |= archive.line(layout.TRACES, canonical_json(traces_json(spans[at : at + _ITEMS_A_LINE])))
    for at in range(0, len(logs), _ITEMS_A_LINE):
        found |= archive.line(layout.LOGS, canonical_json(logs_json(logs[at : at + _ITEMS_A_LINE])))
    archive.counts.update(runs=1, spans=len(spans), logs=len(logs))
    return found

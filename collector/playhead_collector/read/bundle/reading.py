"""store → [reading] → archive.  Reads a run, the runs from which it was forked, and all contents that they name."""

import asyncio
from collections.abc import Sequence
from typing import BinaryIO

from playhead.model.canonical import canonical_json
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.model.times import rfc3339
from playhead.projection.run_row import RunRow
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
    """Writes the export as a gzipped tar to `to`.  Raises Refused (413) if the contents have more than `most` bytes
    together; the file is incomplete then."""
    with Archive(to) as archive:
        waiting = await _records(record, archive)
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


async def _records(record: RunRecord, archive: Archive) -> set[bytes]:
    """Writes the records of the run and of the runs from which it was forked. Returns the digests of the refs in
    them."""
    digests: set[bytes] = set()
    seen: set[str] = set()
    row: RunRow | None = record.row
    while row is not None and row.run not in seen and len(seen) <= _MAX_ABOVE:
        seen.add(row.run)
        spans = await record.store.spans(record.project_id, row.run)
        logs = await record.store.logs(record.project_id, row.run)
        digests |= await asyncio.to_thread(_write, archive, row, spans, logs)
        await _scores(record, row.run, archive)
        row = None if row.fork_of is None else await record.store.run(record.project_id, row.fork_of)
    return digests


async def _scores(record: RunRecord, run: str, archive: Archive) -> None:
    """Writes the posted scores. Scores that programs recorded are in the log events."""
    before: tuple[int, str, str] | None = None
    while page := await record.store.scores(
        record.project_id, ScoreFilter(run, source=POSTED), limit=_ITEMS_A_LINE, before=before
    ):
        for score in page:
            archive.line(layout.SCORES, layout.score_line(score_answer(score)))
        archive.counts.update(scores=len(page))
        before = (page[-1].scored_ns, page[-1].run, page[-1].id)


def _write(archive: Archive, row: RunRow, spans: Sequence[Span], logs: Sequence[LogEvent]) -> set[bytes]:
    ended = None if row.ended_ns is None else rfc3339(row.ended_ns)
    about = {"run": row.run, "name": row.name, "status": row.status, "started": rfc3339(row.started_ns), "ended": ended}
    digests = archive.line(layout.RUNS, canonical_json(about | {"fork_of": row.fork_of}))
    for start in range(0, len(spans), _ITEMS_A_LINE):
        digests |= archive.line(layout.TRACES, canonical_json(traces_json(spans[start : start + _ITEMS_A_LINE])))
    for start in range(0, len(logs), _ITEMS_A_LINE):
        digests |= archive.line(layout.LOGS, canonical_json(logs_json(logs[start : start + _ITEMS_A_LINE])))
    archive.counts.update(runs=1, spans=len(spans), logs=len(logs))
    return digests

"""[store]: masks the records of thinned runs, which are in one piece, in a row or in the object store."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from playhead.model.canonical import canonical_json, parse_json
from playhead_collector.redaction.masking import Masker
from playhead_collector.redaction.records import mask_events, mask_logs, mask_spans, mask_texts
from playhead_collector.store.packing import packed_runs, span_pages
from playhead_collector.store.packing.packed_runs import PlainSpanPage, WholeRecord
from playhead_collector.store.packing.zstd import compress_json, decompress_json
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.packs import Packs
from playhead_collector.store.postgres.statements import Conn


async def mask_packed(conn: Conn, packs: Packs, project_id: int, run: UUID, masker: Masker) -> bool:
    """Masks the record of a run, if it is thinned. Returns whether anything was masked; the record is in its row then.
    Raises BodiesNeeded, ContentCorrupt."""
    rows = await sql.rows(conn, "packed_rows", project_id=project_id, runs=[run])
    [body] = await packs.bodies_of(conn, project_id, rows, "packed_run") or [None]
    if body is None:
        return False
    packed = await asyncio.to_thread(_masked_body, masker, body)
    if packed is None:
        return False
    columns = {"kept": [rows[0]["kept"]], "bodies": [packed]}
    await sql.run(conn, "write_packed", project_id=project_id, runs=[run], **columns)
    return True


def _masked_body(masker: Masker, body: bytes) -> bytes | None:
    record = packed_runs.decode(body)
    masked = masked_record(masker, record)
    return None if masked == record else packed_runs.encode(masked)


def masked_record(masker: Masker, record: WholeRecord) -> WholeRecord:
    """Returns the record as it may be stored. Pure."""
    return WholeRecord(
        [_masked_span_page(masker, page) for page in record.spans],
        [page._replace(json=_masked_json(page.json, partial(_with_masked_events, masker))) for page in record.events],
        [state._replace(json=_masked_json(state.json, partial(mask_texts, masker))) for state in record.snapshots],
    )


def _masked_span_page(masker: Masker, plain: PlainSpanPage) -> PlainSpanPage:
    page = span_pages.unpack(plain.page, compress_json(plain.json))
    spans, logs = mask_spans(masker, page.spans), mask_logs(masker, page.logs)
    if spans == page.spans and logs == page.logs:
        return plain
    [packed] = span_pages.pack(spans, logs)  # of as many items, so that it is one page
    return PlainSpanPage(plain.page, packed.digest, packed.items, decompress_json(packed.body))


def _with_masked_events(masker: Masker, page: Any) -> Any:
    return {**page, "events": mask_events(masker, page["events"])}


def _masked_json(text: bytes, mask: Callable[[Any], Any]) -> bytes:
    value: Any = parse_json(text)
    masked = mask(value)
    return text if masked == value else canonical_json(masked)

"""[store] → retain: runs the redaction rules of a project over what is stored.

    contents → packs → runs (spans, events, states, scores, notes) → promises → records of conversations → search

A job goes in steps, each a transaction that also moves the job's place. So a collector that dies loses nothing, any
collector makes the next step, and a step that is made again changes nothing. What arrives while a job goes on was
masked on its way, so each phase needs to pass once.

A masked content is never packed: what is in a pack is found by the digest of its bytes. Contents of packs become rows.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast
from uuid import UUID

import orjson
from asyncpg import Record

from playhead.model.canonical import BYTES, Content, canonical_json, parse_json
from playhead.model.ref import ContentRef
from playhead_collector.errors import StoreCollision
from playhead_collector.redaction.masking import Masker
from playhead_collector.redaction.records import mask_events, mask_logs, mask_spans, mask_texts
from playhead_collector.redaction.rules import RedactionRules
from playhead_collector.store.packing import content_packs, span_pages
from playhead_collector.store.packing.content_packs import PackItems
from playhead_collector.store.packing.zstd import Zstd, compress_json, decompress_json
from playhead_collector.store.ports.redaction import PHASES, RedactionJobRow
from playhead_collector.store.postgres import content_rows, conversation_records, events, runs, search_blocks
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database, begin_exclusive_write, begin_write
from playhead_collector.store.postgres.ingest import date_of
from playhead_collector.store.postgres.packed_redaction import mask_packed
from playhead_collector.store.postgres.packs import Packs
from playhead_collector.store.postgres.statements import Conn

# Of one step: compressed bytes of contents, but at least one; and rows.
_BYTES, _ROWS = 1024 * 1024, 500
_PACKS, _PROMISES = 4, 200
# Writers wait for a pack to be written, as for a step of a sweep.
_LOCK_TIMEOUT_MS = 250

Counts = dict[str, tuple[int, int]]


class _StepResult(NamedTuple):
    """Where a step has come to, and what it looked at and changed, by kind. `is_through`: the phase has ended."""

    place: Mapping[str, Any]
    counts: Counts
    is_through: bool = False


@dataclass(frozen=True, slots=True)
class _JobStep:
    """What a step works with."""

    conn: Conn
    packs: Packs
    project_id: int
    masker: Masker
    now_ns: int
    job: Record


class PostgresRedaction:
    """Implements `ports.redaction.RedactionStore`."""

    def __init__(self, db: Database, clock: Callable[[], int], packs: Packs) -> None:
        self._db = db
        self._clock = clock
        self._packs = packs

    async def job(self, project_id: int) -> RedactionJobRow | None:
        async with self._db.reading() as conn:
            row = await sql.row(conn, "redaction_job", project_id=project_id)
        return None if row is None else _job(row)

    async def start(self, project_id: int, rules: RedactionRules) -> RedactionJobRow:
        async with self._db.transaction() as conn:
            columns = {"rules": rules.text(), "now": self._clock()}
            row = await sql.row(conn, "start_redaction_job", project_id=project_id, **columns)
        if row is None:
            raise LookupError("a job that was just started is not there")
        return _job(row)

    async def stop(self, project_id: int) -> RedactionJobRow | None:
        async with self._db.transaction() as conn:
            row = await sql.row(conn, "stop_redaction_job", project_id=project_id, now=self._clock())
        return None if row is None else _job(row)

    async def going_on(self, settled_ns: int) -> Sequence[int]:
        async with self._db.reading() as conn:
            return await sql.column(conn, "redaction_jobs", before=self._clock() - settled_ns)

    async def note_failure(self, project_id: int, why: str) -> None:
        async with self._db.transaction() as conn:
            await sql.run(conn, "note_redaction_failure", project_id=project_id, why=why)

    async def step(self, project_id: int, masker: Masker) -> RedactionJobRow | None:
        # A step that needs bodies from the object store is rolled back and made again with them: nobody waits for it.
        return await self._packs.supplied(lambda packs: self._step(packs, project_id, masker))

    async def _step(self, packs: Packs, project_id: int, masker: Masker) -> RedactionJobRow | None:
        async with self._db.attempt() as conn:
            job = await sql.row(conn, "lock_redaction_job", project_id=project_id)
            if job is None:
                return None
            phase: int = job["phase"]
            moved = await _STEPS[phase](_JobStep(conn, packs, project_id, masker, self._clock(), job))
            phase += moved.is_through
            place = {name: job[name] for name in ("at_pack", "at_run", "at_ref", "at_key")} | dict(moved.place)
            counts = _added(orjson.loads(job["counts"]), moved.counts)
            if PHASES[phase] == "done":  # bodies that were masked are in rows again
                await sql.run(conn, "erase_from_objects", project_id=project_id)
            row = await sql.row(
                conn, "move_redaction_job", project_id=project_id, phase=phase, counts=orjson.dumps(counts).decode(),
                now=self._clock(), is_over=PHASES[phase] == "done", **place,
            )  # fmt: skip
        return None if row is None else _job(row)


def _job(row: Record) -> RedactionJobRow:
    phase: int = row["phase"]
    return RedactionJobRow(
        PHASES[phase],
        row["started_ns"],
        row["updated_ns"],
        row["ended_ns"],
        RedactionRules.read(row["rules"]) or RedactionRules(),
        row["failed"],
        {kind: (looked_at, changed) for kind, (looked_at, changed) in orjson.loads(row["counts"]).items()},
    )


def _added(counts: dict[str, Sequence[int]], more: Counts) -> dict[str, Sequence[int]]:
    return counts | {
        kind: tuple(map(sum, zip(counts.get(kind, (0, 0)), of_kind, strict=True))) for kind, of_kind in more.items()
    }


# --- contents --------------------------------------------------------------------------------------------------------


async def _contents(step: _JobStep) -> _StepResult:
    conn = step.conn
    rows = await sql.rows(conn, "contents_after", project_id=step.project_id, after=step.job["at_ref"], how_many=_ROWS)
    if not rows:
        return _StepResult({}, {}, is_through=True)
    refs: list[ContentRef] = []
    size = 0
    for row in rows:
        size += row["bytes"]
        if refs and size > _BYTES:
            break
        refs.append(ContentRef.from_digest(row["ref"]))
    await begin_write(step.conn, step.project_id)
    stored = await content_rows.read_rows(step.conn, step.packs, step.project_id, refs)
    masked = await asyncio.to_thread(_masked_contents, step.masker, stored)
    await content_rows.replace(step.conn, step.packs, step.project_id, masked, proven=False)
    return _StepResult({"at_ref": refs[-1].digest}, {"contents": (len(refs), len(masked))})


def _masked_contents(masker: Masker, contents: Sequence[Content]) -> list[Content]:
    """Returns what is left of those contents that a rule matches."""
    return [masked for content in contents if (masked := masker.content(content)) is not content]


# --- packs -----------------------------------------------------------------------------------------------------------


async def _in_packs(step: _JobStep) -> _StepResult:
    conn = step.conn
    rows = await sql.rows(conn, "packs_after", project_id=step.project_id, after=step.job["at_pack"], how_many=_PACKS)
    if not rows:
        return _StepResult({}, {}, is_through=True)
    opened = await step.packs.open(step.conn, step.project_id, [row["pack"] for row in rows], whole=True)
    looked_at = changed = 0
    for row in rows:
        pack = opened.get(row["pack"])
        items = PackItems() if pack is None else pack.items()
        names = await content_rows.media_names(step.conn, step.project_id, {item.media for item in items.contents})
        masked = await asyncio.to_thread(_masked_items, step.masker, items, names)
        looked_at, changed = looked_at + len(items.contents), changed + len(masked)
        if masked:
            await _unpack(step, row, items, masked)
    return _StepResult({"at_pack": rows[-1]["pack"]}, {"packed_contents": (looked_at, changed)})


def _masked_items(masker: Masker, items: PackItems, names: Mapping[int, str]) -> dict[ContentRef, Content]:
    masked: dict[ContentRef, Content] = {}
    for item in items.contents:
        content = Content(item.data, names.get(item.media, BYTES))
        left = masker.content(content)
        if left is not content:
            masked[item.ref] = left
    return masked


async def _unpack(step: _JobStep, row: Record, items: PackItems, masked: Mapping[ContentRef, Content]) -> None:
    """Moves contents of a pack to rows of their own, masked. Raises StoreCollision if the pack was changed, or a sweep
    is under way, which goes through packs, too."""
    conn, project_id = step.conn, step.project_id
    await begin_exclusive_write(conn, project_id, _LOCK_TIMEOUT_MS)
    if await sql.value(conn, "is_sweeping", project_id=project_id):
        raise StoreCollision("a sweep is under way: its end is waited for")
    pack = {"pack": row["pack"], "version": row["version"]}
    locked = await sql.row(conn, "lock_pack", project_id=project_id, **pack)
    if locked is None:
        raise StoreCollision("a pack was changed meanwhile: try again")
    encoding = await step.packs.dictionaries.newest(conn, project_id)
    zstd = await step.packs.dictionaries.zstd(conn, project_id, encoding)
    left = PackItems([item for item in items.contents if item.ref not in masked], items.nodes)
    if left.contents or left.nodes:
        body = await asyncio.to_thread(_compressed, left, zstd)
        keys = content_packs.array_of(left.keys)
        changed = {"pack": row["pack"], "encoding": encoding, "keys": keys, "body": body}
        await sql.run(conn, "rewrite_pack", project_id=project_id, **changed)
    else:
        await sql.run(conn, "delete_packs", project_id=project_id, packs=[row["pack"]])
    before = {item.ref.digest: item for item in items.contents}
    await content_rows.put_unpacked(conn, step.packs, project_id, masked.values(), before, date_of(step.now_ns))
    # Which runs had them was known from the pack: it is written again with the index of their runs.
    await sql.run(conn, "due_for_packing", project_id=project_id, runs=locked["runs"] or [])


def _compressed(items: PackItems, zstd: Zstd) -> bytes:
    return zstd.compress_pack(content_packs.encode(items))


# --- runs ------------------------------------------------------------------------------------------------------------


async def _runs(step: _JobStep) -> _StepResult:
    conn = step.conn
    [run] = await sql.column(
        conn, "next_runs_to_mask", project_id=step.project_id, after=step.job["at_run"], how_many=1
    ) or [None]
    if run is None:
        return _StepResult({}, {}, is_through=True)
    await begin_write(step.conn, step.project_id)
    await sql.rows(conn, "lock_runs", project_id=step.project_id, runs=[run])
    spans = await _mask_spans_and_events(step, run)
    scores, notes = await _scores(step, run), await _notes(step, run)
    await _pin_and_scorings(step, run)
    return _StepResult({"at_run": run}, {"runs": spans, "scores": scores, "notes": notes})


class _RunBodies(NamedTuple):
    """What is stored of a run in pages."""

    of_spans: Sequence[Record]
    of_events: Sequence[Record]
    snapshots: Sequence[Record]


class _MaskedBodies(NamedTuple):
    """The pages that are stored instead. `gone`: numbers of pages of spans that are not needed any more."""

    gone: list[int]
    of_spans: list[span_pages.PackedSpanPage]
    of_events: list[events.EventPage]
    snapshots: list[events.Snapshot]


async def _mask_spans_and_events(step: _JobStep, run: UUID) -> tuple[int, int]:
    conn, project_id = step.conn, step.project_id
    row = await sql.row(conn, "runs", project_id=project_id, runs=[run])
    if row is None:  # it was deleted meanwhile
        return 0, 0
    bodies = _RunBodies(
        await sql.rows(conn, "read_pages", project_id=project_id, runs=[run], seen=[]),
        await sql.rows(conn, "event_bodies_to_mask", project_id=project_id, run=run),
        await sql.rows(conn, "snapshots_to_mask", project_id=project_id, run=run),
    )
    masked = await asyncio.to_thread(_masked_bodies, step.masker, bodies)
    in_packed = await mask_packed(conn, step.packs, project_id, run, step.masker)
    columns = await asyncio.to_thread(runs.masked_columns, row, partial(_masked_text, step.masker))
    if not any(masked) and not in_packed and columns is None:
        return 1, 0
    if masked.gone:
        await sql.run(conn, "delete_pages", project_id=project_id, runs=[run], pages=masked.gone)
        await sql.rows(
            conn,
            "write_pages",
            project_id=project_id,
            runs=[run] * len(masked.of_spans),
            digests=[page.digest for page in masked.of_spans],
            items=[page.items for page in masked.of_spans],
            bodies=[page.body for page in masked.of_spans],
        )
    await events.write_pages(conn, project_id, [(run, None, page) for page in masked.of_events])
    await events.add_snapshots(conn, project_id, [(run, snapshot) for snapshot in masked.snapshots])
    await sql.run(conn, "mask_run", project_id=project_id, run=run, **(columns or runs.columns_to_mask(row)))
    if not row["sealed"]:
        await sql.run(conn, "wake", project_id=project_id, runs=[run], now=step.now_ns)
    return 1, 1


def _masked_text(masker: Masker, text: str) -> str:
    return _as_text(masker.json(text)) or ""


def _masked_bodies(masker: Masker, bodies: _RunBodies) -> _MaskedBodies:
    gone: list[int] = []
    pages: list[span_pages.PackedSpanPage] = []
    for row in bodies.of_spans:
        page = span_pages.unpack(row["page"], row["body"])
        spans, logs = mask_spans(masker, page.spans), mask_logs(masker, page.logs)
        if spans != page.spans or logs != page.logs:
            gone.append(page.number)
            pages += span_pages.pack(spans, logs)
    written = [page for row in bodies.of_events if (page := _masked_event_page(masker, row, gone)) is not None]
    return _MaskedBodies(gone, pages, written, _masked_snapshots(masker, bodies.snapshots))


def _masked_event_page(masker: Masker, row: Record, gone: Sequence[int]) -> events.EventPage | None:
    """Returns the page without secrets, and without a page of spans to be read with; None: it stays as it is."""
    reference = row["beside"]
    value: Any = parse_json(decompress_json(row["body"], None if reference is None else decompress_json(reference)))
    masked = {**value, "events": mask_events(masker, value["events"])}
    if masked == value and row["number"] not in gone:
        return None
    return events.EventPage(row["page"], row["first_seq"], row["last_seq"], compress_json(canonical_json(masked)))


def _masked_snapshots(masker: Masker, rows: Sequence[Record]) -> list[events.Snapshot]:
    written: list[events.Snapshot] = []
    for row in rows:
        value = parse_json(decompress_json(row["body"]))
        masked = mask_texts(masker, value)
        if masked != value:
            written.append(events.Snapshot(row["seq"], row["history"], compress_json(canonical_json(masked))))
    return written


async def _scores(step: _JobStep, run: UUID) -> tuple[int, int]:
    conn = step.conn
    rows = await sql.rows(conn, "scores_to_mask", project_id=step.project_id, run=run)
    changed = await _changed_columns(step.masker, rows, "score_id", ("name", "label", "author", "comment"))
    if changed["ids"]:
        await sql.run(conn, "mask_scores", project_id=step.project_id, run=run, **changed)
    return len(rows), len(changed["ids"])


async def _notes(step: _JobStep, run: UUID) -> tuple[int, int]:
    conn = step.conn
    rows = await sql.rows(conn, "notes_to_mask", project_id=step.project_id, run=run)
    changed = await _changed_columns(step.masker, rows, "note_id", ("text", "label", "author"))
    if changed["ids"]:
        await sql.run(conn, "mask_notes", project_id=step.project_id, run=run, **changed)
    return len(rows), len(changed["ids"])


async def _pin_and_scorings(step: _JobStep, run: UUID) -> None:
    """Masks why a run is pinned, and why scorers failed."""
    conn, project_id = step.conn, step.project_id
    pins = await sql.rows(conn, "pin_to_mask", project_id=project_id, run=run)
    if (changed := await _changed_columns(step.masker, pins, "run_id", ("reason",)))["ids"]:
        await sql.run(conn, "mask_pin", project_id=project_id, **changed)
    scorings = await sql.rows(conn, "scorings_to_mask", project_id=project_id, run=run)
    if (changed := await _changed_columns(step.masker, scorings, "scorer_id", ("error",)))["ids"]:
        await sql.run(conn, "mask_scorings", project_id=project_id, run=run, **changed)


async def _changed_columns(
    masker: Masker, rows: Sequence[Record], key: str, names: Sequence[str]
) -> dict[str, list[Any]]:
    """Returns the ids and masked texts of those rows in which a rule matches, as columns: `ids`, and each name with an
    s."""
    said = [{name: row[name] for name in names} for row in rows]
    masked = await asyncio.to_thread(_masked_texts, masker, said) if said else []
    changed = [n for n, (before, after) in enumerate(zip(said, masked, strict=True)) if before != after]
    return {
        "ids": [rows[n][key] for n in changed],
        **{f"{name}s": [masked[n][name] for n in changed] for name in names},
    }


def _masked_texts(masker: Masker, values: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: _as_text(masker.json(value)) for name, value in said.items()} for said in values]


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else canonical_json(value).decode()


# --- promises, records of conversations, the search index ------------------------------------------------------------


async def _promises(step: _JobStep) -> _StepResult:
    conn = step.conn
    rows = await sql.rows(
        conn, "promises_to_mask", project_id=step.project_id, after=step.job["at_key"], how_many=_PROMISES
    )
    if not rows:
        return _StepResult({"at_key": ""}, {}, is_through=True)
    said = [(row["promise_id"], orjson.loads(row["body"]), _loaded(row["answer"])) for row in rows]
    masked = await asyncio.to_thread(_masked_promises, step.masker, said)
    changed = [after for before, after in zip(said, masked, strict=True) if before != after]
    if changed:
        await sql.run(
            conn,
            "mask_promises",
            project_id=step.project_id,
            ids=[promise for promise, _, _ in changed],
            bodies=[canonical_json(body).decode() for _, body, _ in changed],
            answers=[None if answer is None else canonical_json(answer).decode() for _, _, answer in changed],
        )
    return _StepResult({"at_key": rows[-1]["promise_id"]}, {"promises": (len(rows), len(changed))})


def _loaded(text: str | None) -> Any:
    return None if text is None else parse_json(text)


def _masked_promises(masker: Masker, said: Sequence[tuple[str, Any, Any]]) -> list[tuple[str, Any, Any]]:
    return [
        (promise, _masked_members(masker, body, "key"), _masked_members(masker, answer, "outcome"))
        for promise, body, answer in said
    ]


def _masked_members(masker: Masker, value: Any, kept: str) -> Any:
    """Masks the members of an object but for one, with which it is found."""
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, Any]", value)
    masked = masker.json({name: item for name, item in members.items() if name != kept})
    return {**members, **cast("dict[str, Any]", masked)} if isinstance(masked, dict) else members


async def _records(step: _JobStep) -> _StepResult:
    conn = step.conn
    [log] = await sql.column(
        conn, "logs_after", project_id=step.project_id, after=int(step.job["at_key"] or -1), how_many=1
    ) or [None]
    if log is None:
        return _StepResult({"at_key": ""}, {}, is_through=True)
    looked_at = changed = 0
    while portion := (
        await conversation_records.read(step.conn, step.packs, step.project_id, log, looked_at, _ROWS)
    ).texts:
        masked = await asyncio.to_thread(step.masker.json, portion)
        numbers = [n for n, (before, after) in enumerate(zip(portion, masked, strict=True)) if before != after]
        if numbers:
            await conversation_records.replace(
                step.conn, step.project_id, log, {looked_at + n + 1: masked[n] for n in numbers}
            )
        looked_at, changed = looked_at + len(portion), changed + len(numbers)
    return _StepResult({"at_key": str(log)}, {"records": (looked_at, changed)})


async def _search(step: _JobStep) -> _StepResult:
    """Has the search index made again in the background, if anything was masked that may be in it."""
    conn = step.conn
    counts: dict[str, Sequence[int]] = orjson.loads(step.job["counts"])
    if any(counts.get(kind, (0, 0))[1] for kind in ("contents", "packed_contents", "runs")):
        await search_blocks.lock(step.conn, step.project_id)
        await sql.run(conn, "clear_search", project_id=step.project_id)
    return _StepResult({}, {}, is_through=True)


_STEPS: Sequence[Callable[[_JobStep], Awaitable[_StepResult]]] = (
    _contents,
    _in_packs,
    _runs,
    _promises,
    _records,
    _search,
)

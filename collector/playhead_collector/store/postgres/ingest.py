"""receive → lift → [store]: stores a batch in one transaction, with few round trips whatever its size.

Order of work: first contents and threads, because spans name them; then pages of spans, and the refs that they wait
for; last the news rows of the runs, and the entries in the outbox of each destination. All transactions lock news rows
in the same order, so that transactions with the same runs cannot deadlock.
"""

import datetime
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from playhead.model import names
from playhead.model.canonical import Content
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.model.state import RUNNING
from playhead.projection.attributes import order_of
from playhead.projection.scores import evaluations_on
from playhead.wire.pack import ThreadExtension
from playhead_collector.store.packing.span_pages import (
    PackedSpanPage,
    join,
    log_key,
    named_refs,
    pack,
    page_parts,
    span_key,
)
from playhead_collector.store.ports.spans import Batch, Ingested
from playhead_collector.store.postgres import content_rows, erasing, threads
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Takeover, WriteContext, begin_write
from playhead_collector.store.postgres.dictionaries import Dictionaries
from playhead_collector.store.postgres.packs import Packs
from playhead_collector.store.postgres.recipients import Recipient
from playhead_collector.store.postgres.runs import BIGINT, clamp_int, label, without_nul
from playhead_collector.store.postgres.statements import Conn
from playhead_collector.store.postgres.threads import LineageNumbers
from playhead_collector.store.run_items import items_by_run

# --- a batch ---------------------------------------------------------------------------------------------------------

_NS_PER_SECOND = 1_000_000_000


@dataclass(slots=True)
class RunArrival:
    """The part of a batch that belongs to one run, the pages in which it is stored, and the refs that it names."""

    spans: list[Span] = field(default_factory=list[Span])
    logs: list[LogEvent] = field(default_factory=list[LogEvent])
    pages: list[PackedSpanPage] = field(default_factory=list[PackedSpanPage])
    refs: set[ContentRef] = field(default_factory=set[ContentRef])

    @property
    def items(self) -> int:
        """The number of spans and log events."""
        return len(self.spans) + len(self.logs)

    @property
    def started_ns(self) -> int:
        """The time of the first span or log event, in ns since 1970."""
        times = [span.start_ns for span in self.spans] + [log.time_ns for log in self.logs]
        return clamp_int(min(times), BIGINT)

    @property
    def is_own(self) -> bool:
        """Whether Playhead's SDK recorded any of it: only its records name their run."""
        return any(names.RUN_ID in item.attributes for item in (*self.spans, *self.logs))

    @property
    def is_from_own_process(self) -> bool:
        """Whether any of it comes from the process that owns the run. Only that process numbers its records; a process
        that got a part of the run, or another instrumentation, does not."""
        return any(order_of(item.attributes) is not None for item in (*self.spans, *self.logs))

    @property
    def name(self) -> str | None:
        """The run's name, from its root span; None if the batch does not have it."""
        run_names = [span.attributes[names.RUN_NAME] for span in self.spans if names.RUN_NAME in span.attributes]
        return without_nul(str(run_names[0])) if run_names else None


@dataclass(frozen=True, slots=True)
class StoreResult:
    """Result of `put`: the number of new contents and their size in bytes, those given refs that are stored now, the
    parents that are not stored, and the runs that waited for any of the refs."""

    new_contents: int
    new_bytes: int
    stored: set[ContentRef]
    unknown_parents: list[ContentRef]
    waiting: set[UUID]


@dataclass(frozen=True, slots=True)
class StoreMemory:
    """Caches of a store between transactions."""

    packs: Packs = field(default_factory=lambda: Packs(Dictionaries()))
    lineage_numbers: LineageNumbers = field(default_factory=LineageNumbers)


def arrivals(batch: Batch) -> dict[str, RunArrival]:
    """Returns the batch by run.  Announcements become spans without an end.  Pure."""
    return {
        run: RunArrival(items.spans, items.logs, pack(items.spans, items.logs), named_refs(items.spans, items.logs))
        for run, items in items_by_run(batch.spans, batch.logs).items()
    }


async def put(
    conn: Conn,
    memory: StoreMemory,
    write_context: WriteContext,
    contents: Sequence[Content],
    extensions: Iterable[ThreadExtension],
    today: datetime.date,
    unproven: Collection[bytes] = (),
) -> StoreResult:
    """Stores contents and threads. As the last step of the transaction, call `mark_waiting_runs` for the runs in
    `waiting` of the result. `unproven`: see `content_rows.put`."""
    project_id = write_context.project_id
    new, new_bytes, awaited = await content_rows.put(conn, memory.packs, write_context, contents, today, unproven)
    grown = await threads.put(conn, memory.packs, memory.lineage_numbers, write_context, extensions, today)
    waiting: list[UUID] = []
    if awaited or grown.awaited:
        waiting = await sql.column(conn, "take_pending", project_id=project_id, refs=new + grown.new)
    grown.stored.update(item.ref.plain for item in contents)
    return StoreResult(len(new), new_bytes, grown.stored, grown.unknown_parents, set(waiting))


async def ingest(
    conn: Conn,
    memory: StoreMemory,
    project_id: int,
    batch: Batch,
    by_run: Mapping[str, RunArrival],
    now_ns: int,
    recipients: Sequence[Recipient] = (),
) -> tuple[Ingested, StoreResult]:
    """Stores the batch without data of deleted runs and of superseded attempts, and adds it to the outbox of
    `recipients`. `by_run` is `arrivals(batch)`, computed once for all attempts."""
    runs = [*by_run] if batch.about is None else [*by_run, batch.about]
    write_context = await begin_write(conn, project_id, map(UUID, runs))
    if batch.about is not None and UUID(batch.about) in write_context.deleted_runs:
        batch, by_run = Batch(), {}
    dropped = await _drop_late(conn, memory.packs, write_context, by_run, now_ns)
    by_run = {run: arrival for run, arrival in by_run.items() if UUID(run) not in write_context.deleted_runs}
    before = sum(arrival.items for arrival in by_run.values())
    by_run, takeovers = _without_superseded(by_run, write_context.takeovers)
    superseded = before - sum(arrival.items for arrival in by_run.values())
    # If nothing else of the batch is kept, its contents are not needed either.
    whole_batch = Batch() if (dropped or superseded) and not by_run else batch
    stored = await put(conn, memory, write_context, whole_batch.contents, whole_batch.threads, date_of(now_ns))
    fresh = await _insert_pages(conn, project_id, by_run)
    news = {run: by_run[run] for run, _ in fresh}
    pending = await _note_pending(conn, memory.packs, write_context, news, stored.stored, date_of(now_ns))
    entries: dict[str, list[Any]] = {}
    served = [recipient for recipient in recipients if recipient.serves(project_id)]
    if served and fresh:
        entries = new_entries(served, news, fresh)
    own_runs = {UUID(run) for run, arrival in news.items() if arrival.is_from_own_process}
    await _mark_news(conn, project_id, {UUID(run) for run in news}, own_runs, stored.waiting, now_ns, entries)
    repeated = [page for run, arrival in by_run.items() for page in arrival.pages if (run, page.digest) not in fresh]
    duplicates = sum(page.ended for page in repeated)
    new = stored.new_contents, stored.new_bytes
    return Ingested(len(batch.spans), duplicates, tuple(pending), dropped, *new, superseded, takeovers), stored


def _without_superseded(
    by_run: Mapping[str, RunArrival], takeovers: Iterable[Takeover]
) -> tuple[dict[str, RunArrival], dict[str, int]]:
    """Leaves out spans and log events that earlier attempts at a run recorded after the run was taken over. Returns the
    rest, and for each run of which something was left out, the attempt that took it over. Pure."""
    remaining, left_out = dict(by_run), dict[str, int]()
    for takeover in takeovers:
        arrival = remaining.get(takeover.run)
        if arrival is None:
            continue
        spans = [span for span in arrival.spans if not _is_superseded(span, takeover)]
        logs = [log for log in arrival.logs if not _is_superseded(log, takeover)]
        if len(spans) + len(logs) == arrival.items:
            continue
        left_out[takeover.run] = max(takeover.attempt, left_out.get(takeover.run, 0))
        del remaining[takeover.run]
        if spans or logs:
            remaining[takeover.run] = RunArrival(spans, logs, pack(spans, logs), named_refs(spans, logs))
    return remaining, left_out


def _is_superseded(item: Span | LogEvent, takeover: Takeover) -> bool:
    # An item without an attempt was not recorded by one: a score, or the note that another run continues this one.
    attempt = item.attributes.get(names.RUN_ATTEMPT)
    last_ns = item.time_ns if isinstance(item, LogEvent) else item.end_ns or item.start_ns
    return isinstance(attempt, int) and attempt < takeover.attempt and last_ns > takeover.since_ns


async def _drop_late(
    conn: Conn, packs: Packs, write_context: WriteContext, by_run: Mapping[str, RunArrival], now_ns: int
) -> int:
    """Adds the number of spans and log events of deleted runs to the runs' tombstones. Returns the total. What those of
    forgotten runs name is erased, as what came before."""
    late = {
        UUID(run): arrival.items for run, arrival in sorted(by_run.items()) if UUID(run) in write_context.deleted_runs
    }
    if late:
        runs, items = list(late), list(late.values())
        project_id = write_context.project_id
        await sql.run(conn, "drop_late", project_id=project_id, runs=runs, items=items, now=now_ns)
        erased = set(await sql.column(conn, "erased_of", project_id=project_id, runs=runs))
        named = {ref.digest for run, arrival in by_run.items() if UUID(run) in erased for ref in arrival.refs}
        if named:
            await erasing.add_late(conn, packs, project_id, named, now_ns)
    return sum(late.values())


async def _mark_news(
    conn: Conn,
    project_id: int,
    fresh: set[UUID],
    own_runs: set[UUID],
    waiting: set[UUID],
    now_ns: int,
    entries: Mapping[str, list[Any]],
) -> None:
    """Marks runs as having news.

    `fresh`: runs with new data. `own_runs`: those of them whose own process sent some of it. `waiting`: runs that
    waited for a content that is stored now. `entries`: entries for the outbox (see `new_entries`), which are stored
    with the same statement.
    """
    runs = sorted(fresh | waiting)
    if not runs:
        return
    news = {
        "project_id": project_id,
        "runs": runs,
        "arrived": [now_ns if run in fresh else 0 for run in runs],
        "own": [now_ns if run in own_runs else 0 for run in runs],
        "now": now_ns,
    }
    if entries:
        await sql.run(conn, "mark_news_and_fill_outbox", **news, **entries)
    else:
        await sql.run(conn, "mark_news", **news)


async def mark_waiting_runs(conn: Conn, project_id: int, runs: Iterable[UUID], now_ns: int) -> None:
    """Marks runs as having news because content arrived for which they waited."""
    if in_order := sorted(runs):
        await sql.run(conn, "wake", project_id=project_id, runs=in_order, now=now_ns)


def date_of(now_ns: int) -> datetime.date:
    """Returns the UTC date of a time in ns since 1970, for `last_seen`."""
    return datetime.datetime.fromtimestamp(now_ns // _NS_PER_SECOND, datetime.UTC).date()


async def _insert_pages(conn: Conn, project_id: int, by_run: Mapping[str, RunArrival]) -> set[tuple[str, UUID]]:
    """Stores pages of spans. Returns run and digest of those that are new."""
    if not by_run:
        return set()
    pages = [(UUID(run), page) for run, arrival in by_run.items() for page in arrival.pages]
    rows = await sql.rows(
        conn,
        "insert_pages",
        project_id=project_id,
        runs=[run for run, _ in pages],
        digests=[page.digest for _, page in pages],
        items=[page.items for _, page in pages],
        bodies=[page.body for _, page in pages],
        told=[UUID(run) for run in by_run],
        started=[arrival.started_ns for arrival in by_run.values()],
        names=[arrival.name for arrival in by_run.values()],
        searches=[(arrival.name or "").lower() for arrival in by_run.values()],
        owns=[arrival.is_own for arrival in by_run.values()],
        labels=[label("status", RUNNING)],
    )
    return {(row["run_id"].hex, row["digest"]) for row in rows}


async def _note_pending(
    conn: Conn,
    packs: Packs,
    write_context: WriteContext,
    fresh: Mapping[str, RunArrival],
    here: set[ContentRef],
    today: datetime.date,
) -> list[ContentRef]:
    project_id, refs = (
        write_context.project_id,
        set[ContentRef]().union(*(arrival.refs for arrival in fresh.values())) - here,
    )
    pending = await content_rows.missing(conn, packs, write_context, list(refs), today) if refs else []
    if pending:
        waiting = [(UUID(run), ref) for run, arrival in fresh.items() for ref in pending if ref in arrival.refs]
        await sql.run(
            conn,
            "insert_pending",
            project_id=project_id,
            runs=[run for run, _ in waiting],
            refs=[ref.digest for _, ref in waiting],
        )
    return pending


# --- entries in the outbox -------------------------------------------------------------------------------------------


class _OutboxRow(NamedTuple):
    destination: str
    run: UUID
    digest: UUID
    spans: bytes
    logs: bytes


def new_entries(
    recipients: Sequence[Recipient], arrived: Mapping[str, RunArrival], fresh: set[tuple[str, UUID]]
) -> dict[str, list[Any]]:
    """Returns entries for the ended spans and the log events of pages in `fresh` (given as run and digest), as columns
    of `mark_news_and_fill_outbox`. An empty dict if there are none.  Pure."""
    rows = [row for run, arrival in arrived.items() for row in _outbox_rows(recipients, run, arrival, fresh)]
    if not rows:
        return {}
    destinations, runs, digests, spans, logs = map(list, zip(*rows, strict=True))
    return {"destinations": destinations, "entry_runs": runs, "digests": digests, "spans": spans, "logs": logs}


async def fill_log(
    conn: Conn, project_id: int, recipients: Sequence[Recipient], log: LogEvent, run: UUID, now_ns: int
) -> None:
    """Adds entries for a log event of a run that is in no page."""
    served = (recipient for recipient in recipients if recipient.serves(project_id))
    takers = [recipient.name for recipient in served if recipient.takes(run.hex) and recipient.takes_log(log)]
    if takers:
        same = {"runs": [run], "digests": [None], "spans": [b""], "logs": [log_key(log)]}
        columns = {name: values * len(takers) for name, values in same.items()}
        await sql.run(conn, "fill_outbox", project_id=project_id, now=now_ns, destinations=takers, **columns)


def _outbox_rows(
    recipients: Sequence[Recipient], run: str, arrived: RunArrival, fresh: set[tuple[str, UUID]]
) -> Iterator[_OutboxRow]:
    wanted = [recipient for recipient in recipients if recipient.takes(run)]
    if not wanted:
        return
    parts = page_parts(arrived.spans, arrived.logs)
    for page, (spans, logs) in zip(arrived.pages, parts, strict=True):
        if (run, page.digest) not in fresh:
            continue
        span_keys = join(span_key(span) for span in spans if span.end_ns is not None)
        events = [*logs, *(evaluation for span in spans for evaluation in evaluations_on(span))]
        keys = {id(log): log_key(log) for log in events if any(recipient.takes_log(log) for recipient in wanted)}
        for recipient in wanted:
            log_keys = join(keys[id(log)] for log in events if recipient.takes_log(log))
            if span_keys or log_keys:
                yield _OutboxRow(recipient.name, UUID(run), page.digest, span_keys, log_keys)

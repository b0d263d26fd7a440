"""projection → [store]: a growing run.  New events and spans are added to the stored ones, which are not written again.

Events and spans of an open run are in small pages, one per batch. When there are many small pages, they are merged into
large ones.  So each event is written only a few times, independent of the length of the run.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from asyncpg import Record

from playhead.model.event import RunEvent
from playhead.projection.inputs import Projection
from playhead_collector.store.packing import span_pages
from playhead_collector.store.packing.span_pages import PAGE_ITEMS, REPACK_AT_PAGES
from playhead_collector.store.packing.zstd import decompress_json
from playhead_collector.store.ports.projections import ProjectionCursor
from playhead_collector.store.postgres import changes, events
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.changes import EventsDifference
from playhead_collector.store.postgres.events import PAGE_EVENTS, EventPage
from playhead_collector.store.postgres.statements import Conn

# When there are this many partly filled pages of events, they are merged.
LOOSE_PAGES = 16
# Packing more events than this would block the event loop: a thread does it.
_BUSY_EVENTS = 100


@dataclass(slots=True)
class GrownRun:
    """The new events and spans of a run, and the pages to write for them. `gone`: numbers of the pages to delete."""

    run: UUID
    cursor: ProjectionCursor
    result: Projection
    gone: list[int] = field(default_factory=list[int])
    pages: list[EventPage] = field(default_factory=list[EventPage])

    @property
    def wanted(self) -> list[int]:
        """Numbers of the pages of events to rewrite: pages with changed events, and all loose pages if there are
        LOOSE_PAGES of them."""
        changed = {event.seq for event in self.result.altered}
        changed_pages = [
            page for page, first, last in self.cursor.event_pages if any(first <= seq <= last for seq in changed)
        ]
        loose = self.loose
        return sorted({*changed_pages, *loose}) if len(loose) >= LOOSE_PAGES else changed_pages

    @property
    def loose(self) -> list[int]:
        """Numbers of the pages of events after the last full one."""
        pages: list[int] = []
        for page, first, last in reversed(self.cursor.event_pages):
            if last - first + 1 >= PAGE_EVENTS:
                break
            pages.append(page)
        return pages[::-1]

    def make_pages(self, stored: Mapping[int, Sequence[RunEvent]]) -> None:
        """Makes the new pages and updates the footing. `stored`: the events of the `wanted` pages."""
        now = {event.seq: event for event in self.result.altered}
        loose = self.loose
        there = {page: (page, first, last) for page, first, last in self.cursor.event_pages}
        tail = list(self.result.events)
        start = max(there, default=-1) + 1
        if len(loose) >= LOOSE_PAGES:
            tail = [now.get(event.seq, event) for page in loose for event in stored[page]] + tail
            start, self.gone = loose[0], loose
        for page in stored:
            if page not in self.gone:
                self.pages += events.pack_page(page, [now.get(event.seq, event) for event in stored[page]])
        for n, offset in enumerate(range(0, len(tail), PAGE_EVENTS)):
            self.pages += events.pack_page(start + n, tail[offset : offset + PAGE_EVENTS])
        written = {page.page: (page.page, page.first, page.last) for page in self.pages}
        self.gone = [page for page in self.gone if page not in written]
        bounds_of = {page: bounds for page, bounds in there.items() if page not in self.gone} | written
        self.cursor.event_pages = [bounds_of[page] for page in sorted(bounds_of)]


async def write(conn: Conn, project_id: int, grown_runs: Sequence[GrownRun]) -> dict[UUID, EventsDifference]:
    """Stores events and snapshots. Returns the differences, by run."""
    counts = [max((last for _, _, last in growth.cursor.event_pages), default=0) for growth in grown_runs]
    wanted = [(growth.run, page) for growth in grown_runs for page in growth.wanted]
    stored: dict[UUID, dict[int, Sequence[RunEvent]]] = {growth.run: {} for growth in grown_runs}
    if wanted:
        columns = {"runs": [run for run, _ in wanted], "pages": [page for _, page in wanted]}
        for row in await sql.rows(conn, "read_pages_of_events", project_id=project_id, **columns):
            page_events = events.unpack(row["run_id"].hex, row["first_seq"], decompress_json(row["body"]))
            stored[row["run_id"]][row["page"]] = page_events
    if sum(len(growth.result.events) for growth in grown_runs) > _BUSY_EVENTS:
        await asyncio.to_thread(_make_pages, grown_runs, stored)
    else:
        _make_pages(grown_runs, stored)
    await events.delete_pages(conn, project_id, [(growth.run, page) for growth in grown_runs for page in growth.gone])
    await events.write_pages(
        conn, project_id, [(growth.run, None, page) for growth in grown_runs for page in growth.pages]
    )
    await events.add_snapshots(
        conn, project_id, [(growth.run, state) for growth in grown_runs for state in _snapshots(growth)]
    )
    return {
        growth.run: changes.growth_difference(before, len(growth.result.events), growth.result.altered)
        for growth, before in zip(grown_runs, counts, strict=True)
    }


def _make_pages(grown_runs: Iterable[GrownRun], stored: Mapping[UUID, Mapping[int, Sequence[RunEvent]]]) -> None:
    for growth in grown_runs:
        growth.make_pages(stored[growth.run])


def _snapshots(growth: GrownRun) -> list[events.Snapshot]:
    states = growth.result.snapshots
    packed = events.pack_snapshots(states, growth.cursor.history)
    if states:
        growth.cursor.history = len(states[-1].history)
    return packed


async def merge_small_pages(conn: Conn, project_id: int, grown_runs: Sequence[GrownRun]) -> None:
    """Merges small pages of spans."""
    for growth in grown_runs:
        loose = [page for page, items in growth.cursor.pages.items() if items < PAGE_ITEMS]
        if len(loose) < REPACK_AT_PAGES:
            continue
        rows = await sql.rows(conn, "read_these_pages", project_id=project_id, run=growth.run, pages=loose)
        tidied = await asyncio.to_thread(_repacked, rows)
        if tidied is not None:
            await replace_pages(conn, project_id, [(growth.run, growth.cursor.pages, tidied)])


def _repacked(rows: Sequence[Record]) -> span_pages.RepackedPages | None:
    pages = [span_pages.unpack(row["page"], row["body"]) for row in rows]
    return span_pages.repack(pages, span_pages.merge(pages), thoroughly=False)


async def replace_pages(
    conn: Conn, project_id: int, repacked_runs: Sequence[tuple[UUID, dict[int, int], span_pages.RepackedPages]]
) -> dict[UUID, int]:
    """Replaces pages of spans, and updates the given number of items by page. Returns the last new page number of each
    run."""
    ids = [run for run, _, _ in repacked_runs]
    gone = [number for _, _, repacked in repacked_runs for number in repacked.gone]
    await sql.run(conn, "delete_pages", project_id=project_id, runs=ids, pages=gone)
    written = [(run, page) for run, _, repacked in repacked_runs for page in repacked.pages]
    rows = await sql.rows(
        conn,
        "write_pages",
        project_id=project_id,
        runs=[run for run, _ in written],
        digests=[page.digest for _, page in written],
        items=[page.items for _, page in written],
        bodies=[page.body for _, page in written],
    )
    pages = {run: sizes for run, sizes, _ in repacked_runs}
    for number in gone:
        for sizes in pages.values():
            sizes.pop(number, None)
    for row in rows:
        pages[row["run_id"]][row["page"]] = row["items"]
    return {row["run_id"]: row["page"] for row in rows}

"""[read]: what a content is, and which runs and calls had it."""

from collections.abc import Sequence

from playhead.model.canonical import Content
from playhead.model.event import RunEvent
from playhead.model.message import read_message
from playhead.model.ref import ContentRef
from playhead.model.thread import THREAD
from playhead.model.times import rfc3339
from playhead.project.context.content_uses import call_threads, places_of
from playhead.wire.answers.content import ContentAbout, ContentRun
from playhead_collector.read.paging import read_row_cursor, run_cursor
from playhead_collector.read.values import plain_value
from playhead_collector.store.ports import ReadStore
from playhead_collector.store.ports.uses import ContentUse, UseTotals

_MOST_PLACES = 20
_MOST_NODES = 200_000
# Calls with one thread: trials of one task, that began alike.
_MOST_CALLS = 1_000


async def read_about(store: ReadStore, project: int, ref: ContentRef, limit: int, cursor: str | None) -> ContentAbout:
    """What the content is, who had it, and a page of the runs.  Raises ContentMissing."""
    content = await store.get(project, ref)
    kind, role = kind_of(content)
    before = read_row_cursor(cursor)
    if kind == "thread":
        totals = await _of_thread(store, project, ref)
        rest: Sequence[ContentUse] = ()
    else:
        totals = await store.use_totals(project, ref)
        rest = await store.uses(project, ref, limit=limit + len(totals.recent) + 1, before=before)
    page = _merged(totals.recent, rest, before)
    shown = page[:limit]
    return {
        "ref": ref,
        "kind": kind,
        "role": role,
        "media_type": content.media_type,
        "size": len(content.data),
        "first_seen": None if totals.first_ns is None else rfc3339(totals.first_ns),
        "last_seen": None if totals.last_ns is None else rfc3339(totals.last_ns),
        "runs": totals.runs,
        "calls": totals.calls,
        "bytes_sent": len(content.data) * totals.calls,
        "complete": not totals.unread,
        "items": [item for each in shown if (item := await _run(store, project, ref, each)) is not None],
        "next_cursor": run_cursor(shown[-1].started_ns, shown[-1].run) if len(page) > limit else None,
    }


def _merged(
    recent: Sequence[ContentUse], rest: Sequence[ContentUse], before: tuple[int, str] | None
) -> list[ContentUse]:
    """Newest first, from behind `before` on, each run once."""
    known = {each.run for each in recent}
    every = [*recent, *(each for each in rest if each.run not in known)]
    behind = [each for each in every if before is None or (each.started_ns, each.run) < before]
    return sorted(behind, key=lambda each: (each.started_ns, each.run), reverse=True)


def kind_of(content: Content) -> tuple[str, str | None]:
    """What it is, and the role of a message.  Pure."""
    if content.media_type == THREAD:
        return "thread", None
    try:
        return "message", read_message(content.data)["role"]
    except (ValueError, RecursionError):
        pass
    if plain_value(content) is None:
        return "bytes", None
    return ("json" if content.media_type.partition(";")[0].strip().endswith("json") else "text"), None


async def _of_thread(store: ReadStore, project: int, ref: ContentRef) -> UseTotals:
    calls = await store.calls_with_thread(project, ref.plain, limit=_MOST_CALLS + 1)
    by_run: dict[str, int] = {}
    for run, _ in calls[:_MOST_CALLS]:
        by_run[run] = by_run.get(run, 0) + 1
    rows = [(row, count) for run, count in by_run.items() if (row := await store.run(project, run)) is not None]
    uses = [ContentUse(row.run, row.started_ns, count) for row, count in rows]
    uses.sort(key=lambda each: (each.started_ns, each.run), reverse=True)
    first, last = (uses[-1].started_ns, uses[0].started_ns) if uses else (None, None)
    return UseTotals(len(uses), sum(each.calls for each in uses), first, last, uses, len(calls) > _MOST_CALLS)


async def _run(store: ReadStore, project: int, ref: ContentRef, use: ContentUse) -> ContentRun | None:
    """The run with the events that named the content; None if it was deleted just now."""
    row = await store.run(project, use.run)
    if row is None:
        return None
    own: list[RunEvent] = []
    async for page in store.event_pages(project, use.run):
        own += [event for event in page if event.run == use.run]
    threads = await store.threads(project, call_threads(own), _MOST_NODES)
    found = list(places_of(own, threads.nodes, ref))
    return {
        "run": row.run,
        "name": row.name,
        "status": row.status,
        "started": rfc3339(row.started_ns),
        "calls": use.calls,
        "places": [
            {"seq": place.event.seq, "kind": place.event.kind, "use": place.use, "time": rfc3339(place.event.time_ns)}
            for place in found[:_MOST_PLACES]
        ],
        "more_places": len(found) > _MOST_PLACES,
    }

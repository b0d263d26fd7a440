"""[read]: the kind of a content, and the runs and calls that had it."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TypedDict

from playhead.model.canonical import Content
from playhead.model.content_kinds import OF_EVENT_FIELD, ContentKind, kind_of_part, kind_of_role
from playhead.model.message import read_message
from playhead.model.ref import ContentRef
from playhead.model.thread import THREAD, ThreadNode
from playhead.model.times import rfc3339
from playhead.model.token_estimates import estimate_content
from playhead.projection.content_uses import PlaceOfUse, call_threads, count_calls, places_of
from playhead.projection.run_row import RunRow
from playhead.wire.operations.content import ContentAbout, ContentRun
from playhead_collector.read.paging import read_row_cursor, run_cursor
from playhead_collector.read.record import stored_record
from playhead_collector.read.values import plain_value
from playhead_collector.store.ports import ReadStore
from playhead_collector.store.ports.uses import ContentUse, UseTotals

_MOST_PLACES = 20
_MOST_PLACES_OF_ONE_RUN = 1_000
_MOST_NODES = 200_000
# The most calls with one thread. Several calls have the same thread if trials of one task begin alike.
_MOST_CALLS = 1_000


async def read_about(
    store: ReadStore, project_id: int, ref: ContentRef, limit: int, cursor: str | None
) -> ContentAbout:
    """Returns the kind of the content, totals of its uses, and a page of the runs that had it.  Raises
    ContentMissing."""
    content = await store.contents.get(project_id, ref)
    before = read_row_cursor(cursor)
    if content.media_type == THREAD:
        totals = await _of_thread(store, project_id, ref)
        rest: Sequence[ContentUse] = ()
    else:
        totals = await store.uses.totals(project_id, ref)
        rest = await store.uses.page(project_id, ref, limit=limit + len(totals.recent) + 1, before=before)
    page = _merged(totals.recent, rest, before)
    uses = page[:limit]
    items = [item for use in uses if (item := await _run(store, project_id, ref, use)) is not None]
    return {
        **await _description(store, project_id, ref, content, items),
        "first_seen": None if totals.first_ns is None else rfc3339(totals.first_ns),
        "last_seen": None if totals.last_ns is None else rfc3339(totals.last_ns),
        "runs": totals.runs,
        "calls": totals.calls,
        "bytes_sent": len(content.data) * totals.calls,
        "complete": not (totals.unread or await store.uses.is_any_left_out(project_id)),
        "items": items,
        "next_cursor": run_cursor(uses[-1].started_ns, uses[-1].run) if len(page) > limit else None,
    }


async def read_about_in_run(store: ReadStore, project_id: int, ref: ContentRef, run: str) -> ContentAbout:
    """Returns the same for one run. Includes events that a fork shares with its parent.

    Raises ContentMissing, and Refused if there is no such run.
    """
    content = await store.contents.get(project_id, ref)
    row = (await stored_record(store, project_id, run)).row
    places, complete = await _places(store, project_id, ref, run, shared=True)
    calls = count_calls(places)
    seen = rfc3339(row.started_ns) if places else None
    items = [_item(row, calls, places, _MOST_PLACES_OF_ONE_RUN)] if places else []
    return {
        **await _description(store, project_id, ref, content, items),
        "first_seen": seen,
        "last_seen": seen,
        "runs": 1 if places else 0,
        "calls": calls,
        "bytes_sent": len(content.data) * calls,
        "complete": complete,
        "items": items,
        "next_cursor": None,
    }


class _Description(TypedDict):
    """The part of `ContentAbout` that says what a content is."""

    ref: str
    kind: str
    role: str | None
    content_kind: ContentKind | None
    media_type: str
    size: int
    masked: bool
    tokens: int | None
    tier: str | None
    first_stored: str | None
    last_named: str | None


async def _description(
    store: ReadStore, project_id: int, ref: ContentRef, content: Content, items: Sequence[ContentRun]
) -> _Description:
    kind, role = kind_of(content)
    facts = await store.contents.facts(project_id, ref)
    content_kind: ContentKind | None = kind_of_role(role) or kind_of_part(content.data)
    if facts is not None and facts.kind is not None:
        content_kind = facts.kind
    elif content_kind is None:  # of no run that was packed: the first use that says something, of the earliest runs
        places = [place for item in reversed(items) for place in item["places"]]
        used: list[ContentKind | None] = [OF_EVENT_FIELD.get(place["use"]) for place in places]
        content_kind = next((found for found in used if found is not None), None)
    first_stored = None if facts is None else facts.first_stored
    return {
        "ref": ref,
        "kind": kind,
        "role": role,
        "content_kind": content_kind,
        "media_type": content.media_type,
        "size": len(content.data),
        "masked": content.is_masked,
        "tokens": None if content.media_type == THREAD else await asyncio.to_thread(estimate_content, content.data),
        "tier": None if facts is None else facts.tier,
        "first_stored": None if first_stored is None else first_stored.isoformat(),
        "last_named": None if facts is None else facts.last_named.isoformat(),
    }


def _merged(
    recent: Sequence[ContentUse], rest: Sequence[ContentUse], before: tuple[int, str] | None
) -> list[ContentUse]:
    """Merges both lists, newest first, each run once. Keeps only runs after the cursor `before`."""
    recent_runs = {use.run for use in recent}
    every = [*recent, *(use for use in rest if use.run not in recent_runs)]
    behind = [use for use in every if before is None or (use.started_ns, use.run) < before]
    return sorted(behind, key=lambda use: (use.started_ns, use.run), reverse=True)


def kind_of(content: Content) -> tuple[str, str | None]:
    """Returns the kind of a content (thread, message, json, text, bytes), and the role if it is a message.  Pure."""
    if content.media_type == THREAD:
        return "thread", None
    try:
        return "message", read_message(content.data)["role"]
    except (ValueError, RecursionError):
        pass
    if plain_value(content) is None:
        return "bytes", None
    return ("json" if content.media_type.partition(";")[0].strip().endswith("json") else "text"), None


async def _of_thread(store: ReadStore, project_id: int, ref: ContentRef) -> UseTotals:
    calls = await store.uses.calls_with_thread(project_id, ref.plain, limit=_MOST_CALLS + 1)
    by_run: dict[str, int] = {}
    for run, _ in calls[:_MOST_CALLS]:
        by_run[run] = by_run.get(run, 0) + 1
    rows = [(row, count) for run, count in by_run.items() if (row := await store.runs.get(project_id, run)) is not None]
    uses = [ContentUse(row.run, row.started_ns, count) for row, count in rows]
    uses.sort(key=lambda use: (use.started_ns, use.run), reverse=True)
    first, last = (uses[-1].started_ns, uses[0].started_ns) if uses else (None, None)
    return UseTotals(len(uses), sum(use.calls for use in uses), first, last, uses, len(calls) > _MOST_CALLS)


async def _run(store: ReadStore, project_id: int, ref: ContentRef, use: ContentUse) -> ContentRun | None:
    """Returns the run with the events that named the content; None if the run was deleted meanwhile."""
    row = await store.runs.get(project_id, use.run)
    if row is None:
        return None
    places, _ = await _places(store, project_id, ref, row.run, shared=False)
    return _item(row, use.calls, places, _MOST_PLACES)


async def _places(
    store: ReadStore, project_id: int, ref: ContentRef, run: str, *, shared: bool
) -> tuple[list[PlaceOfUse], bool]:
    """Returns the events of the run that had the content, and whether all threads were searched. `shared`: also search
    the events that a fork shares with its parent."""
    events = [
        event async for page in store.events.pages(project_id, run) for event in page if shared or event.run == run
    ]
    nodes, complete = await _nodes(store, project_id, call_threads(events))
    return list(places_of(events, nodes, ref)), complete


async def _nodes(
    store: ReadStore, project_id: int, threads: Sequence[ContentRef]
) -> tuple[Mapping[ContentRef, ThreadNode], bool]:
    """Returns the nodes of these threads, and whether all threads were read.

    Reads the last threads first, and each time twice as many: the threads of earlier calls are often prefixes of later
    ones.
    """
    nodes: dict[ContentRef, ThreadNode] = {}
    rest, size = list(reversed(threads)), 1
    while rest and len(nodes) < _MOST_NODES:
        batch = await store.contents.threads(project_id, rest[:size], _MOST_NODES)
        nodes.update(batch.nodes)
        tried = {thread for thread in rest[:size] if thread not in batch.unread}
        rest = [thread for thread in rest if thread not in nodes and thread not in tried]
        size *= 2
    return nodes, not rest


def _item(row: RunRow, calls: int, places: Sequence[PlaceOfUse], most: int) -> ContentRun:
    return {
        "run": row.run,
        "name": row.name,
        "status": row.status,
        "started": rfc3339(row.started_ns),
        "calls": calls,
        "places": [
            {"seq": place.event.seq, "kind": place.event.kind, "use": place.use, "time": rfc3339(place.event.time_ns)}
            for place in places[:most]
        ],
        "more_places": len(places) > most,
    }

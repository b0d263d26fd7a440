"""Handlers of the amount of stored data, and of its deletion."""

import datetime
from typing import TYPE_CHECKING

from playhead.model.content_kinds import CONTENT_KINDS
from playhead.model.times import NS
from playhead.wire.operations.page import Page
from playhead.wire.operations.storage import (
    LARGEST_SMALL,
    UNKNOWN_KIND,
    Collected,
    DeletedRuns,
    ListedContent,
    Storage,
    StorageOperations,
    StoredContentKind,
)
from playhead_collector.access import FIRST_PROJECT
from playhead_collector.errors import Refused
from playhead_collector.handlers.asking import Changing
from playhead_collector.handlers.conditions import read_time
from playhead_collector.handlers.handling import changes, handles_with_store
from playhead_collector.read.paging import read_size_cursor, size_cursor
from playhead_collector.read.record import LAST, run_named
from playhead_collector.read.storage import read_storage
from playhead_collector.read.stored_contents import ContentFilter
from playhead_collector.store.ports.contents import ContentTier
from playhead_collector.store.ports.storage import LargeContent

if TYPE_CHECKING:
    from playhead_collector.retain.sweeper import Sweeper

_MAX_NAMED = 5


@handles_with_store(StorageOperations.storage)
async def storage(
    asking: Changing,
    *,
    kind: StoredContentKind | None = None,
    tier: ContentTier | None = None,
    before: str | datetime.datetime | None = None,
) -> Storage:
    access = asking.request.access
    is_of_all = access.is_operator or access.project_id == FIRST_PROJECT
    return await read_storage(
        asking.store.storage,
        access.project_id,
        today=_day_of(asking.services.clock()),
        of=ContentFilter(kind, tier, _day(read_time(before))),
        with_database=is_of_all,
    )


@handles_with_store(StorageOperations.large_contents)
async def large_contents(
    asking: Changing,
    *,
    kind: StoredContentKind | None = None,
    larger: int = LARGEST_SMALL,
    limit: int | None = None,
) -> Page[ListedContent]:
    size, after = asking.page(limit), read_size_cursor(asking.cursor)
    kinds = (None, *CONTENT_KINDS) if kind is None else (None if kind == UNKNOWN_KIND else kind,)
    found = await asking.store.storage.large_contents(
        asking.project_id, kinds, larger=larger, limit=size + 1, after=after
    )
    page = found[:size]
    last = page[-1] if len(found) > size else None
    return {
        "items": [_stored_content(content) for content in page],
        "next_cursor": None if last is None else size_cursor(last.size, last.ref),
    }


def _day(time_ns: int | None) -> datetime.date | None:
    return None if time_ns is None else _day_of(time_ns)


def _day_of(time_ns: int) -> datetime.date:
    return datetime.datetime.fromtimestamp(time_ns // NS, datetime.UTC).date()


def _stored_content(content: LargeContent) -> ListedContent:
    return {
        "ref": content.ref,
        "kind": content.kind or UNKNOWN_KIND,
        "tier": content.tier,
        "size": content.size,
        "stored_bytes": content.stored_bytes,
        "tokens": content.tokens,
        "first_stored": None if content.first_stored is None else content.first_stored.isoformat(),
        "last_named": content.last_named.isoformat(),
    }


@changes(StorageOperations.delete_run)
async def delete_run(asking: Changing, run: str, *, forks: bool = False) -> DeletedRuns:
    if run.strip().lower() == LAST:
        message = "`last` may be another run by now: name the one to delete by its id, or a part of it"
        raise Refused(400, "bad_request", message)
    await asking.catch_up()  # forks are known only after they are projected
    named = await run_named(asking.store, asking.project_id, run)
    deleted = await asking.store.garbage.delete_run(asking.project_id, named, forks=forks)
    if deleted.forks:
        names = ", ".join(deleted.forks[:_MAX_NAMED])
        more = f" and {len(deleted.forks) - _MAX_NAMED} more" if len(deleted.forks) > _MAX_NAMED else ""
        message = f"runs were forked from {named} and share its record ({names}{more}): delete them first, or add "
        raise Refused(409, "has_forks", message + "forks=true (`playhead delete --forks`) to delete all of them")
    if not deleted.runs:
        raise Refused(404, "no_such_run", f"there is no run {named!r}: `playhead runs` lists them")
    return {"deleted": list(deleted.runs), "content_after_seconds": _sweeper(asking).grace_s}


@changes(StorageOperations.collect_garbage)
async def collect_garbage(asking: Changing) -> Collected:
    swept = await _sweeper(asking).sweep_now(asking.project_id)
    return {"phase": swept.phase, "contents": swept.contents, "thread_nodes": swept.nodes}


def _sweeper(asking: Changing) -> "Sweeper":
    sweeper = asking.services.sweeper
    assert sweeper is not None  # noqa: S101 - without one, these operations have no route
    return sweeper

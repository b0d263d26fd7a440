"""[read]: how much is stored, and the size of the same records with their contents inline.

Bytes are the sizes of Postgres' files.  Rows are Postgres' own counters.  Other numbers are counted if there are few
items, and otherwise estimated from a sample of bounded size, with a 95 % confidence interval.
"""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from playhead.wire.operations.storage import Amount, ProjectStorage, Storage, StorageSizes, StoredKind
from playhead_collector.read.estimates import Pair, measured, projected
from playhead_collector.read.stored_contents import (
    ALL_CONTENTS,
    ContentFilter,
    StoredCounts,
    age_name,
    content_totals,
    kind_name,
    tier_name,
    totals_by,
)
from playhead_collector.store.ports.storage import InlineSample, StorageReader, TableSize

_KINDS: Final[Mapping[str, Sequence[str]]] = {
    "contents": ("content", "content_pack", "packed_seen", "dictionary", "media_type"),
    "thread_nodes": ("thread_node", "thread_orphan"),
    "spans": ("span_page", "pending_ref"),
    "events": ("event_page", "run_snapshot", "packed_run"),
    "runs": ("run", "run_news", "run_change", "run_lease", "run_tombstone", "packing_due", "promise", "pin"),
    "calls": ("llm_call", "tool_call", "decision", "error"),
    "uses": ("content_use",),
    "search": ("search_run", "search_block"),
    "scores": ("score",),
    "forwarding": ("forward_outbox",),
}
_KIND_OF: Final = {table: kind for kind, tables in _KINDS.items() for table in tables}
_OTHER: Final = "other"


async def read_storage(
    store: StorageReader,
    project_id: int,
    *,
    today: datetime.date,
    of: ContentFilter = ALL_CONTENTS,
    with_database: bool = True,
) -> Storage:
    """Returns the sizes of the project, and of the database; `of`: the contents that are counted by kind, tier and age.
    Raises StoreUnavailable."""
    tables = await store.table_sizes(project_id)
    contents, inline = await store.sample_contents(project_id), await store.sample_inline(project_id)
    of_project = {table.name: table for table in tables}
    rows = {name: _rows_of_project(table) for name, table in of_project.items()}
    population = StoredCounts(rows["content"], rows["content_pack"])
    every = content_totals(contents, population)
    project: ProjectStorage = {
        **_sizes(tables, is_whole=False),
        "contents": every["contents"],
        "content_bytes": every["bytes"],
        "selected": content_totals(contents, population, of),
        "by_kind": totals_by(contents, population, kind_name, of),
        "by_tier": totals_by(contents, population, tier_name, of),
        "by_age": totals_by(contents, population, partial(age_name, today), of),
        "inline_bytes": _inline(inline, rows["run"], rows["llm_call"]),
        "sampled_runs": len(inline.runs),
    }
    return {"project": project, "database": _sizes(tables, is_whole=True) if with_database else None}


def _sizes(tables: Sequence[TableSize], *, is_whole: bool) -> StorageSizes:
    by_kind: dict[str, list[TableSize]] = {kind: [] for kind in (*_KINDS, _OTHER)}
    for table in tables:
        by_kind[_KIND_OF.get(table.name, _OTHER)].append(table)
    return {
        "bytes": _total(((size.bytes, size.share) for size in tables), is_whole=is_whole),
        "index_bytes": _total(((size.index_bytes, size.share) for size in tables), is_whole=is_whole),
        "kinds": {kind: _kind(kind_tables, is_whole=is_whole) for kind, kind_tables in by_kind.items()},
    }


def _kind(tables: Sequence[TableSize], *, is_whole: bool) -> StoredKind:
    rows = _total(((table.rows, table.share) for table in tables), is_whole=is_whole)
    return {
        "rows": measured(rows["value"], exact=False),
        "bytes": _total(((table.bytes, table.share) for table in tables), is_whole=is_whole),
        "index_bytes": _total(((table.index_bytes, table.share) for table in tables), is_whole=is_whole),
    }


def _total(amounts: Iterable[tuple[int, float | None]], *, is_whole: bool) -> Amount:
    """Sums (amount, project's share) pairs. `is_whole`: sums the whole amounts, else the project's shares of them. The
    sum is an estimate unless each share is 1; its value is None if a share is not known."""
    pairs = [(amount, 1.0 if is_whole else share) for amount, share in amounts if amount]
    if any(share is None for _, share in pairs):
        return measured(None, exact=False)
    total = sum(amount * (share or 0.0) for amount, share in pairs)
    return measured(round(total), exact=all(share == 1.0 for _, share in pairs))


def _rows_of_project(table: TableSize) -> int | None:
    return None if table.share is None else round(table.rows * table.share)


def _inline(sample: InlineSample, runs: int | None, calls: int | None) -> Amount:
    """Estimates the inline bytes of all runs from the sample. The weight of a run is its model calls plus one: runs
    with more calls have more bytes, and some runs have no calls."""
    pairs = [Pair(run.inline_bytes, run.calls + 1) for run in sample.runs]
    return projected(pairs, None if runs is None or calls is None else runs + calls, is_all=sample.is_all)

"""[read]: how much is stored, and the size of the same records with their contents inline.

Bytes are the sizes of Postgres' files.  Rows are Postgres' own counters.  Other numbers are counted if there are few
items, and otherwise estimated from a sample of bounded size, with a 95 % confidence interval.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from playhead.wire.operations.storage import Amount, ProjectStorage, Storage, StorageSizes, StoredKind
from playhead_collector.store.ports.storage import ContentSample, InlineSample, StorageReader, TableSize

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
# Half the width of a 95 % confidence interval.
_STANDARD_ERRORS = 1.96


class _Pair(NamedTuple):
    """An item of a sample: its amount, and its weight in the projection to all items."""

    amount: int
    weight: int


async def read_storage(store: StorageReader, project_id: int, *, with_database: bool = True) -> Storage:
    """Returns the sizes of the project, and of the database.  Raises StoreUnavailable."""
    tables = await store.table_sizes(project_id)
    contents, inline = await store.sample_contents(project_id), await store.sample_inline(project_id)
    of_project = {table.name: table for table in tables}
    rows = {name: _rows_of_project(table) for name, table in of_project.items()}
    count, plain = _contents(contents, rows["content"], rows["content_pack"])
    project: ProjectStorage = {
        **_sizes(tables, is_whole=False),
        "contents": count,
        "content_bytes": plain,
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
        "rows": _measured(rows["value"], exact=False),
        "bytes": _total(((table.bytes, table.share) for table in tables), is_whole=is_whole),
        "index_bytes": _total(((table.index_bytes, table.share) for table in tables), is_whole=is_whole),
    }


def _total(amounts: Iterable[tuple[int, float | None]], *, is_whole: bool) -> Amount:
    """Sums (amount, project's share) pairs. `is_whole`: sums the whole amounts, else the project's shares of them. The
    sum is an estimate unless each share is 1; its value is None if a share is not known."""
    pairs = [(amount, 1.0 if is_whole else share) for amount, share in amounts if amount]
    if any(share is None for _, share in pairs):
        return _measured(None, exact=False)
    total = sum(amount * (share or 0.0) for amount, share in pairs)
    return _measured(round(total), exact=all(share == 1.0 for _, share in pairs))


def _rows_of_project(table: TableSize) -> int | None:
    return None if table.share is None else round(table.rows * table.share)


def _contents(sample: ContentSample, rows: int | None, packs: int | None) -> tuple[Amount, Amount]:
    """Returns the number of contents, and their size in bytes."""
    sizes = [_Pair(size, 1) for size in sample.sizes]
    packed = [_Pair(size, 1) for _, size in sample.packs]
    counts = [_Pair(count, 1) for count, _ in sample.packs]
    row_count = _measured(len(sizes), exact=True) if sample.is_all else _measured(rows, exact=False)
    return (
        _sum(row_count, _projected(counts, packs, is_all=sample.are_all_packs)),
        _sum(
            _projected(sizes, rows, is_all=sample.is_all),
            _projected(packed, packs, is_all=sample.are_all_packs),
        ),
    )


def _inline(sample: InlineSample, runs: int | None, calls: int | None) -> Amount:
    """Estimates the inline bytes of all runs from the sample. The weight of a run is its model calls plus one: runs
    with more calls have more bytes, and some runs have no calls."""
    pairs = [_Pair(run.inline_bytes, run.calls + 1) for run in sample.runs]
    return _projected(pairs, None if runs is None or calls is None else runs + calls, is_all=sample.is_all)


def _projected(sample: Sequence[_Pair], weight: int | None, *, is_all: bool) -> Amount:
    """Estimates the amount of all items from their total `weight` (ratio estimator). Value None if `weight` is not
    known."""
    amount, weighed = sum(item.amount for item in sample), sum(item.weight for item in sample)
    if is_all:
        return _measured(amount, exact=True)
    if not weighed or weight is None:
        return _measured(None, exact=False)
    ratio, count = amount / weighed, len(sample)
    total = ratio * max(weight, weighed)
    if count < 2:
        return _measured(round(total), exact=False)
    residuals = sum((item.amount - ratio * item.weight) ** 2 for item in sample)
    error = math.sqrt(residuals / (count - 1) / count) / (weighed / count) * max(weight, weighed)
    margin = _STANDARD_ERRORS * error
    return _measured(round(total), exact=False, low=max(round(total - margin), amount), high=round(total + margin))


def _sum(first: Amount, other: Amount) -> Amount:
    if first["value"] is None or other["value"] is None:
        return _measured(None, exact=False)
    low, high = _bound(first, "low") + _bound(other, "low"), _bound(first, "high") + _bound(other, "high")
    value, exact = first["value"] + other["value"], first["exact"] and other["exact"]
    has_range = first["low"] is not None or other["low"] is not None
    return _measured(value, exact=exact, low=low if has_range else None, high=high if has_range else None)


def _bound(of: Amount, name: str) -> int:
    bound: int | None = of["low"] if name == "low" else of["high"]
    return (of["value"] or 0) if bound is None else bound


def _measured(value: int | None, *, exact: bool, low: int | None = None, high: int | None = None) -> Amount:
    return {"value": value, "exact": exact, "low": low, "high": high}

"""Projections of the journal's runs, stored in its index, so that a run without new records is not projected again."""

import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any, TypeVar, overload

import orjson

from playhead.errors import JournalUnusable
from playhead.journal.index.reading import JournalIndex, KeptProjection
from playhead.local.journal_records import JournalRecords
from playhead.model.event import RunEvent, event_from_json, event_to_json
from playhead.model.ref import ContentRef
from playhead.model.state import RunState, state_from_json, state_to_json
from playhead.model.usage import ModelUsage
from playhead.projection.happened import LastMoment
from playhead.projection.run_row import HandedProcess, OutcomeFacts, RunRow
from playhead_collector.store.records.ports import RunProjection

T = TypeVar("T", RunEvent, RunState)
# Events per block: as many as one request reads.
_EVENTS = 256
_QUICK = 1
_TUPLES = ("tags", "agents", "models", "tools", "continued_by", "traces", "linked")
# The packages whose code makes projections: when it changes, projections may change.
_CODE = ("model", "dialect", "lift", "projection")


class JournalProjections:
    """Implements `ProjectionCache`: keeps projections in memory; `keep` also stores them in the journal's index."""

    def __init__(self, records: JournalRecords) -> None:
        self._records = records
        self._here: dict[str, RunProjection] = {}
        self._new: dict[str, RunProjection] = {}

    def get(self, run: str) -> RunProjection | None:
        projection = self._here.get(run)
        if projection is None and (stored := self._records.index.kept(run)) is not None:
            projection = _read(self._records.index, run, *stored)
            if projection is not None:
                self._here[run] = projection
        return projection

    def put(self, run: str, projection: RunProjection) -> None:
        self._here[run] = self._new[run] = projection

    def keep(self) -> None:
        """Writes new projections into the index.  Never raises."""
        new, self._new = self._new, {}
        if new:
            made = (_kept(projection, run, self._records) for run, projection in new.items())
            self._records.index.keep(projection for projection in made if projection is not None)


class _Stored(Sequence[T]):
    """A sequence that is read from the index on access, one block at a time."""

    def __init__(self, count: int, size: int, block: Callable[[int], list[T]]) -> None:
        """`block` returns the items of the block with this number; `size`: items per block."""
        self._count = count
        self._size = size
        self._block = block
        self._read: dict[int, list[T]] = {}

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, int):
            position = range(self._count)[index]
            return self._at(position // self._size)[position % self._size]
        start, stop, step = index.indices(self._count)
        if step < 1 or start >= stop:
            return list(self)[index]
        first, last = start // self._size, (stop - 1) // self._size
        items = [item for number in range(first, last + 1) for item in self._at(number)]
        return items[start - first * self._size : stop - first * self._size : step]

    def __iter__(self) -> Iterator[T]:
        for number in range(-(-self._count // self._size)):
            yield from self._at(number)

    def _at(self, number: int) -> list[T]:
        if number not in self._read:
            self._read[number] = self._block(number)
        return self._read[number]


def _kept(projection: RunProjection, run: str, records: JournalRecords) -> KeptProjection | None:
    """Returns the projection in its stored form; None if it has values that this form cannot hold."""
    events = projection.events
    try:
        blocks = [
            _packed([event_to_json(event) for event in events[start : start + _EVENTS]])
            for start in range(0, len(events), _EVENTS)
        ]
        states = _packed([state_to_json(state) for state in projection.snapshots])
        head = {
            "code": code_stamp(), "row": asdict(projection.row), "events": len(events),
            "states": len(projection.snapshots), "awaited": sorted(projection.awaited),
            "last_ns": projection.last_ns, "is_quiet": projection.is_quiet, "above": projection.parent_version,
            "has_scores": projection.has_scores,
        }  # fmt: skip
        return KeptProjection(run, projection.version, orjson.dumps(head), [states, *blocks], records.lifted(run))
    except (TypeError, ValueError):  # numbers beyond 64 bits, halves of surrogate pairs
        return None


def _read(index: JournalIndex, run: str, version: str, head: bytes) -> RunProjection | None:
    """Reads a projection that `_kept` wrote; None if another version of the code wrote it."""
    try:
        fields = orjson.loads(head)
        if fields["code"] != code_stamp():
            return None

        def block(number: int) -> list[Any]:
            body = index.kept_block(run, version, number)
            if body is None:
                raise JournalUnusable(f"run {run} was recorded on while it was read: ask again")
            return orjson.loads(zlib.decompress(body))

        return RunProjection(
            version=version,
            row=_row(fields["row"]),
            events=_Stored(
                fields["events"], _EVENTS, lambda number: [event_from_json(value) for value in block(number + 1)]
            ),
            snapshots=_Stored(
                fields["states"], max(1, fields["states"]), lambda _: [state_from_json(value) for value in block(0)]
            ),
            awaited=frozenset(map(ContentRef, fields["awaited"])),
            last_ns=fields["last_ns"],
            is_quiet=fields["is_quiet"],
            parent_version=fields["above"],
            has_scores=fields["has_scores"],
        )
    except (ValueError, KeyError, TypeError):  # damaged
        return None


def _row(values: dict[str, Any]) -> RunRow:
    values |= {name: tuple(values[name]) for name in _TUPLES}
    values["usage"] = tuple(ModelUsage(**entry) for entry in values["usage"])
    values["processes"] = tuple(HandedProcess(**entry) for entry in values["processes"])
    values["happened"] = None if values["happened"] is None else LastMoment(**values["happened"])
    values["facts"] = OutcomeFacts(**values["facts"])
    return RunRow(**values)


def _packed(values: list[Any]) -> bytes:
    return zlib.compress(orjson.dumps(values), _QUICK)


@cache
def code_stamp() -> str:
    """Returns a text that changes when the code that makes projections changes: with each version of Playhead, and
    during development."""
    folder = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120 - a hundred files: Path objects take longer
    entries: list[tuple[str, int, int]] = []
    for part in _CODE:
        for where, _, files in os.walk(f"{folder}/{part}"):
            states = ((name, os.stat(f"{where}/{name}")) for name in files if name.endswith(".py"))  # noqa: PTH116
            entries += [(f"{where}/{name}", state.st_mtime_ns, state.st_size) for name, state in states]
    return f"{zlib.crc32(repr(sorted(entries)).encode()):08x}"

"""A projected run and the ways to read its events, with which most questions begin; and the name of a run.

A run is named by its id, a part of its id, or `last`.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from playhead.model.event import RunEvent
from playhead.model.ids import WHOLE_ID
from playhead.projection.run_row import RunRow
from playhead_collector.errors import Refused
from playhead_collector.store.ports import ReadStore
from playhead_collector.store.ports.runs import RunFilter

# The number of events in one row of the store. Reading one costs as much as reading all, so all are cached for a while.
BLOCK = 256
_KEPT_BLOCKS = 16
# A question waits for at most this many ancestors of a fork. Others are projected in the background, like all runs.
_MAX_ABOVE = 50


class RunProjector(Protocol):
    """The methods of the projector that questions need."""

    async def project_now(self, project_id: int, run: str) -> object:
        """Returns when everything that has arrived for this run is projected.  Does nothing for unknown runs."""
        ...

    async def catch_up(self, project_id: int) -> None:
        """Projects runs of the project with recent news; if there are many, only a part of them."""
        ...


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A projected run: its summary, and access to its events."""

    store: ReadStore
    project_id: int
    row: RunRow
    _blocks: dict[int, Sequence[RunEvent]] = field(default_factory=dict[int, Sequence[RunEvent]], repr=False)

    @property
    def run(self) -> str:
        """The run's id."""
        return self.row.run

    @property
    def last(self) -> int:
        """The seq of the last event; 0 when there is none."""
        return self.row.events

    async def events(self, after: int = 0, upto: int | None = None, limit: int | None = None) -> Sequence[RunEvent]:
        """Returns events with after < seq <= upto, in order, at most `limit`."""
        return await self.store.events.read(self.project_id, self.run, after=after, upto=upto, limit=limit)

    async def all_events(self) -> list[RunEvent]:
        """Returns all events, in order. They are read in large portions: a long run has hundreds of blocks."""
        return [event async for portion in self.store.events.pages(self.project_id, self.run) for event in portion]

    async def portions(self, size: int) -> AsyncIterator[Sequence[RunEvent]]:
        """Yields all events in portions of `size` seqs, in order: fewer requests than blocks, and not all of a long run
        in memory."""
        for after in range(0, self.last, size):
            if portion := await self.events(after, after + size):
                yield portion

    async def event(self, seq: int) -> RunEvent:
        """Returns the event at seq.  Raises Refused if a fork shares the event with a run that is not stored."""
        match = next((event for event in await self._block((seq - 1) // BLOCK) if event.seq == seq), None)
        if match is None:
            raise self.not_here(seq)
        return match

    def not_here(self, seq: int) -> Refused:
        """Returns the error for an event that is stored with another run, which is missing."""
        return Refused(
            404,
            "parent_missing",
            f"event {seq} of run {self.run} stands in the record of run {self.row.fork_of} (or one above it), which is "
            f"not here: its own events begin at {(self.row.shared or 0) + 1}",
        )

    async def backwards(self, upto: int) -> AsyncIterator[Sequence[RunEvent]]:
        """Yields blocks of events from seq `upto` back to the first event. Each block is in seq order."""
        for number in range((upto - 1) // BLOCK, -1, -1):
            yield [event for event in await self._block(number) if event.seq <= upto]

    async def onwards(self, after: int) -> AsyncIterator[Sequence[RunEvent]]:
        """Yields blocks of events after seq `after` up to the last. Each block is in seq order."""
        for number in range(after // BLOCK, -(-self.last // BLOCK)):
            if block := [event for event in await self._block(number) if event.seq > after]:
                yield block

    async def around(self, seq: int) -> AsyncIterator[Sequence[RunEvent]]:
        """Yields all events in blocks, nearest to seq first, alternately before and after it."""
        sides = [self.backwards(seq), self.onwards(seq)]
        while sides:
            for side in tuple(sides):
                block = await anext(side, None)
                if block is None:
                    sides.remove(side)
                else:
                    yield block

    async def _block(self, number: int) -> Sequence[RunEvent]:
        if number not in self._blocks:
            if len(self._blocks) == _KEPT_BLOCKS:
                self._blocks.clear()
            self._blocks[number] = await self.events(number * BLOCK, (number + 1) * BLOCK)
        return self._blocks[number]


async def open_record(store: ReadStore, runner: RunProjector, project_id: int, run: str) -> RunRecord:
    """Projects all that has arrived for the run, and returns the run. `run`: an id, a part of one, or `last`.  Raises
    Refused (404)."""
    if not WHOLE_ID.fullmatch(run):
        await runner.catch_up(project_id)
        run = await run_named(store, project_id, run)
    row = await _projected(store, runner, project_id, run)
    return _record(store, project_id, run, row)


async def stored_record(store: ReadStore, project_id: int, run: str) -> RunRecord:
    """Returns the run with this id, as last projected. Call `open_record` before to project it.  Raises Refused
    (404)."""
    return _record(store, project_id, run, await store.runs.get(project_id, run))


def _record(store: ReadStore, project_id: int, run: str, row: RunRow | None) -> RunRecord:
    if row is None:
        raise Refused(404, "no_such_run", f"there is no run {run!r}: `playhead runs` lists them")
    return RunRecord(store, project_id, row)


async def _projected(store: ReadStore, runner: RunProjector, project_id: int, run: str) -> RunRow | None:
    """Projects the run and the runs from which it was forked, and returns the run's row; None if there is no such
    run."""

    async def projected(each: str) -> RunRow | None:
        if not WHOLE_ID.fullmatch(each):
            return None
        await runner.project_now(project_id, each)
        return await store.runs.get(project_id, each)

    row = await projected(run)
    if row is None or row.fork_of is None:
        return row
    line = [each.run async for each in line_of_forks(row, projected)]
    for below in reversed(line[:-1]):
        await runner.project_now(project_id, below)  # does nothing when the shared events have not changed
    return await store.runs.get(project_id, run)


async def line_of_forks(row: RunRow, read: Callable[[str], Awaitable[RunRow | None]]) -> AsyncIterator[RunRow]:
    """Yields the run, the run from which it was forked, and so on, at most 51. `read` returns the row of a run; None
    ends the line."""
    seen: set[str] = set()
    above: RunRow | None = row
    while above is not None and above.run not in seen and len(seen) <= _MAX_ABOVE:
        seen.add(above.run)
        yield above
        above = None if above.fork_of is None else await read(above.fork_of)


# --- run names -------------------------------------------------------------------------------------------------------

LAST = "last"
_PART_OF_ID = re.compile("[0-9a-f]{1,31}")
_MAX_NAMED = 5


async def run_named(store: ReadStore, project_id: int, name: str) -> str:
    """Returns the id of the run that `name` means: an id, a part of an id that no other run has, or `last` for the
    newest run.

    A complete id is returned without a check that there is such a run.  Raises Refused (404) if there is no run, or
    several.
    """
    wanted = name.strip().lower()
    if WHOLE_ID.fullmatch(wanted):
        return wanted
    if wanted == LAST:
        newest = await store.runs.page(project_id, RunFilter(), limit=1)
        if not newest:
            raise Refused(404, "no_such_run", "no run has been recorded yet: run a program that uses playhead")
        return newest[0].run
    if not _PART_OF_ID.fullmatch(wanted):
        raise _no_such_run(name)
    rows = await store.runs.page(project_id, RunFilter(id_part=wanted), limit=_MAX_NAMED + 1)
    if not rows:
        raise _no_such_run(name)
    if len(rows) > 1:
        ids = ", ".join(row.run for row in rows[:_MAX_NAMED])
        more = " and more" if len(rows) > _MAX_NAMED else ""
        message = f"several runs have {wanted!r} in their id ({ids}{more}): write more of the one that you mean"
        raise Refused(404, "ambiguous_run", message)
    return rows[0].run


def _no_such_run(name: str) -> Refused:
    message = f"there is no run {name[:40]!r}: name one by its id, a part of it, or `last`; `playhead runs` lists them"
    return Refused(404, "no_such_run", message)

"""[analysis]: searches the decisions of all indexed runs, newest runs first."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace

from playhead.model.times import rfc3339
from playhead.wire.operations.search import DecisionsFound, FoundDecision, FoundValue
from playhead_collector.analysis.search.records import SearchedDecision, SearchedValue, SearchRecord, decode
from playhead_collector.analysis.search.terms import DecisionConditions, query_terms
from playhead_collector.read.paging import position_cursor, read_position
from playhead_collector.store.ports.search import FoundRun, RunBounds, SearchIndex

# Newest runs that are searched first, which takes a few milliseconds.
_LOOKED = 1_000
# Records that are read at a time, and at most for one page: an empty page may have a cursor.
_AT_ONCE, _MOST_RUNS = 64, 1_024
COUNTED = 1_000
"""Runs that are not indexed are counted up to this number."""


@dataclass(slots=True)
class _DecisionsPage:
    """A page that is filled run by run. `last`: start (ns) and id of the run that was read last, and the seq down to
    which it was read (0: all of it)."""

    conditions: DecisionConditions
    limit: int
    items: list[FoundDecision]
    last: tuple[int, str, int] | None = None
    full: bool = False

    def add(self, runs: Iterable[FoundRun], within: tuple[str, int] | None) -> None:
        """Adds the decisions that meet the conditions, until the page is full.

        `within`: a run of which the page before has a part, and the seq below which to continue.
        """
        for run in runs:
            record = decode(run.body, run.started_ns)
            for decision in reversed(record.decisions):
                if within is not None and within[0] == run.run and decision.seq >= within[1]:
                    continue
                if _fits(self.conditions, record, decision):
                    if len(self.items) == self.limit:
                        self.full = True
                        return
                    self.items.append(_answer(run, record, decision))
                    self.last = (run.started_ns, run.run, decision.seq)
            self.last = (run.started_ns, run.run, 0)


async def find_decisions(
    index: SearchIndex,
    project_id: int,
    conditions: DecisionConditions,
    where: RunBounds,
    limit: int,
    cursor: str | None,
) -> DecisionsFound:
    """Finds decisions that meet the conditions: newest runs first, in a run the last decision first. Raises Refused."""
    terms = query_terms(conditions)
    page, within = _DecisionsPage(conditions, limit, []), None
    if cursor:
        started_ns, run, seq = read_position(cursor)
        within = (run, seq)
        where = replace(where, before=(started_ns, _behind(run)))
    runs = await index.newest_indexed(project_id, terms, where, looked=_LOOKED, limit=_AT_ONCE)
    await asyncio.to_thread(page.add, runs, within)
    read, more = len(runs), True
    while not page.full and more and read < _MOST_RUNS:
        if runs:
            where = replace(where, before=(runs[-1].started_ns, runs[-1].run))
        runs = await index.indexed_with(project_id, terms, where, limit=_AT_ONCE)
        await asyncio.to_thread(page.add, runs, within)
        read, more = read + len(runs), len(runs) == _AT_ONCE
    goes_on = page.full or more
    return {
        "items": page.items,
        "next_cursor": position_cursor(*page.last) if goes_on and page.last else None,
        "unindexed": await index.count_unindexed(project_id, COUNTED),
    }


def _fits(conditions: DecisionConditions, record: SearchRecord, decision: SearchedDecision) -> bool:
    return (conditions.status is None or conditions.status == record.status) and conditions.matches(decision)


def _behind(run: str) -> str:
    """Returns the next higher run id, so that a search for runs before it includes this run."""
    return f"{min(int(run, 16) + 1, 2**128 - 1):032x}"


def _answer(run: FoundRun, record: SearchRecord, decision: SearchedDecision) -> FoundDecision:
    return {
        "run": run.run,
        "seq": decision.seq,
        "kind": decision.kind,
        "time": rfc3339(decision.time_ns),
        "agent": decision.agent,
        "tool": decision.tool,
        "values": list(map(_value, decision.values)),
        "attribution": decision.attribution,
        "result": decision.result,
        "after": decision.after,
        "chosen": decision.chosen,
        "run_status": record.status,
    }


def _value(value: SearchedValue) -> FoundValue:
    suspect = None if value.source is None else value.suspect
    return {"path": value.path, "value": value.value, "source": value.source, "suspect": suspect}

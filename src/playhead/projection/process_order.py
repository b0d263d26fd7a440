"""store → [projection]: merges the timelines of a run's processes, each with its own numbers, into one order.

Within a process, its numbers decide.  Between processes: work that was handed over comes after the event that handed it
over (`playhead.process.after`), and work inside a call of another process comes after that call's start; in all other
cases time decides.  Clocks of machines may differ, but never move an event before its cause or within its process.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from playhead.model import names
from playhead.model.span import LogEvent
from playhead.projection.attributes import number_of, process_of, text
from playhead.projection.span_tree import SpanNode

START, LOG, END = "start", "log", "end"


@dataclass(slots=True)
class TimelineEntry:
    """A call's start or end, or a log event. `node`: the call, or the call around the log event if that is known."""

    kind: str
    time_ns: int
    node: SpanNode | None
    log: LogEvent | None = None


Key = tuple[Any, ...]
"""Sort key within a process; begins with attempt and number."""


@dataclass(slots=True)
class _Process:
    """The moments of a process in its own order. `taken`: how many of them are in the merged order already."""

    name: str
    entries: Sequence[tuple[Key, TimelineEntry]]
    taken: int = 0
    latest_ns: int = 0
    waiting: list[tuple[int, int, str, int]] = field(default_factory=list[tuple[int, int, str, int]])
    """Heap of (attempt, number, name, index): process `name` waits, with its moment at `index`, for the moment of this
    process that has this attempt and number."""

    @property
    def next(self) -> tuple[Key, TimelineEntry]:
        return self.entries[self.taken]

    @property
    def is_over(self) -> bool:
        return self.taken == len(self.entries)

    def has_passed(self, attempt: int, number: int) -> bool:
        """Whether all starts and log events up to this number were taken."""
        if self.is_over:
            return True
        key, moment = self.next
        return key[:2] > (attempt, number) or (moment.kind == END and key[:2] == (attempt, number))


class _Merge:
    """Takes the moments of all processes one by one, each after its causes."""

    def __init__(self, processes: Mapping[str, _Process], *, by_attempt: bool) -> None:
        self._processes = processes
        self._by_attempt = by_attempt
        self._has_causes = True
        self._ready: list[tuple[int, str]] = []
        """Heap of (time in ns, name) of the processes whose next moment may be taken."""

    def all(self) -> Iterator[tuple[Key, TimelineEntry]]:
        for process in self._processes.values():
            self._offer(process)
        for _ in range(sum(len(process.entries) for process in self._processes.values())):
            if not self._ready:
                self._leave_circle()
            process = self._processes[heappop(self._ready)[1]]
            yield process.next
            process.taken += 1
            self._offer(process)
            self._wake(process)

    def _offer(self, process: _Process) -> None:
        """Makes the next moment of the process ready, or lets it wait for its causes."""
        if process.is_over:
            return
        moment = process.next[1]
        causes = _causes(process.name, moment, by_attempt=self._by_attempt) if self._has_causes else ()
        for cause, attempt, number in causes:
            before = self._processes.get(cause)
            if before is not None and not before.has_passed(attempt, number):
                heappush(before.waiting, (attempt, number, process.name, process.taken))
                return
        process.latest_ns = max(process.latest_ns, moment.time_ns)
        heappush(self._ready, (process.latest_ns, process.name))

    def _wake(self, passed: _Process) -> None:
        while passed.waiting and passed.has_passed(*passed.waiting[0][:2]):
            *_, name, index = heappop(passed.waiting)
            if self._processes[name].taken == index:
                self._offer(self._processes[name])

    def _leave_circle(self) -> None:
        """Handles a deadlock: each process waits for another. Our SDK never records that; from here on, time alone
        decides."""
        self._has_causes = False
        for process in self._processes.values():
            process.waiting.clear()
            self._offer(process)


def in_order_of_causes(
    by_process: Mapping[str, Sequence[tuple[Key, TimelineEntry]]], *, by_attempt: bool
) -> list[tuple[Key, TimelineEntry]]:
    """Merges the moments of all processes into one order. `by_process`: by process id, each list already in order.

    `by_attempt`: the run's own process (the empty id) began again at 1 in each attempt.
    """
    processes = {name: _Process(name, entries) for name, entries in sorted(by_process.items()) if entries}
    return list(_Merge(processes, by_attempt=by_attempt).all())


def _causes(process: str, entry: TimelineEntry, *, by_attempt: bool) -> Iterator[tuple[str, int, int]]:
    """Yields the causes of a moment in other processes, as (process, attempt, number). Ends have none."""
    if entry.kind == END:
        return
    span = entry.node.span if entry.node is not None else None
    attributes = entry.log.attributes if entry.log is not None else span.attributes if span is not None else {}
    attempt = entry.node.attempt if entry.node is not None else 0
    name, separator, number = (text(attributes, names.PROCESS_AFTER) or "").partition("#")
    if separator and name != process and number.isdecimal():
        yield name, attempt if by_attempt and not name else 0, int(number)
    around = entry.node if entry.log is not None else entry.node.parent if entry.node is not None else None
    if around is None or (above := process_of(around.span.attributes)) == process:
        return
    begun = number_of(around.span.attributes)
    if begun is not None:
        yield above, around.attempt if by_attempt and not above else 0, begun

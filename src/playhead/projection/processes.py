"""store → [projection]: other processes that recorded parts of a run: how many calls each misses, and whether it
has ended.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from playhead.model.span import LogEvent, Span
from playhead.projection.attributes import number_of, process_of
from playhead.projection.run_row import HandedProcess
from playhead.projection.span_tree import SpanNode

# Limits the size of a row in lists of runs.
_MAX_SHOWN = 100
# Our SDK's process ids have 16 characters; those of other senders may be longer.
_MAX_NAME = 64


@dataclass(slots=True)
class _Found:
    numbers: set[int] = field(default_factory=set[int])
    spans: list[Span] = field(default_factory=list[Span])
    times: list[int] = field(default_factory=list[int])

    def process(self, name: str) -> HandedProcess:
        ends = [span.end_ns for span in self.spans]
        latest = max([*(end for end in ends if end is not None), *self.times])
        return HandedProcess(
            process=name[:_MAX_NAME],
            started_ns=min(self.times),
            ended_ns=None if None in ends else latest,
            spans=len(self.spans),
            spans_missing=max(self.numbers, default=0) - len(self.numbers),
        )


def processes_in(nodes: Iterable[SpanNode], logs: Iterable[LogEvent]) -> list[HandedProcess]:
    """The processes other than the run's own, sorted by their start times (of their own clocks)."""
    by_name: dict[str, _Found] = {}
    for node in nodes:
        if name := process_of(node.span.attributes):
            entry = by_name.setdefault(name, _Found())
            entry.spans.append(node.span)
            entry.times.append(node.span.start_ns)
            entry.numbers.update(filter(None, [number_of(node.span.attributes)]))
    for log in logs:
        if name := process_of(log.attributes):
            entry = by_name.setdefault(name, _Found())
            entry.times.append(log.time_ns)
            entry.numbers.update(filter(None, [number_of(log.attributes)]))
    parts = [entry.process(name) for name, entry in by_name.items()]
    return sorted(parts, key=lambda part: (part.started_ns, part.process))


def shown_processes(processes: Sequence[HandedProcess]) -> tuple[HandedProcess, ...]:
    """The first 100 for the run's row: processes with missing calls first, then those with open calls."""
    first = sorted(processes, key=lambda process: (not process.spans_missing, process.ended_ns is not None))
    return tuple(first[:_MAX_SHOWN])

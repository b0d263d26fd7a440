"""store → [project]: the processes that recorded parts of a run beside its own: what is missing of each, and whether it
has ended.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from playhead.model.span import LogEvent, Span
from playhead.project.attributes import number_of, process_of
from playhead.project.run_row import HandedProcess
from playhead.project.span_tree import SpanNode

# A row of a list stays small.
_MAX_SHOWN = 100
# Ours have 16 characters; a stranger's may have any number.
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
    """The processes beside the run's own, in the order in which they began by their clocks."""
    found: dict[str, _Found] = {}
    for node in nodes:
        if name := process_of(node.span.attributes):
            one = found.setdefault(name, _Found())
            one.spans.append(node.span)
            one.times.append(node.span.start_ns)
            one.numbers.update(filter(None, [number_of(node.span.attributes)]))
    for log in logs:
        if name := process_of(log.attributes):
            one = found.setdefault(name, _Found())
            one.times.append(log.time_ns)
            one.numbers.update(filter(None, [number_of(log.attributes)]))
    parts = [one.process(name) for name, one in found.items()]
    return sorted(parts, key=lambda part: (part.started_ns, part.process))


def shown_processes(processes: Sequence[HandedProcess]) -> tuple[HandedProcess, ...]:
    """As many as a row keeps: before others those that have gaps, and those with open calls."""
    first = sorted(processes, key=lambda one: (not one.spans_missing, one.ended_ns is not None))
    return tuple(first[:_MAX_SHOWN])

"""worker → [ordering]: in which order spans go out.  Pure."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from playhead.outbound.span import OutboundRun
from playhead_collector.forward.counting import OutgoingSpans
from playhead_collector.forward.progress import EntryProgress


def by_entry(
    spans: Iterable[tuple[EntryProgress, OutgoingSpans, OutboundRun]],
) -> Iterator[tuple[tuple[EntryProgress, OutboundRun], list[OutgoingSpans]]]:
    """A run after the other, since its spans share most of their content; within it parents first, which began first.
    Neighbours of one entry are together."""
    runs: dict[tuple[int, str], list[tuple[EntryProgress, OutgoingSpans, OutboundRun]]] = {}
    for one in spans:
        runs.setdefault((one[0].entry.project_id, one[0].entry.run), []).append(one)
    for of_run in runs.values():
        in_order = sorted(of_run, key=lambda one: one[1].spans[0].span.start_ns)
        for _, together in groupby(in_order, key=lambda one: one[0].entry.number):
            listed = list(together)
            yield (listed[0][0], listed[0][2]), [item for _, item, _ in listed]

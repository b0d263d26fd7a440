"""worker → [ordering]: the order in which spans are sent.  Pure."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from playhead.outbound.span import OutboundRun
from playhead_collector.forward.counting import OutgoingSpans
from playhead_collector.forward.progress import EntryProgress


def by_entry(
    spans: Iterable[tuple[EntryProgress, OutgoingSpans, OutboundRun]],
) -> Iterator[tuple[tuple[EntryProgress, OutboundRun], list[OutgoingSpans]]]:
    """Yields the spans run by run (spans of a run share most of their content), in each run by start time, so that
    parents come first. Consecutive spans of one entry are grouped."""
    runs: dict[tuple[int, str], list[tuple[EntryProgress, OutgoingSpans, OutboundRun]]] = {}
    for outgoing in spans:
        runs.setdefault((outgoing[0].entry.project_id, outgoing[0].entry.run), []).append(outgoing)
    for of_run in runs.values():
        in_order = sorted(of_run, key=lambda outgoing: outgoing[1].spans[0].span.start_ns)
        for _, together in groupby(in_order, key=lambda outgoing: outgoing[0].entry.number):
            listed = list(together)
            yield (listed[0][0], listed[0][2]), [item for _, item, _ in listed]

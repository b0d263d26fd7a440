"""[forward] → [serve]: metrics of forwarding for GET /metrics, by destination."""

from collections.abc import Callable, Iterator, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from playhead_collector.forward.forwarder import DestinationStatus, Forwarder

_NS = 1_000_000_000
_COUNTERS = {
    "sent_spans": "Spans that the destination accepted",
    "sent_logs": "Log events that the destination accepted",
    "requests": "Requests sent, repeated ones included",
    "failures": "Times that forwarding was interrupted by a failure of the destination",
    "dead": "Spans and log events that the destination refused for good",
    "left_out": "Entries of runs that filters leave out",
    "expired": "Spans and log events that were too old or too many to be forwarded",
}


class ForwardMetrics(Collector):
    """Metrics that are read at each scrape. The figures from the database are those of the last `measure`."""

    def __init__(self, forwarder: Forwarder, clock: Callable[[], int], registry: CollectorRegistry) -> None:
        """Registers itself in `registry`. `clock` gives ns since 1970."""
        self._forwarder = forwarder
        self._clock = clock
        self._status: Sequence[DestinationStatus] = ()
        registry.register(self)

    async def measure(self) -> None:
        """Reads the figures from the database. Raises StoreUnavailable."""
        if self._forwarder.workers:
            self._status = await self._forwarder.status()

    def collect(self) -> Iterator[Metric]:
        """Yields all metrics; called by prometheus_client at each scrape."""
        for name, help_text in _COUNTERS.items():
            family = CounterMetricFamily(f"playhead_forward_{name}", help_text, labels=["destination"])
            for worker in self._forwarder.workers:
                family.add_metric([worker.destination.name], worker.counts[name])
            yield family
        gauges = {
            "waiting": ("Spans and log events that wait to be forwarded", self._waiting),
            "dead_letters": ("Spans and log events that are kept because they were refused", self._dead),
            "lag_seconds": ("How long the oldest of what waits has waited", self._lag),
        }
        for name, (help_text, read) in gauges.items():
            gauge = GaugeMetricFamily(f"playhead_forward_{name}", help_text, labels=["destination"])
            for status in self._status:
                gauge.add_metric([status.name], read(status))
            yield gauge

    def _waiting(self, status: DestinationStatus) -> float:
        return status.outbox.waiting_items

    def _dead(self, status: DestinationStatus) -> float:
        return status.outbox.dead_items

    def _lag(self, status: DestinationStatus) -> float:
        oldest = status.outbox.oldest_ns
        return 0.0 if oldest is None else max(0.0, (self._clock() - oldest) / _NS)

"""GET /metrics for Prometheus: counts of requests and received data, the backlog of the projection, and forwarding.

Each application has its own registry, so that several can run in one process.
"""

import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence

from fastapi import APIRouter, Request, Response
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from playhead_collector.forward.forwarder import DestinationStatus, Forwarder
from playhead_collector.retain.object_mover import ObjectMover
from playhead_collector.store.ports.objects import ObjectSizes

_MAX_SCOPES = 50
OTHER_SCOPES = "other"
# A request of an exporter takes milliseconds, one of 64 MiB seconds.
_SECONDS_BUCKETS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


def _nothing(project_id: int, items: int, body_bytes: int) -> None:
    pass


def _label(scope: str, known: Collection[str]) -> str:
    """Senders choose these names: after the first 50, all others share one label."""
    return scope if scope in known or len(known) < _MAX_SCOPES else OTHER_SCOPES


class Metrics:
    """All metrics of a collector. Implements `Counts` of `receive/ports.py`."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)

        def counter(name: str, help_text: str, *labels: str) -> Counter:
            return Counter(f"playhead_{name}", help_text, labels, registry=registry)

        self._requests = counter("requests", "Requests answered", "route", "status")
        self._seconds = Histogram(
            "playhead_request_seconds", "Time to answer", ["route"], buckets=_SECONDS_BUCKETS, registry=registry
        )
        self._bytes = counter("received_bytes", "Bytes of request bodies, as sent and as unpacked", "form")
        self._spans = counter("spans", "Spans taken, duplicates included")
        self._duplicates = counter("duplicate_spans", "Spans taken that were stored already")
        self._logs = counter("log_events", "Log events taken")
        self._dropped = counter("dropped_late", "Spans and log events of deleted runs: accepted, not kept")
        self._rejected = counter("rejected", "Spans and log records that could not be kept", "signal")
        self._ignored = counter("ignored", "Metrics, and log records that are no events: accepted, not kept", "signal")
        self._not_understood = counter(
            "not_understood", "Spans and log events whose content no dialect understands", "scope"
        )
        self.scopes: dict[int, dict[str, int]] = {}
        """By project, the number of spans and log events by scope that no dialect understood since the start; at most
        51 scopes of each."""
        self._scopes = set[str]()
        self.on_arrived: Callable[[int, int, int], object] = _nothing
        """Called with a project, spans and log events, and bytes: for the limits of projects."""
        self._contents = counter("contents", "Contents uploaded")
        self._content_bytes = counter("content_bytes", "Bytes of contents uploaded, before compression")
        self._stored = Gauge("playhead_stored_bytes", "Bytes in Postgres, with indexes", ["what"], registry=registry)
        self.waiting = Gauge("playhead_runs_waiting", "Runs with news that are not projected", registry=registry)

    def gauge(self, name: str, help_text: str, read: Callable[[], float]) -> None:
        """Adds a gauge that calls `read` for its value at each scrape."""
        Gauge(f"playhead_{name}", help_text, registry=self.registry).set_function(read)

    def request(self, route: str, status: int, seconds: float) -> None:
        """Counts a request that was answered. `seconds`: its duration."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def refused(self, route: str, status: int) -> None:
        """Counts a request that was answered before the application got it. Its duration is not recorded."""
        self._requests.labels(route, str(status)).inc()

    def body(self, sent_bytes: int, unpacked_bytes: int) -> None:
        """Counts the bytes of a request's body, as sent and decompressed."""
        self._bytes.labels("sent").inc(sent_bytes)
        self._bytes.labels("unpacked").inc(unpacked_bytes)

    def taken(self, spans: int, duplicates: int, logs: int) -> None:
        """Counts stored spans (of these, those that were stored before) and log events."""
        self._spans.inc(spans)
        self._duplicates.inc(duplicates)
        self._logs.inc(logs)

    def dropped(self, count: int) -> None:
        """Counts spans and log events of deleted runs: accepted and not stored."""
        self._dropped.inc(count)

    def rejected(self, signal: str, count: int) -> None:
        """Counts spans or log records that could not be stored."""
        self._rejected.labels(signal).inc(count)

    def ignored(self, signal: str, count: int) -> None:
        """Counts metrics, and log records that are no events: accepted and not stored."""
        self._ignored.labels(signal).inc(count)

    def arrived(self, project_id: int, items: int, body_bytes: int) -> None:
        """Counts what was taken of a project: spans and log events, and bytes of a request's body, not compressed."""
        self.on_arrived(project_id, items, body_bytes)

    def not_understood(self, project_id: int, scope: str, count: int) -> None:
        """Counts spans and log events of a scope with content that no dialect could read."""
        of_project = self.scopes.setdefault(project_id, {})
        label = _label(scope, of_project)
        of_project[label] = of_project.get(label, 0) + count
        label = _label(scope, self._scopes)
        self._scopes.add(label)
        self._not_understood.labels(label).inc(count)

    def content(self, contents: int, data_bytes: int) -> None:
        """Counts stored contents, and their size in bytes."""
        self._contents.inc(contents)
        self._content_bytes.inc(data_bytes)

    def stored(self, content_bytes: int, database_bytes: int) -> None:
        """Sets the sizes on disk in bytes: contents and threads, and the whole database."""
        self._stored.labels("content").set(content_bytes)
        self._stored.labels("database").set(database_bytes)

    def router(self, measure: Callable[[], Awaitable[None]]) -> APIRouter:
        """The route `GET /metrics`. `measure` updates the gauges before each scrape."""
        routes = APIRouter(tags=["health"])

        @routes.get("/metrics", response_class=Response, summary="Metrics in the format of Prometheus")
        async def metrics(request: Request) -> Response:
            """Metrics in the format of Prometheus."""
            await measure()
            encode, media_type = choose_encoder(request.headers.get("accept", ""))
            return Response(encode(self.registry), media_type=media_type)

        return routes


class CountRequests:
    """Counts each request by its route, status and time. Plain ASGI, so that bodies stream through it."""

    def __init__(self, app: ASGIApp, metrics: Metrics, clock: Callable[[], float] = time.perf_counter) -> None:
        self._app = app
        self._metrics = metrics
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500  # the server answers 500 if no response was started
        began = self._clock()

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, counted)
        finally:
            # By route, not by path: paths contain ids, and each label value takes memory.
            route = getattr(scope.get("route"), "path", "none")
            self._metrics.request(route, status, self._clock() - began)


# --- forwarding ------------------------------------------------------------------------------------------------------

_NS = 1_000_000_000
_FORWARD_COUNTERS = {
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
        for name, help_text in _FORWARD_COUNTERS.items():
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


# --- the object store ------------------------------------------------------------------------------------------------


class ObjectMetrics:
    """Metrics of the object store, where one is set. The figures from the database are those of the last scrape."""

    def __init__(self, mover: ObjectMover, registry: CollectorRegistry) -> None:
        """Registers its gauges in `registry`."""

        def gauge(name: str, help_text: str) -> Gauge:
            return Gauge(f"playhead_object_store_{name}", help_text, registry=registry)

        gauge("ok", "Whether the object store did what it was last asked").set_function(lambda: mover.problem is None)
        gauge("moved", "Contents moved by this process").set_function(lambda: mover.counts["contents"])
        gauge("failures", "Times that the object store failed").set_function(lambda: mover.counts["failures"])
        gauge("deleted", "Objects deleted by this process").set_function(lambda: mover.counts["deleted"])
        self._waiting = gauge("waiting", "Contents in Postgres that are large enough to move")
        self._objects = gauge("objects", "Objects")
        self._bytes = gauge("bytes", "Bytes of objects")
        self._named = gauge("named_bytes", "Bytes in objects that are in use")
        self._doomed = gauge("doomed_bytes", "Bytes of objects that are going to be deleted")

    def measured(self, sizes: ObjectSizes, waiting: int) -> None:
        """Sets the figures from the database."""
        self._waiting.set(waiting)
        self._objects.set(sizes.objects)
        self._bytes.set(sizes.bytes)
        self._named.set(sizes.named_bytes)
        self._doomed.set(sizes.doomed_bytes)

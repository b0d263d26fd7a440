"""What /metrics says about each destination."""

import re
from pathlib import Path

from prometheus_client import CollectorRegistry

from playhead_collector.destination_settings import OtlpSettings
from playhead_collector.forward.destination import ForwardLimits, destination
from playhead_collector.forward.forwarder import Forwarder
from playhead_collector.read.prices import shipped
from playhead_collector.serve.metrics import ForwardMetrics
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.forward.backend import Backend, Reply
from tests.integration.forward.conftest import EAST
from tests.integration.store.making import Clock, P, span

PAGE = Path(__file__).parents[3] / "docs" / "forwarding.md"
MINUTE = 60_000_000_000


async def test_lag_and_dead_letters_are_there_by_destination(store: PostgresStore, backend: Backend, clock: Clock):
    to = destination(OtlpSettings(name=EAST, url=backend.url, timeout_seconds=20.0).checked())
    forwarder = Forwarder(store, [to], ForwardLimits(), shipped(), "http://playhead.example", clock)
    registry = CollectorRegistry()
    metrics = ForwardMetrics(forwarder, clock, registry)

    async def value(name: str) -> float | None:
        await metrics.measure()
        return registry.get_sample_value(f"playhead_forward_{name}", {"destination": EAST})

    await store.spans.ingest(P, Batch(spans=[span(1), span(2)]))
    clock.now_ns += MINUTE
    await store.spans.ingest(P, Batch(spans=[span(3)]))
    clock.now_ns += MINUTE
    assert (await value("waiting"), await value("lag_seconds"), await value("dead_letters")) == (3, 120, 0)
    backend.answer = lambda _: Reply(503)
    await forwarder.workers[0].run_once()
    assert (await value("failures_total"), await value("lag_seconds")) == (1, 120)
    clock.now_ns += 10 * MINUTE
    backend.answer = lambda request: Reply(400, body=b"bad") if "span 2" in request.names else Reply()
    await forwarder.workers[0].run_once()
    await forwarder.workers[0].run_once()
    assert (await value("waiting"), await value("lag_seconds"), await value("dead_letters")) == (0, 0, 1)
    assert await value("sent_spans_total") == 2
    documented = re.findall("`playhead_forward_([a-z_]+)`", PAGE.read_text())
    assert len(documented) >= 6
    assert [name for name in documented if await value(name) is None] == []
    await forwarder.stop()

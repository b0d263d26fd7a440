"""[forward] → serve: all destinations of this collector."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx

from playhead_collector.forward.destination import Destination, ForwardLimits, destination
from playhead_collector.forward.loading import Loader
from playhead_collector.forward.pacing import Clocks, IngestArrivals, Pacing
from playhead_collector.forward.senders import Senders
from playhead_collector.forward.worker import ForwardWorker
from playhead_collector.read.prices import Prices
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports.outbox import OutboxStatus

if TYPE_CHECKING:  # the journal of a machine is read without Postgres' driver
    from playhead_collector.store.postgres.store import PostgresStore


@dataclass(frozen=True, slots=True)
class DestinationStatus:
    """A destination, its worker (None: it is not configured here), and its figures in the outbox."""

    name: str
    worker: ForwardWorker | None
    outbox: OutboxStatus


class Forwarder:
    """Forwards to all destinations, in the background."""

    def __init__(
        self,
        store: "PostgresStore",
        destinations: Sequence[Destination],
        limits: ForwardLimits,
        prices: Prices,
        public_url: str,
        clock: Callable[[], int],
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """`public_url` is the URL of this collector for people; `clock` gives ns since 1970."""
        self.store = store
        clocks = Clocks()
        self._arrivals = IngestArrivals(clocks)

        def worker(to: Destination) -> ForwardWorker:
            pacing = Pacing(self._arrivals, limits.busy_share / len(destinations), clocks)
            uploader = to.uploader(transport)
            loader = Loader(store, to.options, prices, public_url, clock, pacing.pause_for_ingest, uploader)
            senders = Senders(to.kind.sender(transport), to.kind.scores and to.kind.scores(transport))
            return ForwardWorker(store, to, loader, senders, limits, clock, pacing)

        self.workers = [worker(target) for target in destinations]

    def start(self) -> None:
        """Starts a worker for each destination."""
        for worker in self.workers:
            worker.start()

    def wake(self) -> None:
        """Tells the workers that something arrived."""
        self._arrivals.arrived()
        for worker in self.workers:
            worker.wake()

    async def stop(self) -> None:
        """Stops all workers. Work in progress is abandoned and sent again later."""
        await asyncio.gather(*(worker.stop() for worker in self.workers))

    def worker(self, name: str) -> ForwardWorker | None:
        """Returns the worker of a destination; None if it is not configured here."""
        return next((candidate for candidate in self.workers if candidate.destination.name == name), None)

    async def status(self) -> list[DestinationStatus]:
        """Returns all destinations that are configured or have entries, sorted by name. Raises StoreUnavailable."""
        outboxes = {item.destination: item for item in await self.store.outbox.status()}
        names = sorted({*outboxes, *(item.destination.name for item in self.workers)})
        empty = (0, 0, None, 0, 0)
        return [
            DestinationStatus(name, self.worker(name), outboxes.get(name) or OutboxStatus(name, *empty))
            for name in names
        ]


def forwarder_of(
    settings: CollectorSettings, store: "PostgresStore", prices: Prices, clock: Callable[[], int]
) -> Forwarder:
    """Returns the forwarder for these settings; without destinations, it does nothing."""
    limits = ForwardLimits(
        settings.forward_max_age_seconds,
        settings.forward_max_items,
        settings.forward_content_wait_seconds,
        settings.forward_settle_seconds,
        settings.forward_busy_share,
    )
    public_url = settings.public_url or f"http://{settings.host}:{settings.port}"
    destinations = [destination(destination_settings) for destination_settings in settings.destinations]
    return Forwarder(store, destinations, limits, prices, public_url, clock)

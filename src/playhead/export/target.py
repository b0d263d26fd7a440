"""ship → [target] → delivery.  Where a shipper delivers to: the collector, or a destination of `playhead.export_to`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from playhead.export.backoff import ProblemReporter
from playhead.export.counters import ShipCounters
from playhead.export.dead_letters import DeadLetters
from playhead.export.destination_notes import DestinationNote
from playhead.export.left_runs import LeftRun
from playhead.export.shipment import Shipment
from playhead.journal.lane import LaneReader
from playhead.settings.sdk import Settings


class DeliversShipments(Protocol):
    """What delivers to one destination.  Belongs to the shipping thread."""

    def deliver(self, shipment: Shipment) -> None:
        """Returns when the destination has every record, or has refused it for good. Raises Unavailable.  A second
        call with the same shipment goes on where the first one failed."""
        ...

    def tell_left(self, run: LeftRun, journal: str) -> None:
        """Says that all records of this run have arrived, and that no process of this journal goes on with it. Raises
        Unavailable."""
        ...

    def forget(self) -> None:
        """Forgets what the destination has."""
        ...

    def close(self) -> None:
        """Closes connections."""
        ...


MakeDelivery = Callable[
    [Settings, ShipCounters, ProblemReporter, DeadLetters, Callable[[], None], Callable[[str, int], None]],
    DeliversShipments,
]


@dataclass(frozen=True, slots=True)
class ShipTarget:
    """A destination.  `acks`: whose acknowledgements these are in a lane; empty: the collector's.  `delivery`: called
    in the shipping thread; None: the collector's.  `instead`: there is no collector, and this one counts for it.
    `note`: what another process needs to know of it, but for its keys."""

    acks: str = ""
    delivery: MakeDelivery | None = None
    instead: bool = False
    note: DestinationNote | None = None

    @property
    def frees(self) -> bool:
        """Whether its shipper looks after the space that lanes take: one of a process does."""
        return self.instead or not self.acks

    def reader(self, lane: Path) -> LaneReader:
        """The lane, with what this destination has acknowledged of it."""
        return LaneReader(lane, self.acks, instead=self.instead)


def to_collector() -> MakeDelivery:
    """The collector's delivery.  Imports it: call this in the shipping thread."""
    from playhead.export.delivery import Delivery  # noqa: PLC0415 - 0.1 s that no program's start should pay

    return Delivery

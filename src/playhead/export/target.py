"""ship → [target] → delivery. The destinations of a shipper: the collector, or one of `playhead.export_to`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from playhead.export.counters import ShipCounters
from playhead.export.dead_letters import DeadLetters
from playhead.export.destination_notes import DestinationNote
from playhead.export.left_runs import LeftRun
from playhead.export.shipment import Shipment
from playhead.journal.lane import LaneReader
from playhead.settings.sdk import Settings
from playhead.wire.retries import ProblemReporter


class DeliversShipments(Protocol):
    """Delivers to one destination. Belongs to the shipping thread."""

    def deliver(self, shipment: Shipment) -> None:
        """Returns when the destination has every record, or has refused it for good. Raises Unavailable. A second call
        with the same shipment continues where the first one failed."""
        ...

    def tell_left(self, run: LeftRun, journal: str) -> None:
        """Tells the destination that all records of this run have arrived, and that no process of this journal
        continues the run. Raises Unavailable."""
        ...

    def forget(self) -> None:
        """Forgets which contents the destination has, so that they are sent again."""
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
    """A destination. `acks`: name of its acknowledgements in a lane; empty: the collector's. `delivery`: makes the
    delivery, in the shipping thread; None: the collector's. `instead`: there is no collector, and this destination
    counts as the collector. `note`: what another process needs to know of the destination, without its keys."""

    acks: str = ""
    delivery: MakeDelivery | None = None
    instead: bool = False
    note: DestinationNote | None = None

    @property
    def frees_space(self) -> bool:
        """Whether its shipper frees the space of lanes: one shipper of a process does."""
        return self.instead or not self.acks

    def reader(self, lane: Path) -> LaneReader:
        """Opens the lane with the acknowledgements of this destination."""
        return LaneReader(lane, self.acks, instead=self.instead)


def to_collector() -> MakeDelivery:
    """Returns the function that makes the collector's delivery. Imports it: call this in the shipping thread."""
    from playhead.export.delivery import Delivery  # noqa: PLC0415 - 0.1 s that no program's start should pay

    return Delivery

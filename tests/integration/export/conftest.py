"""A journal with a lane, a shipper for it, and a clock that never waits."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from playhead.export.ship import Shipper
from playhead.journal.lane import LaneWriter
from playhead.settings.sdk import Settings
from playhead.wire.retries import Flag
from tests.integration.export.fake_collector import FakeCollector
from tests.unit.export.records import WHO


class ImpatientClock:
    """Waits are written down and over at once; those of a minute and more are real, and end when the event is set."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.time = 0.0

    def now(self) -> float:
        return self.time

    def wait(self, event: Flag, seconds: float) -> None:
        if seconds >= 50:
            event.wait(60)
        elif not event.is_set():
            self.waits.append(seconds)
            self.time += seconds


@pytest.fixture
def collector() -> Iterator[FakeCollector]:
    with FakeCollector() as fake:
        yield fake


@pytest.fixture
def clock() -> ImpatientClock:
    return ImpatientClock()


@pytest.fixture
def lane(tmp_path: Path) -> Iterator[LaneWriter]:
    writer = LaneWriter(tmp_path / "journal", fsync=False, resource_frame=WHO)
    yield writer
    writer.close()


@pytest.fixture
def told() -> list[str]:
    """What the user was told."""
    return []


@pytest.fixture
def shipper_for(lane: LaneWriter, clock: ImpatientClock, told: list[str]) -> Iterator[Callable[..., Shipper]]:
    made: list[Shipper] = []

    def make(url: str, *, on_epoch_change: Callable[[], None] = lambda: None, **settings: Any) -> Shipper:
        settings = {"linger_seconds": 0.0, "journal_dir": lane.path.parent, **settings}
        shipper = Shipper(
            Settings(endpoint=url, **settings),
            lane.path,
            clock=clock,
            on_problem=told.append,
            on_epoch_change=on_epoch_change,
        )
        made.append(shipper)
        return shipper

    yield make
    for shipper in made:
        shipper.stop(1)


@pytest.fixture
def shipper(shipper_for: Callable[..., Shipper], collector: FakeCollector) -> Shipper:
    return shipper_for(collector.url)

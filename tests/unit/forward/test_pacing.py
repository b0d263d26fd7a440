"""Forwarding's pauses, on a machine whose time is told by the test."""

import pytest

from playhead_collector.forward.pacing import Clocks, IngestArrivals, Pacing


class Machine:
    """`busy`: what part of a core ingest uses; `late`: how much later than asked a pause ends."""

    def __init__(self) -> None:
        self.now = self.used = self.busy = self.late = 0.0
        self.pauses: list[float] = []
        self.clocks = Clocks(lambda: self.now, lambda: self.used, self.sleep)
        self.arrivals = IngestArrivals(self.clocks)

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.passes(seconds + self.late)
        if self.busy:
            self.arrivals.arrived()

    def passes(self, seconds: float) -> None:
        self.now += seconds
        self.used += seconds * self.busy


@pytest.fixture
def machine() -> Machine:
    return Machine()


async def works(machine: Machine, pacing: Pacing, seconds: float) -> float:
    """Works for so long, and returns for how long it paused then."""
    pacing.begin()
    machine.passes(seconds)
    machine.pauses.clear()
    await pacing.pause_for_ingest()
    return sum(machine.pauses)


async def test_without_arrivals_there_is_no_pause(machine: Machine):
    pacing = Pacing(machine.arrivals, 0.05, machine.clocks)
    assert await works(machine, pacing, 0.01) == 0
    machine.arrivals.arrived()
    machine.passes(2)
    assert await works(machine, pacing, 0.01) == 0


async def test_while_few_spans_arrive_the_load_is_measured_and_work_goes_on(machine: Machine):
    pacing = Pacing(machine.arrivals, 0.05, machine.clocks)
    machine.arrivals.arrived()
    machine.busy = 0.2
    assert await works(machine, pacing, 0.01) == pytest.approx(0.01)


@pytest.mark.parametrize(("busy", "late"), [(0.9, 0.0), (0.2, 0.02)])
async def test_while_ingest_needs_the_processor_work_takes_its_share_of_the_time(
    machine: Machine, busy: float, late: float
):
    pacing = Pacing(machine.arrivals, 0.05, machine.clocks)
    machine.arrivals.arrived()
    machine.busy, machine.late = busy, late
    assert await works(machine, pacing, 0.01) == pytest.approx(0.19, rel=0.05)
    assert max(machine.pauses) <= 1.0


async def test_the_pause_ends_soon_after_the_load(machine: Machine):
    pacing = Pacing(machine.arrivals, 0.01, machine.clocks)
    machine.arrivals.arrived()
    machine.busy = 0.9
    sleep = machine.clocks.sleep

    async def ends_after_the_third(seconds: float) -> None:
        await sleep(seconds)
        if len(machine.pauses) == 3:
            machine.busy = 0.0

    pacing = Pacing(
        machine.arrivals, 0.01, Clocks(machine.clocks.elapsed, machine.clocks.processor, ends_after_the_third)
    )
    assert await works(machine, pacing, 1.0) <= 4.0

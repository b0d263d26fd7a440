"""What dead processes left: `ship_orphans`, and a shipper that comes across it."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playhead.export.dead_lane_delivery import ShipReport, ship_orphans
from playhead.export.ship import Shipper
from playhead.journal.lane import LaneWriter, lanes
from playhead.settings.sdk import Settings
from tests.integration.export.fake_collector import TRACES, Answer, FakeCollector, closed_port
from tests.integration.export.test_ship_failures import names_in, wait_until
from tests.unit.export.records import WHO, content, span


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def dead_lane(journal: Path, *frames: bytes) -> None:
    writer = LaneWriter(journal, fsync=False, resource_frame=WHO)
    for each in frames:
        writer.append(each)
    writer.close()


def ship(journal: Path, url: str, **options: Any) -> ShipReport:
    return ship_orphans(journal, Settings(endpoint=url), **options)


def test_everything_that_dead_processes_left_is_delivered_once(journal: Path, collector: FakeCollector):
    dead_lane(journal, content(b"x") + span(1), span(2))
    dead_lane(journal, content(b"x") + span(3))
    report = ship(journal, collector.url)
    assert (report.lanes, report.spans, report.contents, report.left, report.problem) == (2, 3, 1, 0, "")
    assert report.bytes == sum(len(request.sent) for request in collector.requests)
    assert collector.span_names() == ["step 1", "step 2", "step 3"]
    assert ship(journal, collector.url) == ShipReport(lanes=0, spans=0, contents=0, bytes=0, left=0)
    assert len(lanes(journal)) == 2  # resume reads them


def test_the_lane_of_a_living_process_is_left_to_it(journal: Path, lane: LaneWriter, collector: FakeCollector):
    lane.append(span(1))
    assert ship(journal, collector.url) == ShipReport(lanes=0, spans=0, contents=0, bytes=0, left=0)


def test_an_empty_journal_is_no_problem(journal: Path, collector: FakeCollector):
    assert ship(journal, collector.url).left == 0
    assert collector.requests == []


def test_a_collector_that_is_down_is_reported_with_what_is_left(journal: Path):
    dead_lane(journal, span(1))
    dead_lane(journal, span(2))
    told: list[str] = []
    with closed_port() as port:
        report = ship(journal, f"http://127.0.0.1:{port}", on_problem=told.append)
    assert (report.lanes, report.left) == (0, 2)
    assert "playhead serve" in report.problem


def test_a_busy_collector_is_waited_for_but_not_forever(journal: Path, collector: FakeCollector, clock: Any):
    dead_lane(journal, span(1))
    collector.answer_next(TRACES, Answer(503, {"retry-after": "7"}))
    assert ship(journal, collector.url, clock=clock).spans == 1
    assert clock.waits == [7]
    dead_lane(journal, span(2))
    collector.answer_next(TRACES, *[Answer(503)] * 8)
    assert ship(journal, collector.url, clock=clock).left == 1


def test_two_at_once_ship_each_lane_once(journal: Path, collector: FakeCollector):
    dead_lane(journal, span(1))
    collector.hang = threading.Event()
    reports: list[ShipReport] = []
    first = threading.Thread(target=lambda: reports.append(ship(journal, collector.url)))
    first.start()
    assert collector.arrived.wait(60)  # the first holds the lane now, and waits for the collector
    assert ship(journal, collector.url).lanes == 0
    collector.hang.set()
    first.join(60)
    assert reports[0].spans == 1
    assert collector.span_names() == ["step 1"]


def test_a_shipper_delivers_its_own_first_and_then_what_it_comes_across(
    journal: Path, lane: LaneWriter, shipper: Shipper, collector: FakeCollector
):
    dead_lane(journal, span(1), span(2))
    lane.append(span(3))
    shipper.wake()
    shipper.start()
    assert wait_until(lambda: len(collector.spans) == 3)
    assert collector.span_names() == ["step 3", "step 1", "step 2"]
    assert wait_until(lambda: ship(journal, collector.url).left == 0)


def test_a_process_that_goes_on_with_a_dead_ones_run_delivers_what_that_left_however_short_it_lives(
    journal: Path, lane: LaneWriter, shipper_for: Callable[..., Shipper], collector: FakeCollector
):
    dead_lane(journal, span(1), span(2))
    (dead,) = (path for path in lanes(journal) if path != lane.path)
    dead_lane(journal, span(4))
    lane.append(span(3))
    shipper = shipper_for(collector.url, linger_seconds=60.0)
    shipper.also_deliver([dead, lane.path])
    shipper.start()
    assert shipper.stop(60)
    assert collector.span_names()[:3] == ["step 3", "step 1", "step 2"]


def test_a_flush_is_done_when_the_lanes_that_belong_to_it_are_delivered(
    journal: Path, lane: LaneWriter, shipper_for: Callable[..., Shipper], collector: FakeCollector
):
    dead_lane(journal, span(1))
    (dead,) = (path for path in lanes(journal) if path != lane.path)
    shipper = shipper_for(collector.url)
    shipper.also_deliver([dead])
    collector.refuse = lambda path, decoded: (
        Answer(503, {"retry-after": "60"}) if path == TRACES and names_in(decoded) == ["step 1"] else None
    )
    lane.append(span(2))
    assert not shipper.flush(30)
    assert collector.span_names() == ["step 2"]
    collector.refuse = lambda path, decoded: None
    assert shipper.flush(60)
    assert collector.span_names() == ["step 2", "step 1"]


def test_a_dead_lane_that_cannot_be_delivered_does_not_hold_up_the_living(
    journal: Path, lane: LaneWriter, shipper_for: Callable[..., Shipper], collector: FakeCollector
):
    def poison(path: str, decoded: Any) -> Answer | None:
        return Answer(503) if path == TRACES and b"step 1" in decoded.SerializeToString() else None

    collector.refuse = poison
    dead_lane(journal, span(1))
    shipper = shipper_for(collector.url)
    shipper.start()
    assert wait_until(lambda: TRACES in collector.paths())
    lane.append(span(2))
    assert shipper.flush(60)
    assert collector.span_names() == ["step 2"]


APPEND_FOREVER = """
import itertools, sys
from pathlib import Path
from playhead.journal.lane import LaneWriter
from tests.unit.export.records import WHO, content, span
lane = LaneWriter(Path(sys.argv[1]), fsync=False, resource_frame=WHO)
for number in itertools.count(1):
    lane.append(content(b"of step %d" % number) + span(number))
    print(number, flush=True)
"""


def test_what_a_process_appended_before_it_was_killed_is_delivered_once(journal: Path, collector: FakeCollector):
    program = [sys.executable, "-c", APPEND_FOREVER, str(journal)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        seen = [int(process.stdout.readline()) for _ in range(500)]
        assert ship(journal, collector.url).lanes == 0
        process.send_signal(signal.SIGKILL)
        seen += [int(line) for line in process.stdout if line.endswith("\n")]
    report = ship(journal, collector.url)
    assert report.lanes == 1
    assert report.left == 0
    # The last append may have been made without being told of, and the kill may cut it after its content.
    assert collector.span_names()[: len(seen)] == [f"step {number}" for number in seen]
    assert len(collector.spans) - len(seen) in {0, 1}
    assert len(collector.content_deliveries) - len(collector.spans) in {0, 1}
    assert len(collector.content_deliveries) - len(seen) in {0, 1}

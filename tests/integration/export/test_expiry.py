"""Delivered lanes of dead processes go after a while; what an open run needs, stays."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from playhead.export.expiry.dead_lanes import Expiry
from playhead.export.expiry.ended_runs import EndedRuns
from playhead.export.ship import Shipper
from playhead.journal.lane import LaneReader, LaneWriter, lanes
from playhead.model import names
from tests.integration.export.fake_collector import FakeCollector
from tests.integration.export.test_ship_failures import wait_until
from tests.unit.export.records import WHO, content, span

KEEP = 100.0


def lane_of(journal: Path, *frames: bytes, delivered: bool = True, age: float = 1000.0) -> Path:
    writer = LaneWriter(journal, fsync=False, resource_frame=WHO)
    for each in frames:
        writer.append(each)
    end = writer.position
    writer.close()
    reader = LaneReader(writer.path)
    reader.ack(end if delivered else LaneReader(writer.path).acked())
    changed = (writer.path / "acked").stat().st_mtime - age
    os.utime(writer.path / "acked", (changed, changed))
    return writer.path


def root(run: str, *, ended: bool = True) -> bytes:
    attributes: dict[str, Any] = {names.RUN_ID: run, names.RUN_ROOT: True}
    return span(1, ended=ended, **attributes)


def call(run: str) -> bytes:
    attributes: dict[str, Any] = {names.RUN_ID: run}
    return content(b"private") + span(2, **attributes)


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def test_of_delivered_lanes_those_of_ended_runs_go_after_their_time(journal: Path):
    old = lane_of(journal, root("a", ended=False), call("a"), root("a"))
    kept = {
        "young": lane_of(journal, root("b"), age=0),
        "not delivered": lane_of(journal, root("c"), delivered=False),
        "of an open run": lane_of(journal, root("d", ended=False), call("d")),
        "of one that ended and one that is open": lane_of(journal, root("e"), root("f", ended=False)),
        "with a call of a run whose root is elsewhere": lane_of(journal, call("g")),
    }
    living = LaneWriter(journal, fsync=False, resource_frame=WHO)
    assert Expiry(journal, KEEP).run_once(living.path) == 1
    assert not old.exists()
    assert {what for what, path in kept.items() if path.exists()} == set(kept)
    assert living.path.exists()
    living.close()


def test_a_run_that_was_resumed_ended_where_it_went_on(journal: Path):
    first = lane_of(journal, root("a", ended=False), call("a"))
    second = lane_of(journal, call("a"), root("a"))
    assert Expiry(journal, KEEP).run_once(journal / "own") == 2
    assert not first.exists()
    assert not second.exists()


def test_the_lane_of_a_living_process_stays(journal: Path):
    living = LaneWriter(journal, fsync=False, resource_frame=WHO)
    living.append(root("a"))
    LaneReader(living.path).ack(living.position)
    os.utime(living.path / "acked", (1, 1))
    assert Expiry(journal, KEEP).run_once(journal / "own") == 0
    assert living.path.exists()
    living.close()


@pytest.mark.parametrize("order", ["the end first", "the beginning first"])
def test_a_run_has_ended_also_when_the_lane_that_says_so_is_looked_at_another_time(journal: Path, order: str):
    lane_of(journal, root("a", ended=False), call("a"))
    lane_of(journal, call("a"), root("a"))
    starts = [0.0, 0.5, 0.0] if order == "the beginning first" else [0.5, 0.0, 0.5]
    for at in starts:  # programs that look at one lane each; when one lane is left, all begin with that
        Expiry(journal, KEEP, start=partial(float, at)).run_once(journal / "own", most_lanes=1)
    assert lanes(journal) == []


def test_a_lane_that_stays_says_which_runs_have_ended(journal: Path):
    first = lane_of(journal, root("a", ended=False), call("a"))
    second = lane_of(journal, root("a"), root("open", ended=False))
    assert Expiry(journal, KEEP, start=lambda: 0.5).run_once(journal / "own", most_lanes=1) == 0
    assert Expiry(journal, KEEP, start=lambda: 0.0).run_once(journal / "own", most_lanes=1) == 1
    assert not first.exists()
    assert second.exists()


def test_lanes_that_stay_do_not_keep_short_programs_from_those_behind(journal: Path):
    for number in range(30):
        lane_of(journal, root(f"open {number}", ended=False))
    old = lane_of(journal, root("a"))
    for _ in range(200):
        Expiry(journal, KEEP).run_once(journal / "own", most_lanes=10)
        if not old.exists():
            return
    raise AssertionError("200 programs have not come to the last lane")


def test_what_is_noted_of_ended_runs_is_bounded(journal: Path):
    notes = EndedRuns(journal)
    journal.mkdir()
    for at in range(0, 60_000, 1_000):
        notes.note(b"%032x" % number for number in range(at, at + 1_000))
    assert (journal / "ended-runs").stat().st_size <= 2**20
    assert b"%032x" % 59_999 in notes.known()
    assert len(notes.known()) > 10_000
    assert [path.name for path in journal.iterdir()] == ["ended-runs"]


def test_each_look_is_bounded_and_the_next_goes_on(journal: Path):
    for number in range(7):
        lane_of(journal, root(f"open {number}", ended=False))
    last = lane_of(journal, root("a"))
    expiry = Expiry(journal, KEEP, start=lambda: 0.0)
    assert [expiry.run_once(journal / "own", most_lanes=3) for _ in range(3)] == [0, 0, 1]
    assert not last.exists()
    assert len(lanes(journal)) == 7


def test_a_program_deletes_what_is_old_however_short_it_lives(
    lane: LaneWriter, shipper_for: Callable[..., Shipper], collector: FakeCollector, told: list[Any]
):
    old = lane_of(lane.path.parent, root("a"))
    young = lane_of(lane.path.parent, root("b"), age=0)
    shipper = shipper_for(collector.url, linger_seconds=60.0, journal_keep_seconds=KEEP)
    lane.append(root("c"))
    assert shipper.stop(10)
    assert wait_until(lambda: not old.exists())
    assert young.exists()
    assert lane.path.exists()
    assert told == []

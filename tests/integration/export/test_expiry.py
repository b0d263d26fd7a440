"""Delivered lanes of dead processes go after a while; what an open run needs, stays."""

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from playhead.export.expiry import DeadLaneExpiry
from playhead.export.ship import Shipper
from playhead.journal.ended_runs import EndedRuns
from playhead.journal.lane import LaneReader, LaneWriter, lanes
from playhead.model import names
from tests.integration.export.conftest import ImpatientClock
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
    assert DeadLaneExpiry(journal, KEEP).run_once(living.path) == 1
    assert not old.exists()
    assert {what for what, path in kept.items() if path.exists()} == set(kept)
    assert living.path.exists()
    living.close()


def test_a_run_that_was_resumed_ended_where_it_went_on(journal: Path):
    first = lane_of(journal, root("a", ended=False), call("a"))
    second = lane_of(journal, call("a"), root("a"))
    assert DeadLaneExpiry(journal, KEEP).run_once(journal / "own") == 2
    assert not first.exists()
    assert not second.exists()


def test_the_lane_of_a_living_process_stays(journal: Path):
    living = LaneWriter(journal, fsync=False, resource_frame=WHO)
    living.append(root("a"))
    LaneReader(living.path).ack(living.position)
    os.utime(living.path / "acked", (1, 1))
    assert DeadLaneExpiry(journal, KEEP).run_once(journal / "own") == 0
    assert living.path.exists()
    living.close()


@pytest.mark.parametrize("order", ["the end first", "the beginning first"])
def test_a_run_has_ended_also_when_the_lane_that_says_so_is_looked_at_another_time(journal: Path, order: str):
    lane_of(journal, root("a", ended=False), call("a"))
    lane_of(journal, call("a"), root("a"))
    starts = [0.0, 0.5, 0.0] if order == "the beginning first" else [0.5, 0.0, 0.5]
    for at in starts:  # programs that look at one lane each; when one lane is left, all begin with that
        DeadLaneExpiry(journal, KEEP, start=partial(float, at)).run_once(journal / "own", most_lanes=1)
    assert lanes(journal) == []


def test_a_lane_that_stays_says_which_runs_have_ended(journal: Path):
    first = lane_of(journal, root("a", ended=False), call("a"))
    second = lane_of(journal, root("a"), root("open", ended=False))
    assert DeadLaneExpiry(journal, KEEP, start=lambda: 0.5).run_once(journal / "own", most_lanes=1) == 0
    assert DeadLaneExpiry(journal, KEEP, start=lambda: 0.0).run_once(journal / "own", most_lanes=1) == 1
    assert not first.exists()
    assert second.exists()


def test_lanes_that_stay_do_not_keep_short_programs_from_those_behind(journal: Path):
    for number in range(30):
        lane_of(journal, root(f"open {number}", ended=False))
    old = lane_of(journal, root("a"))
    for _ in range(200):
        DeadLaneExpiry(journal, KEEP).run_once(journal / "own", most_lanes=10)
        if not old.exists():
            return
    raise AssertionError("200 programs have not come to the last lane")


def test_what_is_noted_of_ended_runs_is_bounded(journal: Path):
    notes = EndedRuns(journal)
    journal.mkdir()
    for at in range(0, 60_000, 1_000):
        notes.add(b"%032x" % number for number in range(at, at + 1_000))
    assert (journal / "ended-runs").stat().st_size <= 2**20
    assert b"%032x" % 59_999 in notes.read()
    assert len(notes.read()) > 10_000
    assert [path.name for path in journal.iterdir()] == ["ended-runs"]


def test_each_look_is_bounded_and_the_next_goes_on(journal: Path):
    for number in range(7):
        lane_of(journal, root(f"open {number}", ended=False))
    last = lane_of(journal, root("a"))
    expiry = DeadLaneExpiry(journal, KEEP, start=lambda: 0.0)
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
    assert shipper.stop(60)
    assert wait_until(lambda: not old.exists())
    assert young.exists()
    assert lane.path.exists()
    assert told == []


def test_a_program_that_ends_does_not_begin_to_look_at_all_lanes(
    lane: LaneWriter, shipper_for: Callable[..., Shipper], collector: FakeCollector, clock: ImpatientClock
):
    """Also where the time of its next look comes just then."""
    for number in range(30):
        lane_of(lane.path.parent, root(f"{number}"))
    shipper = shipper_for(collector.url, linger_seconds=60.0, journal_keep_seconds=KEEP)
    lane.append(root("own"))
    clock.time += 700
    assert shipper.stop(60)
    assert len(lanes(lane.path.parent)) >= 1 + 30 - 10


# --- how long a session is kept ---------------------------------------------------------------------------------------

HOUR = 3_600.0


def session_root(run: str, session: str | None = "conv-42", retention: float | None = None) -> bytes:
    said: dict[str, Any] = {names.CONVERSATION: session, names.RUN_RETENTION: retention}
    attributes: dict[str, Any] = {names.RUN_ID: run, names.RUN_ROOT: True}
    return span(1, ended=True, **attributes, **{name: value for name, value in said.items() if value is not None})


class Looks:
    """Looks at a journal with a clock that stands still in between."""

    def __init__(self, journal: Path, default: float = HOUR) -> None:
        self.journal, self.default, self.time = journal, default, time.time()

    def after(self, seconds: float) -> list[Path]:
        """The lanes that are left after so many seconds, looked at by another process."""
        self.time += seconds
        DeadLaneExpiry(self.journal, self.default, lambda: self.time).run_once(self.journal / "own")
        return lanes(self.journal)


@pytest.mark.parametrize("session", ["conv-42", 'said "so" \\ ü', None])
def test_a_session_is_kept_for_as_long_as_was_said_for_it(journal: Path, session: str | None):
    kept = lane_of(journal, session_root("a", session, 24 * HOUR), age=0)
    other = lane_of(journal, session_root("b", "conv-43"), age=0)
    looks = Looks(journal)
    assert looks.after(0.9 * HOUR) == [kept, other]
    assert looks.after(0.2 * HOUR) == [kept]
    assert looks.after(22 * HOUR) == [kept]
    assert looks.after(HOUR) == []


def test_all_runs_of_a_session_are_kept_for_the_longest_that_was_said(journal: Path):
    said = lane_of(journal, session_root("a", retention=2 * HOUR), age=0)
    more = lane_of(journal, session_root("b", retention=24 * HOUR), age=0)
    silent = lane_of(journal, session_root("c"), age=0)
    looks = Looks(journal)
    assert looks.after(3 * HOUR) == [said, more, silent]
    later = lane_of(journal, session_root("d"), age=-20 * HOUR)
    assert looks.after(21.5 * HOUR) == [later], "the lanes that said it are gone"
    assert looks.after(18 * HOUR) == [later]
    assert looks.after(2 * HOUR) == []


def test_a_session_may_be_kept_for_a_shorter_time_than_others(journal: Path):
    lane_of(journal, session_root("a", retention=HOUR), age=0)
    other = lane_of(journal, session_root("b", None), age=0)
    looks = Looks(journal, default=48 * HOUR)
    assert looks.after(1.1 * HOUR) == [other]
    assert looks.after(46 * HOUR) == [other]
    assert looks.after(HOUR) == []


def test_a_run_that_goes_on_in_another_process_is_kept_as_long_as_its_beginning(journal: Path):
    lane_of(journal, session_root("a", None, 24 * HOUR), age=0)
    lane_of(journal, call("a"), age=0)
    looks = Looks(journal)
    assert len(looks.after(23 * HOUR)) == 2
    assert looks.after(2 * HOUR) == []


def test_a_session_that_is_kept_is_not_read_again_by_each_process(journal: Path, monkeypatch: pytest.MonkeyPatch):
    lane_of(journal, session_root("a", retention=24 * HOUR), age=0)
    looks = Looks(journal)
    assert len(looks.after(2 * HOUR)) == 1
    read: list[Path] = []
    monkeypatch.setattr(DeadLaneExpiry, "_read", lambda _, paths: read.extend(paths) or [])
    looks.after(20 * HOUR)
    assert read == []
    looks.after(3 * HOUR)
    assert len(read) == 1


def test_retention_never_takes_what_is_open_or_not_delivered(journal: Path):
    open_run = lane_of(journal, span(1, ended=False, **_said("a")), age=0)
    undelivered = lane_of(journal, session_root("b", retention=HOUR), delivered=False, age=0)
    assert Looks(journal).after(40 * 24 * HOUR) == [open_run, undelivered]


def _said(run: str) -> dict[str, Any]:
    return {names.RUN_ID: run, names.RUN_ROOT: True, names.RUN_RETENTION: HOUR}

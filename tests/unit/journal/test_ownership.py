"""Whether this process still has a run: what is looked at, when the collector is asked, and what comes of it."""

import errno
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from playhead.errors import SettingInvalid
from playhead.journal.lane import LaneWriter, lanes
from playhead.journal.ownership import OwnRuns, Pulse, RunOwnership, Unsure, take_from, taken_from
from playhead.replaying.lease import LeaseTerms, ask_collector

RUN = "a" * 32


class Clock:
    """Tells the time that it is told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def nobody() -> str | None:
    return None


def test_a_pulse_notes_that_its_process_stood_still():
    clock = Clock()
    pulse = Pulse(clock)
    clock.now += 10
    pulse.beat()
    assert pulse.stops() == 0, "before the first beat, nothing is known"
    clock.now += 0.2
    pulse.beat()
    assert pulse.stops() == 0
    clock.now += 0.3
    pulse.beat()
    clock.now += 0.1
    pulse.beat()
    assert pulse.stops() == 1, "it is remembered, also when the thread beats again before anybody looks"


def test_who_looks_before_the_pulse_beats_again_sees_it_too():
    clock = Clock()
    pulse = Pulse(clock)
    others = set(threading.enumerate())
    pulse.start()
    try:
        clock.now += 0.3
        assert pulse.stops() == 1
    finally:
        pulse.stop()
    for thread in set(threading.enumerate()) - others:
        thread.join(60)  # it may have been about to beat
    clock.now += 10
    known = pulse.stops()
    clock.now += 10
    assert pulse.stops() == known, "without its thread, nothing is noted"


def test_who_looks_while_the_pulse_beats_sees_one_stop():
    clock = Clock()
    beats: list[float] = []

    def now() -> float:
        if running and not beats:  # the thread beats while another one looks
            beats.append(clock.now)
            pulse.beat()
        return clock.now

    running: list[bool] = []
    pulse = Pulse(now)
    pulse.start()
    try:
        clock.now += 0.3
        running.append(True)
        assert [pulse.stops() for _ in range(2)] == [1, 1]
    finally:
        pulse.stop()
    assert beats == [100.3]


def test_records_trust_a_look_for_a_moment_and_what_takes_effect_does_not():
    clock, looked = Clock(), list[float]()

    def look() -> str | None:
        looked.append(clock.now)
        return "taken" if clock.now > 100.01 else None

    owner = RunOwnership(look, nobody, lambda: 0, clock)
    assert [owner.loss(exact=False) for _ in range(3)] == [None] * 3
    assert len(looked) == 1
    clock.now += 0.015
    assert owner.loss(exact=False) is None, "as it was a moment ago"
    assert owner.loss(exact=True) == "taken"
    assert owner.loss(exact=False) == "taken"
    assert len(looked) == 2, "what is lost stays lost"


def test_the_collector_is_asked_once_for_each_time_that_the_process_stood_still():
    clock, stops, asked = Clock(), [0], list[float]()

    def ask() -> str | None:
        asked.append(clock.now)
        return None

    owner = RunOwnership(nobody, ask, lambda: stops[0], clock)
    assert owner.loss(exact=True) is None
    assert asked == []
    stops[0] = 1
    clock.now += 1
    assert [owner.loss(exact=True) for _ in range(3)] == [None] * 3
    assert len(asked) == 1


@pytest.mark.parametrize("trouble", [Unsure("down"), OSError(errno.EMFILE, "Too many open files")])
def test_a_collector_that_cannot_be_asked_is_asked_again_later_and_holds_nobody_up_meanwhile(
    trouble: Exception, caplog: pytest.LogCaptureFixture
):
    clock, stops = Clock(), [0]
    answers: list[Exception | str] = [trouble, "taken"]
    asked: list[float] = []

    def ask() -> str | None:
        asked.append(clock.now)
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    owner = RunOwnership(nobody, ask, lambda: stops[0], clock)
    stops[0] = 1
    assert [owner.loss(exact=True) for _ in range(3)] == [None] * 3
    assert asked == [100.0]
    assert caplog.text == ""
    clock.now += 6
    assert owner.loss(exact=True) == "taken"


def test_while_a_setting_cannot_be_used_it_is_not_known_who_has_a_run(tmp_path: Path):
    def no_client() -> Any:
        raise SettingInvalid("PLAYHEAD_DURABILITY cannot be 'fsnc'")

    with pytest.raises(Unsure, match="PLAYHEAD_DURABILITY"):
        ask_collector(RUN, 0, LeaseTerms(tmp_path, no_client, 30.0))


def test_trouble_while_looking_stops_nothing(caplog: pytest.LogCaptureFixture):
    def look() -> str | None:
        raise OSError("the disk")

    assert RunOwnership(look, nobody, lambda: 0).loss(exact=True) is None
    assert "see who has the run" in caplog.text


def test_the_attempts_are_told_that_another_one_has_overtaken():
    runs = OwnRuns()
    first, second, other = (runs.owner(run, n, nobody, nobody) for run, n in ((RUN, 0), (RUN, 1), ("b" * 32, 0)))
    runs.taken_over(RUN, 1)
    assert f"run {RUN} was taken over by another process" in (first.loss(exact=True) or "")
    assert [second.loss(exact=True), other.loss(exact=True)] == [None, None]


OWNER = """
import sys
from pathlib import Path
from playhead.journal.lane import LaneWriter
lane = LaneWriter(Path(sys.argv[1]), fsync=False, resource_frame=b"")
print("ready", flush=True)
sys.stdin.readline()
"""


def test_a_run_is_taken_from_living_processes_only(tmp_path: Path):
    own = LaneWriter(tmp_path, fsync=False, resource_frame=b"")
    dead = LaneWriter(tmp_path, fsync=False, resource_frame=b"")
    dead.close()
    command = [sys.executable, "-c", OWNER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        (living,) = (lane for lane in lanes(tmp_path) if lane not in (own.path, dead.path))
        take_from(lanes(tmp_path), RUN, "process 7 on web-1")
        assert [taken_from(lane, RUN) is not None for lane in (own.path, dead.path, living)] == [False, False, True]
        assert taken_from(living, "b" * 32) is None
        assert f"run {RUN} was taken over by process 7 on web-1: " in (taken_from(living, RUN) or "")
        process.stdin.close()
    own.close()

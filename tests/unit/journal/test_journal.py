"""The journal of a process: its limit, what is deleted for it, and what happens when nothing can be."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead import observe
from playhead.export.shipment import end_of
from playhead.journal import journal as journal_module
from playhead.journal import quota
from playhead.journal.frame import RESOURCE, frame
from playhead.journal.journal import Journal
from playhead.journal.lane import LaneReader, LaneWriter, Position, lanes
from playhead.journal.quota import BACKGROUND_THREAD, BackgroundJob, DiskUsage, free_space, journal_usage
from playhead.kernel import bell, guard
from playhead.model import names
from playhead.recording import RecordingProcess
from tests.support.interrupting import interrupted_at, returns
from tests.support.journal_reader import Recording, read_lane, start_recording
from tests.unit.export.records import span

WHO = frame(RESOURCE, b"{}")


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    yield from start_recording(tmp_path / "journal", monkeypatch)


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call waits for the measurement of the folder, however long the machine takes for it."""
    monkeypatch.setattr(quota, "_WAIT_SECONDS", 180.0)


def lane_of(folder: Path, appends: int, *, alive: bool = False, acked: Position | None = None) -> LaneWriter:
    lane = LaneWriter(folder, fsync=False, resource_frame=WHO, segment_bytes=100)
    for _ in range(appends):
        lane.append(frame(b"S", b"x" * 100))
    if acked is not None:
        LaneReader(lane.path).ack(acked)
    if not alive:
        lane.close()
    return lane


def journal(
    folder: Path, *, durability: str = "process", max_bytes: int = 2**20, now: Callable[[], float] = time.monotonic
) -> Journal:
    return Journal(
        folder,
        durability=durability,
        max_bytes=max_bytes,
        resource={"service.name": "shop"},
        on_quota_change=lambda room: None,
        on_failed_write=lambda: None,
        now=now,
    )


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether it is so within some minutes: something goes on in the background."""
    end, pause = time.monotonic() + 180, threading.Event()
    while not (found := condition()) and time.monotonic() < end:
        pause.wait(0.002)
    return found


def test_a_job_that_is_asked_for_while_it_is_asked_for_keeps_nobody_waiting():
    """A signal's handler, or the garbage collector, may end a call there, which reserves space."""

    def is_asked_twice(moment: int) -> bool:
        job = BackgroundJob(lambda: None)
        return interrupted_at(moment, lambda: job.run(0.001), lambda: job.run(60), threading, bell, quota)

    def run_often() -> None:
        moment = 1
        while is_asked_twice(moment):
            moment += 1

    assert returns(run_often)


# --- space ------------------------------------------------------------------------------------------------------------


def test_the_oldest_acknowledged_segments_go_first(tmp_path: Path):
    old = lane_of(tmp_path, 4, acked=Position(3, 0))
    new = lane_of(tmp_path, 4, acked=Position(3, 0))
    size = LaneReader(old.path).segment_bytes(1)
    assert free_space(tmp_path, tmp_path / "own", size) == size
    assert LaneReader(old.path).segments() == [2, 3, 4]
    assert LaneReader(new.path).segments() == [1, 2, 3, 4]


def test_what_is_not_acknowledged_stays(tmp_path: Path):
    lane = lane_of(tmp_path, 4)
    free_space(tmp_path, tmp_path / "own", 10**6)
    assert LaneReader(lane.path).segments() == [1, 2, 3, 4]


def test_a_dead_lane_that_is_delivered_goes_whole(tmp_path: Path):
    lane = lane_of(tmp_path, 2)
    reader = LaneReader(lane.path)
    reader.ack(Position(2, reader.segment_bytes(2)))
    assert free_space(tmp_path, tmp_path / "own", 1) > 200
    assert lanes(tmp_path) == []


def test_lanes_of_ended_runs_go_before_older_ones_of_open_runs(tmp_path: Path):
    def delivered(run: str, *, ended: bool) -> Path:
        lane = LaneWriter(tmp_path, fsync=False, resource_frame=WHO)
        attributes: dict[str, Any] = {names.RUN_ID: run, names.RUN_ROOT: True}
        lane.append(span(1, ended=ended, **attributes))
        LaneReader(lane.path).ack(lane.position)
        lane.close()
        return lane.path

    begun, open_run = delivered("a", ended=False), delivered("b", ended=False)
    ended, later = delivered("a", ended=True), delivered("c", ended=True)
    living = lane_of(tmp_path, 1, alive=True)
    assert free_space(tmp_path, living.path, 1) > 0
    assert lanes(tmp_path) == [begun, open_run, later, living.path], "the one that says that its run has ended"
    assert free_space(tmp_path, living.path, 1) > 0
    assert lanes(tmp_path) == [open_run, later, living.path], "its end is known though the record of it is gone"
    free_space(tmp_path, living.path, 1)
    assert lanes(tmp_path) == [open_run, living.path]
    free_space(tmp_path, living.path, 1)
    assert lanes(tmp_path) == [living.path], "the collector has it: it goes before records would be lost"
    assert not ended.exists()
    living.close()


def test_a_living_process_keeps_its_lane(tmp_path: Path):
    lane = lane_of(tmp_path, 3, alive=True, acked=Position(3, 0))
    free_space(tmp_path, tmp_path / "own", 10**6)
    assert LaneReader(lane.path).segments() == [1, 2, 3]
    free_space(tmp_path, lane.path, 10**6)
    assert LaneReader(lane.path).segments() == [3]


WRITER = """
import sys
from pathlib import Path
from playhead.journal.frame import frame
from playhead.journal.journal import Journal

journal = Journal(
    Path(sys.argv[1]),
    durability="process",
    max_bytes=int(sys.argv[2]),
    resource={},
    on_quota_change=lambda room: None,
    on_failed_write=lambda: None,
)
sys.stdin.readline()
kept = sum(journal.append(frame(b"S", b"x" * 1_000)) for _ in range(int(sys.argv[3])))
print(kept, journal.counters.lost_records)
"""


def test_the_limit_is_the_folders_whoever_writes(tmp_path: Path):
    writers, limit, appends = 6, 4 * 2**20, 3_000
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", WRITER, str(tmp_path), str(limit), str(appends)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    programs = [subprocess.Popen(command, env=environ, **pipes) for _ in range(writers)]
    for program in programs:
        assert program.stdin is not None
        program.stdin.write("go\n")
        program.stdin.flush()
    told = [tuple(map(int, program.communicate()[0].split())) for program in programs]
    assert all(kept + lost == appends for kept, lost in told)
    taken = journal_usage(tmp_path).bytes
    # Each may write a 64th of the limit before it measures the folder, and another one while it does.
    assert 0.9 * limit <= taken <= (1.02 + writers / 32) * limit
    assert sum(kept for kept, _ in told) * 1_009 <= taken, "what is said to be kept is there"


@pytest.mark.usefixtures("patience")
def test_a_process_that_waits_for_others_to_be_delivered_goes_on_when_they_are(tmp_path: Path):
    now = [0.0]
    other = LaneWriter(tmp_path, fsync=False, resource_frame=WHO, segment_bytes=2**18)
    for _ in range(50):
        other.append(frame(b"S", b"x" * 20_000))
    other.close()
    mine = journal(tmp_path, now=lambda: now[0])
    large = frame(b"S", b"x" * 50_000)
    assert not mine.append(large)
    assert mine.counters.lost_records == 1
    LaneReader(other.path).ack(end_of(LaneReader(other.path)))
    assert not mine.append(large), "nobody looks at the folder for every append"
    now[0] += 2
    assert eventually(lambda: mine.append(large))
    mine.close()


# --- in the background ------------------------------------------------------------------------------------------------


def test_no_call_lists_the_folder_or_deletes_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    threads: dict[str, set[int]] = {"measure": set(), "reclaim": set()}

    def measured(folder: Path) -> DiskUsage:
        threads["measure"].add(threading.get_ident())
        return journal_usage(folder)

    def reclaimed(*args: Any, **kwargs: Any) -> int:
        threads["reclaim"].add(threading.get_ident())
        return free_space(*args, **kwargs)

    monkeypatch.setattr(journal_module, "journal_usage", measured)
    monkeypatch.setattr(journal_module, "free_space", reclaimed)
    delivered = lane_of(tmp_path, 1)
    LaneReader(delivered.path).ack(end_of(LaneReader(delivered.path)))
    mine = journal(tmp_path, max_bytes=2**20)
    kept = sum(mine.append(frame(b"S", b"x" * 5_000)) for _ in range(400))
    mine.close()
    assert 50 < kept < 400, "it came to the limit"
    assert threads["measure"]
    assert threads["reclaim"]
    assert threading.get_ident() not in threads["measure"] | threads["reclaim"]
    assert not delivered.path.exists()


def test_a_call_waits_but_a_moment_for_a_folder_that_takes_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    go_on, measuring = threading.Event(), list[int]()

    def slow(folder: Path) -> DiskUsage:
        measuring.append(1)
        go_on.wait(60)
        return journal_usage(folder)

    monkeypatch.setattr(journal_module, "journal_usage", slow)
    monkeypatch.setattr(quota, "_WAIT_SECONDS", 0.001)
    mine = journal(tmp_path, max_bytes=2**20)
    kept = [mine.append(frame(b"S", b"x" * 1_000)) for _ in range(100)]
    assert 30 <= sum(kept) < 40, "a 32nd of the limit is written unmeasured, and no more"
    assert eventually(lambda: len(measuring) > 0)
    assert len(measuring) == 1, "one at a time"
    go_on.set()
    assert eventually(lambda: mine.append(frame(b"S", b"x" * 1_000)))
    mine.close()


@pytest.mark.usefixtures("patience")
def test_a_bug_in_the_background_does_not_stop_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def broken(folder: Path) -> DiskUsage:
        raise RuntimeError("no such luck")

    guard.reset_logged_causes()
    monkeypatch.setattr(journal_module, "journal_usage", broken)
    mine = journal(tmp_path, max_bytes=2**20)
    kept = [mine.append(frame(b"S", b"x" * 5_000)) for _ in range(60)]
    mine.close()
    assert all(kept)
    assert eventually(lambda: "could not make room in the journal" in caplog.text)
    guard.reset_logged_causes()


def test_a_forked_child_makes_room_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    go_on = threading.Event()

    def slow(folder: Path) -> DiskUsage:
        go_on.wait(60)
        return journal_usage(folder)

    with monkeypatch.context() as patched:
        patched.setattr(journal_module, "journal_usage", slow)
        mine = journal(tmp_path, max_bytes=2**20)
        mine.append(frame(b"S", b"x" * 50_000))  # the parent measures now
    mine.after_fork()
    monkeypatch.setattr(quota, "_WAIT_SECONDS", 180.0)  # from here on, measuring takes as long as the machine needs
    assert mine.append(frame(b"S", b"x" * 50_000))
    assert eventually(lambda: not mine.append(frame(b"S", b"x" * 50_000))), "the child comes to the limit, too"
    go_on.set()
    mine.close()


# --- appending --------------------------------------------------------------------------------------------------------


def test_nothing_touches_the_disk_before_the_first_append(tmp_path: Path):
    mine = journal(tmp_path / "journal")
    assert not (tmp_path / "journal").exists()
    assert mine.append(frame(b"S", b"one"))
    assert len(lanes(tmp_path / "journal")) == 1


def test_off_keeps_appends_in_memory_until_a_flush(tmp_path: Path):
    mine = journal(tmp_path, durability="off")
    for _ in range(3):
        assert mine.append(frame(b"L", b'["x",1,null,null,{}]'))
    assert lanes(tmp_path) == []
    mine.flush()
    [lane] = lanes(tmp_path)
    assert len(read_lane(lane)[0].logs) == 3
    mine.append(frame(b"L", b'["x",1,null,null,{"y":"%b"}]' % (b"z" * 300_000)))
    assert len(read_lane(lane)[0].logs) == 4


def test_after_closing_an_append_opens_another_lane(tmp_path: Path):
    mine = journal(tmp_path)
    mine.append(frame(b"S", b"one"))
    mine.close()
    mine.append(frame(b"S", b"two"))
    assert len(lanes(tmp_path)) == 2
    mine.close()


# --- a journal that is full, as a program sees it ---------------------------------------------------------------------


@observe(kind="tool")
def tool(x: int) -> str:
    return f"{x}-" * 400


def acknowledge_all(recording: Recording) -> None:
    """As the shipper does when the collector has taken everything."""
    root = RecordingProcess.recording
    assert root is not None
    for thread in threading.enumerate():
        if thread.name == BACKGROUND_THREAD:  # else it may set the room that there was before
            thread.join(180)
    [path] = lanes(recording.folder)
    reader = LaneReader(path)
    last = reader.segments()[-1]
    reader.ack(Position(last, reader.segment_bytes(last)))
    root.journal.make_room()


@pytest.mark.usefixtures("patience")
def test_a_journal_that_is_full_keeps_calls_and_leaves_payloads_out(
    recording: Recording, caplog: pytest.LogCaptureFixture
):
    recording.configure(journal_max_bytes=64_000)
    with playhead.run("r"):
        results = [tool(x) for x in range(28)]
    assert results == [f"{x}-" * 400 for x in range(28)]
    seen = recording.read()
    assert len(seen.calls("tool")) == 28
    values = [seen.value(span, names.TOOL_RESULT_REF) for span in seen.calls("tool")]
    assert values[0] == results[0]
    assert values[-1]["$playhead"] == "journal full"
    assert playhead.counters()["payloads_dropped"] > 0
    assert playhead.counters()["records_lost"] == 0
    assert [record.message for record in caplog.records if "PLAYHEAD_JOURNAL_MAX_BYTES" in record.message] == [
        caplog.records[0].message
    ]


@pytest.mark.usefixtures("patience")
def test_beyond_that_calls_are_lost_and_counted_and_the_limit_holds(
    recording: Recording, caplog: pytest.LogCaptureFixture
):
    recording.configure(journal_max_bytes=64_000)
    for x in range(300):
        tool(x)
    assert playhead.counters()["records_lost"] > 0
    [path] = lanes(recording.folder)
    reader = LaneReader(path)
    assert sum(map(reader.segment_bytes, reader.segments())) <= 64_000 * 1.3
    assert read_lane(path)[1] == 0
    assert eventually(lambda: len(caplog.records) == 2), "one of them is said in the background"


@pytest.mark.usefixtures("patience")
def test_when_the_collector_has_taken_some_everything_is_recorded_again(recording: Recording):
    recording.configure(journal_max_bytes=64_000)
    for x in range(300):
        tool(x)
    acknowledge_all(recording)
    before = playhead.counters()["records_lost"]
    with playhead.run("again"):
        tool(1)
        tool(1_000)
    assert playhead.counters()["records_lost"] == before
    seen = recording.read()
    again = seen.call("again").attributes[names.RUN_ID]
    results = [
        seen.value(span, names.TOOL_RESULT_REF) for span in seen.calls("tool") if span.attributes[names.RUN_ID] == again
    ]
    assert results == ["1-" * 400, "1000-" * 400]


@pytest.mark.usefixtures("patience")
def test_a_journal_goes_on_forever_while_the_collector_keeps_up(recording: Recording):
    recording.configure(journal_max_bytes=64_000)
    for x in range(200):
        tool(x)
        acknowledge_all(recording)
    assert playhead.counters()["records_lost"] == 0
    assert playhead.counters()["payloads_dropped"] == 0
    [path] = lanes(recording.folder)
    assert LaneReader(path).segments()[0] > 1


@pytest.mark.usefixtures("patience")
def test_one_payload_does_not_fill_a_small_journal(recording: Recording):
    recording.configure(journal_max_bytes=64_000)

    @observe
    def large() -> str:
        return "x" * 60_000

    large()
    seen = recording.read()
    assert seen.output("large")["$playhead"] == "too large"

"""What a process that lives on has delivered goes after a while, too; what an open run needs, stays."""

import contextvars
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.calls import runtime
from playhead.export.expiry import OwnLaneExpiry
from playhead.export.ship import Shipper
from playhead.export.shipment import end_of
from playhead.journal.ended_runs import runs_in
from playhead.journal.lane import LaneReader, LaneWriter
from playhead.journal.recorder import JournalRecorder
from playhead.local.journal_records import JournalRecords
from playhead.model import names
from playhead.model.canonical import value_of
from playhead.model.ref import ContentRef
from playhead.settings.sdk import Settings
from tests.integration.export.conftest import ImpatientClock
from tests.integration.export.fake_collector import FakeCollector
from tests.integration.export.test_expiry import HOUR, KEEP, call, root, session_root
from tests.integration.export.test_ship_failures import wait_until
from tests.support.journal_reader import start_recording
from tests.unit.export.records import WHO


class Own:
    """A lane that is written to, delivered, and looked at, with a clock that stands still in between."""

    def __init__(self, journal: Path):
        self.writer = LaneWriter(journal, fsync=False, resource_frame=WHO)
        self.reader = LaneReader(self.writer.path)
        self.time = self.writer.path.stat().st_mtime
        self.expiry = OwnLaneExpiry(self.writer.path, KEEP, self.writer.start_segment, lambda: self.time)

    def append(self, *frames: bytes, delivered: bool = True) -> None:
        for each in frames:
            self.writer.append(each)
        os.utime(self.reader.segment_path(self.writer.segment_number), (self.time, self.time))
        if delivered:
            self.reader.ack(end_of(self.reader))

    def look(self, after: float = KEEP) -> list[int]:
        """Delivers what is written and looks again after so many seconds; the segments that are left."""
        self.time += after
        self.expiry.run_once()
        return self.reader.segments()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Own]:
    made = Own(tmp_path / "journal")
    yield made
    made.writer.close()


def test_what_is_delivered_of_ended_runs_goes_after_its_time(own: Own):
    own.append(root("a", ended=False), call("a"), root("a"))
    assert own.look(KEEP / 2) == [1]
    assert own.look(KEEP / 2) == [1, 2]
    own.append(call("b"), root("b"))  # acknowledged, which is what lets the first one go
    assert own.look(1) == [2]
    assert b"private" in own.reader.segment_path(2).read_bytes()
    own.look()
    own.append()
    own.reader.ack(end_of(own.reader))
    assert own.look() == [3]
    assert b"private" not in own.reader.segment_path(3).read_bytes()


def test_what_is_not_delivered_stays(own: Own):
    own.append(root("a"), delivered=False)
    assert own.look() == [1, 2]
    assert own.look() == [1, 2]


def test_what_an_open_run_may_need_stays_until_it_ends(own: Own):
    own.append(call("z"), root("z"))
    own.look()
    own.append(root("a", ended=False), call("a"))
    assert own.look() == [2, 3]
    own.append(call("a"), call("b"), root("b"))
    own.look()
    own.append(root("c"))
    assert own.look(KEEP / 2) == [2, 3, 4]
    own.append(root("a"))  # and now it has ended
    assert own.look(KEEP / 2)[0] > 3


def test_what_neither_an_open_run_nor_a_kept_session_needs_goes_between_them(own: Own):
    own.append(root("a", ended=False), call("a"))
    own.look()
    own.append(call("b"), root("b"))
    own.look()
    own.append(session_root("c", retention=24 * HOUR))
    own.look()
    own.append(call("d"), root("d"))
    own.look()
    own.append(root("e"))
    assert own.look() == [1, 3, 5, 6]
    own.append(root("a"), delivered=False)
    assert own.look(24 * HOUR) == [5, 6, 7], "those behind are not acknowledged"


def test_retention_runs_while_sessions_are_recorded(own: Own):
    until: dict[bytes, float] = {}
    gone = set[bytes]()
    for number in range(24):
        retention = 5 * KEEP if number % 6 == 0 else None
        own.append(session_root(f"{number}", f"conv-{number}", retention), call(f"{number}"))
        until[b"%d" % number] = own.time + (retention or KEEP)
        left = own.look(KEEP / 2)
        found = runs_in(b"".join(own.reader.segment_path(each).read_bytes() for each in left)).runs
        assert {run for run, end in until.items() if end > own.time} <= found
        gone = until.keys() - found
    assert {b"0", b"1", b"7", b"13"} <= gone


def test_a_clock_that_goes_back_makes_nothing_go_early_and_retention_goes_on(own: Own):
    own.append(call("a"), root("a"))
    own.look(KEEP / 2)
    assert own.look(-10 * KEEP) == [1, 2]
    own.append(call("b"), root("b"))
    assert own.look(KEEP / 2) == [1, 2]
    own.append(root("c"))
    assert own.look() == [1, 2, 3], "b is old now, and not acknowledged as a whole"
    own.append(root("d"))
    assert own.look(1) == [1, 3], "the first one's time is still to come"
    own.append(root("e"))
    assert own.look(10 * KEEP)[0] > 2


def test_a_run_that_ended_in_another_process_is_not_open(own: Own, tmp_path: Path):
    own.append(root("a", ended=False), call("a"))
    own.look()
    own.append(root("b"))
    assert own.look() == [1, 2, 3]
    (tmp_path / "journal" / "ended-runs").write_bytes(b"a\n")
    own.append(root("c"))
    assert 1 not in own.look(1)


def test_what_a_background_task_records_behind_the_end_of_its_run_does_not_open_it(own: Own):
    own.append(root("a", ended=False), root("a"))
    own.look()
    own.append(call("a"))
    assert own.look() == [2, 3]
    own.append(call("a"))
    own.look()
    own.append(root("b"))
    assert own.look(1) == [4]


def test_an_idle_process_begins_no_segments(own: Own):
    own.append(root("a"))
    own.look()
    own.append()
    own.reader.ack(end_of(own.reader))
    assert [own.look() for _ in range(3)] == [[2]] * 3


def test_the_shipper_of_a_process_that_lives_on_deletes_what_is_old(
    lane: LaneWriter, collector: FakeCollector, clock: ImpatientClock, tmp_path: Path
):
    told: list[Any] = []
    settings = Settings(
        endpoint=collector.url, linger_seconds=0.0, journal_dir=lane.path.parent, journal_keep_seconds=0.0
    )
    shipper = Shipper(settings, lane.path, clock=clock, on_problem=told.append, start_segment=lane.start_segment)
    lane.append(call("a") + root("a"))
    first = LaneReader(lane.path).segment_path(1)
    try:
        for _ in range(4):
            assert shipper.flush(60)
            clock.time += 700
            shipper.wake()
            lane.append(root("b"))
        assert wait_until(lambda: not first.exists())
    finally:
        shipper.stop(60)
    assert told == []


def test_contents_are_recorded_anew_in_a_new_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for _ in start_recording(tmp_path / "journal", monkeypatch):
        _say_twice()


def test_the_record_of_a_run_says_how_long_it_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for _ in start_recording(tmp_path / "journal", monkeypatch):
        with playhead.run("a", session="conv-42", retention=2 * HOUR) as run:
            pass
        recorder = runtime.current.recorder
        assert isinstance(recorder, JournalRecorder)
        assert recorder.journal.lane is not None
        seen = runs_in(LaneReader(recorder.journal.lane.path).segment_path(1).read_bytes())
        run_id = str(run.id).encode()
        assert seen.ended == {run_id}
        assert seen.retention == {run_id: 2 * HOUR, seen.sessions[run_id]: 2 * HOUR}


@playhead.observe(kind="tool")
def find(text: str) -> str:
    return f"found: {text}"


def test_an_open_run_is_whole_whatever_retention_took_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def other(number: int) -> None:
        with playhead.run("other", session=f"conv-{number}"):
            find(f"something else {number} " * 50)

    shared = "what both of them look for " * 50
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        with playhead.run("long") as run:
            look = _looks_of_this_process()
            for number in range(6):
                find(shared)
                find(f"step {number} " * 50)
                look(HOUR)
                contextvars.Context().run(other, number)
                look(HOUR)
        assert len(JournalRecords(recording.folder).runs()) < 4, "runs of others are gone"
        assert _results(recording.folder, str(run.id)) == [
            f"found: {text}" for number in range(6) for text in (shared, f"step {number} " * 50)
        ]
        look(HOUR)
        other(7)
        look(HOUR)
        assert str(run.id) not in JournalRecords(recording.folder).runs(), "now it has ended, too"


def _looks_of_this_process() -> Callable[[float], None]:
    """Delivers what is in the journal and looks at it so many seconds later."""
    recorder = runtime.current.recorder
    assert isinstance(recorder, JournalRecorder)
    lane = recorder.journal.open()
    assert lane is not None
    now, reader = [time.time()], LaneReader(lane.path)
    expiry = OwnLaneExpiry(lane.path, HOUR, recorder.journal.start_segment, lambda: now[0])

    def look(seconds: float) -> None:
        now[0] += seconds
        reader.ack(end_of(reader))
        expiry.run_once()

    return look


def _results(journal: Path, run: str) -> list[object]:
    records = JournalRecords(journal)
    spans = [span for span in records.records(run).spans if span.end_ns is not None]
    refs = [ContentRef(span.attributes[names.TOOL_RESULT_REF]) for span in spans if span.parent_id is not None]
    contents = records.contents(refs)
    return [value_of(contents[ref]) for ref in refs]


def _say_twice() -> None:
    said = "a text that is long enough to stand on its own " * 20

    @playhead.observe
    def say(text: str) -> None: ...

    say(said)
    recorder = runtime.current.recorder
    assert isinstance(recorder, JournalRecorder)
    journal = recorder.journal
    assert journal.start_segment() == 2
    say(said)
    lane = journal.lane
    assert lane is not None
    reader = LaneReader(lane.path)
    for number in (1, 2):
        assert said.encode() in reader.segment_path(number).read_bytes()

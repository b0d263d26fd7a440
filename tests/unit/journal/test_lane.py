"""Lanes: appended to by their process, read by whoever ships them, and nobody else's while their owner lives."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from playhead.errors import JournalUnusable
from playhead.journal import lane as module
from playhead.journal import segment as segments
from playhead.journal.frame import RESOURCE, frame, frames_in
from playhead.journal.lane import LaneReader, LaneWriter, Position, adopt, lanes

WHO = frame(RESOURCE, b"{}")


def writer(folder: Path, segment_bytes: int = 2**20) -> LaneWriter:
    return LaneWriter(folder, fsync=False, resource_frame=WHO, segment_bytes=segment_bytes)


def payloads(path: Path) -> list[bytes]:
    reader = LaneReader(path)
    found: list[bytes] = []
    for number in reader.segments():
        data, _ = reader.read(Position(number, 0), 2**20)
        found += [payload for kind, payload, _ in frames_in(data) if kind != RESOURCE]
    return found


@pytest.fixture(params=["mapped", "written"], autouse=True)
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each way to append, wherever this runs: file systems that keep their word are what CI has."""
    monkeypatch.setattr(module, "can_be_mapped", lambda folder: request.param == "mapped")
    return request.param


class FakeOs:
    """`os`, with another `pwrite`."""

    def __init__(self, pwrite: Any):
        self.pwrite = pwrite

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


def test_what_is_appended_is_read(tmp_path: Path):
    lane = writer(tmp_path)
    lane.append(frame(b"S", b"one"))
    lane.append(frame(b"S", b"two"))
    assert payloads(lane.path) == [b"one", b"two"]
    assert lane.position == Position(1, LaneReader(lane.path).segment_bytes(1))


def test_segments_follow_each_other_and_each_says_whose_it_is(tmp_path: Path):
    lane = writer(tmp_path, segment_bytes=50)
    for n in range(10):
        lane.append(frame(b"S", str(n).encode() * 10))
    reader = LaneReader(lane.path)
    assert len(reader.segments()) > 3
    for number in reader.segments():
        assert next(frames_in(reader.read(Position(number, 0), 1_000)[0]))[0] == RESOURCE
    assert payloads(lane.path) == [str(n).encode() * 10 for n in range(10)]


def test_a_reader_goes_on_to_the_next_segment(tmp_path: Path):
    lane = writer(tmp_path, segment_bytes=1)
    lane.append(frame(b"S", b"one"))
    lane.append(frame(b"S", b"two"))
    reader = LaneReader(lane.path)
    at = Position(1, reader.segment_bytes(1))
    data, begin = reader.read(at, 1_000)
    assert begin == Position(2, 0)
    assert data
    reader.delete_segment(2)
    assert reader.read(Position(2, 0), 1_000)[1] == Position(3, 0)


def test_only_its_user_may_read_it(tmp_path: Path):
    lane = writer(tmp_path)
    assert lane.path.stat().st_mode & 0o777 == 0o700
    assert (lane.path / "00000001.log").stat().st_mode & 0o777 == 0o600


def test_threads_never_tear_each_others_frames(tmp_path: Path):
    lane = writer(tmp_path, segment_bytes=10_000)

    def append(n: int) -> None:
        for i in range(50):
            lane.append(frame(b"S", f"{n}-{i}-".encode() * 20))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(append, range(8)))
    found = [payload.partition(b"-")[0] + b"-" + payload.split(b"-")[1] for payload in payloads(lane.path)]
    assert sorted(found) == sorted(f"{n}-{i}".encode() for n in range(8) for i in range(50))


def test_a_write_in_pieces_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lane = writer(tmp_path)
    monkeypatch.setattr(segments, "os", FakeOs(lambda fd, data, at: os.pwrite(fd, bytes(data)[:7], at)))
    lane.append(frame(b"S", b"x" * 100))
    assert payloads(lane.path) == [b"x" * 100]


@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_halfway_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: BaseException
):
    lane = writer(tmp_path, segment_bytes=100_000)
    lane.append(frame(b"S", b"before"))
    calls: list[int] = []

    def write(fd: int, data: bytes, at: int) -> int:
        calls.append(fd)
        if len(calls) == 2:
            raise problem
        return os.pwrite(fd, bytes(data)[:7], at)

    with monkeypatch.context() as patch:
        patch.setattr(segments, "os", FakeOs(write))
        with pytest.raises(type(problem)):
            lane.append(frame(b"S", b"lost"))
    lane.append(frame(b"S", b"after"))
    assert payloads(lane.path) == [b"before", b"after"]


def no_room(fd: int, data: bytes, at: int) -> int:
    raise OSError(28, "No space left on device")


def test_a_segment_that_cannot_be_begun_leaves_all_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lane = writer(tmp_path, segment_bytes=1)
    lane.append(frame(b"S", b"one"))
    with monkeypatch.context() as patch:
        patch.setattr(segments, "os", FakeOs(no_room))
        with pytest.raises(OSError, match="No space left"):
            lane.append(frame(b"S", b"lost"))
    before = LaneReader(lane.path).segments()
    lane.append(frame(b"S", b"two"))
    assert payloads(lane.path) == [b"one", b"two"]
    assert LaneReader(lane.path).segments() == [*before, before[-1] + 1]


def test_a_closed_lane_takes_no_more_and_touches_no_foreign_file(tmp_path: Path):
    lane = writer(tmp_path)
    lane.close()
    lane.close()
    with (tmp_path / "foreign").open("wb") as foreign:
        with pytest.raises(OSError):
            lane.append(frame(b"S", b"late"))
        foreign.write(b"untouched")
    assert (tmp_path / "foreign").read_bytes() == b"untouched"


def test_a_lane_is_its_owners_until_that_closes_it(tmp_path: Path):
    lane = writer(tmp_path)
    assert adopt(lane.path) is None
    lane.close()
    lock = adopt(lane.path)
    assert lock is not None
    assert adopt(lane.path) is None
    os.close(lock)


def test_lanes_are_listed_oldest_first_and_only_when_they_are_locked(tmp_path: Path):
    first, second = writer(tmp_path), writer(tmp_path)
    (tmp_path / "unfinished").mkdir()
    (tmp_path / "file").touch()
    assert lanes(tmp_path) == [first.path, second.path]
    assert lanes(tmp_path / "absent") == []


def test_what_was_acknowledged_is_remembered(tmp_path: Path):
    lane = writer(tmp_path)
    reader = LaneReader(lane.path)
    assert reader.acked() == Position(1, 0)
    reader.ack(Position(12, 3456))
    reader.ack(Position(2, 7))
    assert LaneReader(lane.path).acked() == Position(2, 7)
    (lane.path / "acked").write_text("gar bage")
    assert reader.acked() == Position(1, 0)


def test_a_lane_can_be_deleted_and_is_then_empty(tmp_path: Path):
    lane = writer(tmp_path)
    lane.close()
    reader = LaneReader(lane.path)
    reader.delete()
    assert (lanes(tmp_path), reader.segments(), reader.segment_bytes(1)) == ([], [], 0)
    assert adopt(lane.path) is None


def test_a_folder_that_cannot_be_used_says_what_to_do(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(JournalUnusable, match="set PLAYHEAD_JOURNAL_DIR"):
        writer(tmp_path / "file")


def test_fsync_is_asked_for_after_each_append(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lane = LaneWriter(tmp_path, fsync=True, resource_frame=WHO)
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    lane.append(frame(b"S", b"one"))
    assert len(synced) == 1


def test_an_append_within_an_append_is_synced_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lane = LaneWriter(tmp_path, fsync=True, resource_frame=WHO)
    inside: list[bytes] = [frame(b"S", b"inner")]
    synced: list[bool] = []

    def write(fd: int, data: bytes, at: int) -> int:
        if inside:
            lane.append(inside.pop())
        return os.pwrite(fd, bytes(data), at)

    monkeypatch.setattr(segments, "os", FakeOs(write))
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(b"inner" in (lane.path / "00000001.log").read_bytes()))
    lane.append(frame(b"S", b"outer"))
    assert synced == [True]


def test_an_append_within_an_append_waits_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lane = writer(tmp_path, segment_bytes=100_000)
    inside: list[bytes] = [frame(b"S", b"inner")]

    def write(fd: int, data: bytes, at: int) -> int:
        if inside:
            thread = threading.Thread(target=lane.append, args=(frame(b"S", b"other thread"),))
            lane.append(inside.pop())  # as the garbage collector or a signal would
            thread.start()
            others.append(thread)
        return os.pwrite(fd, bytes(data), at)

    others: list[threading.Thread] = []
    monkeypatch.setattr(segments, "os", FakeOs(write))
    lane.append(frame(b"S", b"outer"))
    others[0].join(10)
    assert payloads(lane.path) == [b"outer", b"inner", b"other thread"]

"""Lanes: appended to by their process, read by whoever ships them, and nobody else's while their owner lives."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from playhead.errors import JournalUnusable
from playhead.journal import lane as lane_module
from playhead.journal import segment as segments
from playhead.journal.frame import END, RESOURCE, frame, frames_in
from playhead.journal.lane import LaneReader, LaneWriter, Position, is_own, is_owned, lanes, lock_dead_lane
from playhead.journal.segment import SegmentGone

WHO = frame(RESOURCE, b"{}")


def writer(folder: Path, segment_bytes: int = 2**20) -> LaneWriter:
    return LaneWriter(folder, fsync=False, resource_frame=WHO, segment_bytes=segment_bytes)


def payloads(path: Path) -> list[bytes]:
    reader = LaneReader(path)
    found: list[bytes] = []
    for number in reader.segments():
        data, _ = reader.read(Position(number, 0), 2**20)
        found += [payload for kind, payload, _ in frames_in(data) if kind not in (RESOURCE, END)]
    return found


class FakeOs:
    """`os`, with another `write`."""

    def __init__(self, write: Any):
        self.write = write

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


@pytest.mark.skipif(os.name != "posix", reason="deleted files as POSIX has them")
def test_a_full_segment_that_was_deleted_stays_open_until_it_is_read(tmp_path: Path):
    lane = writer(tmp_path, segment_bytes=50)
    frames = [frame(b"S", bytes([number]) * 20) for number in range(2)]
    lane.append(frames[0])
    shutil.rmtree(lane.path)
    with suppress(SegmentGone):  # at once, where it is looked for at each append
        lane.append(frames[1])
    with pytest.raises(SegmentGone, match="deleted"):
        lane.append(b"late")
    assert frames[0] in lane.unreadable()
    lane.close()


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that lanes go by, to be moved."""
    time = [1.0]
    monkeypatch.setattr(lane_module, "monotonic", lambda: time[0])
    return time


def cut(path: Path, size: int) -> None:
    with path.open("r+b") as file:
        file.truncate(size)


def test_a_segment_that_somebody_cuts_is_followed_by_one_that_says_how_long_it_was(tmp_path: Path):
    lost: list[tuple[int, int]] = []
    lane = LaneWriter(tmp_path, fsync=False, resource_frame=WHO, on_cut=lambda *of: lost.append(of))
    for number in range(10):
        lane.append(frame(b"S", b"%d" % number * 100))
    written = lane.position.offset
    cut(lane.path / "00000001.segment", 250)
    lane.append(frame(b"S", b"after"))
    assert lost == [(written - 250, 8)]  # of ten, two end before
    assert lane.position.segment == 2
    [end] = LaneReader(lane.path).lost_ends()
    assert (end.path.name, end.lost_bytes) == ("00000001.segment", written - 250)
    assert payloads(lane.path)[-1] == b"after"
    lane.close()


def test_a_flush_looks_for_a_cut_that_no_append_has_noticed(tmp_path: Path):
    lost: list[tuple[int, int]] = []
    lane = LaneWriter(tmp_path, fsync=False, resource_frame=WHO, on_cut=lambda *of: lost.append(of))
    lane.append(frame(b"S", b"x" * 1_000))
    cut(lane.path / "00000001.segment", 0)
    lane.check_cut()
    lane.check_cut()
    assert len(lost) == 1
    assert LaneReader(lane.path).segments() == [1, 2]
    lane.close()


def test_a_cut_within_the_last_segment_of_a_dead_process_is_told(tmp_path: Path, now: list[float]):
    """Of a killed one: nothing was written at its end."""
    lane = writer(tmp_path)
    for _ in range(20):
        now[0] += 0.06  # slower than the end is noted
        lane.append(frame(b"S", b"x" * 50))
        written = lane.position
    assert LaneReader(lane.path).end() == written
    assert LaneReader(lane.path).lost_ends() == []
    for size in (written.offset - 1, 500, len(WHO), 0):
        cut(lane.path / "00000001.segment", size)
        assert LaneReader(lane.path).end() == written
        [end] = LaneReader(lane.path).lost_ends()
        assert (end.at, end.lost_bytes) == (Position(1, size), written.offset - size)
    lane.close()


def test_a_process_that_ends_notes_all_that_it_wrote(tmp_path: Path):
    lane = writer(tmp_path)
    for _ in range(20):
        lane.append(frame(b"S", b"x" * 50))
    written = lane.position
    lane.close()
    cut(lane.path / "00000001.segment", written.offset - 1)
    assert [end.lost_bytes for end in LaneReader(lane.path).lost_ends()] == [1]


def test_noting_the_end_is_no_second_write_of_most_appends(
    tmp_path: Path, now: list[float], monkeypatch: pytest.MonkeyPatch
):
    noted: list[Position] = []
    note = lane_module.note_position
    monkeypatch.setattr(lane_module, "note_position", lambda path, at, **how: (noted.append(at), note(path, at, **how)))
    lane = writer(tmp_path)
    del noted[:]
    for _ in range(1_000):
        now[0] += 0.0001
        lane.append(frame(b"S", b"x" * 50))
    assert 1 <= len(noted) <= 3
    lane.close()


def test_only_its_user_may_read_it(tmp_path: Path):
    lane = writer(tmp_path)
    assert lane.path.stat().st_mode & 0o777 == 0o700
    assert (lane.path / "00000001.segment").stat().st_mode & 0o777 == 0o600


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
    monkeypatch.setattr(segments, "os", FakeOs(lambda fd, data: os.write(fd, bytes(data)[:7])))
    lane.append(frame(b"S", b"x" * 100))
    assert payloads(lane.path) == [b"x" * 100]


@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_halfway_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: BaseException
):
    lane = writer(tmp_path, segment_bytes=100_000)
    lane.append(frame(b"S", b"before"))
    calls: list[int] = []

    def write(fd: int, data: bytes) -> int:
        calls.append(fd)
        if len(calls) == 2:
            raise problem
        return os.write(fd, bytes(data)[:7])

    with monkeypatch.context() as patch:
        patch.setattr(segments, "os", FakeOs(write))
        with pytest.raises(type(problem)):
            lane.append(frame(b"S", b"lost"))
    lane.append(frame(b"S", b"after"))
    assert payloads(lane.path) == [b"before", b"after"]


def no_room(fd: int, data: bytes) -> int:
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
    assert lock_dead_lane(lane.path) is None
    lane.close()
    lock = lock_dead_lane(lane.path)
    assert lock is not None
    assert lock_dead_lane(lane.path) is None
    lock.close()


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
    assert lock_dead_lane(lane.path) is None


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


def test_an_append_within_an_append_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lane = LaneWriter(tmp_path, fsync=True, resource_frame=WHO)
    inside: list[bytes] = [frame(b"S", b"inner")]
    synced: list[bool] = []

    def write(fd: int, data: bytes) -> int:
        if inside:
            lane.append(inside.pop())
        return os.write(fd, bytes(data))

    monkeypatch.setattr(segments, "os", FakeOs(write))
    monkeypatch.setattr(
        os, "fsync", lambda fd: synced.append(b"inner" in (lane.path / "00000001.segment").read_bytes())
    )
    lane.append(frame(b"S", b"outer"))
    assert synced == [True, True]


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_what_a_signal_s_handler_appends_during_a_sync_is_there_when_the_lane_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    lane = LaneWriter(tmp_path, fsync=True, resource_frame=WHO)
    in_the_file: list[bool] = []
    synced: list[int] = []

    def slow_sync(fd: int) -> None:
        synced.append(fd)
        if len(synced) == 1:
            signal.raise_signal(signal.SIGUSR1)  # its handler runs before the next line

    def handler(*_: object) -> None:
        lane.append(frame(b"S", b"from the handler"))
        in_the_file.append(b"from the handler" in (lane.path / "00000001.segment").read_bytes())

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        monkeypatch.setattr(os, "fsync", slow_sync)
        lane.append(frame(b"S", b"outer"))
    finally:
        signal.signal(signal.SIGUSR1, before)
    lane.close()
    assert in_the_file == [True], "durable when the append returned, not when the lane is closed"
    assert payloads(lane.path) == [b"outer", b"from the handler"]
    assert len(synced) == 2


def test_an_append_while_a_segment_is_begun_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As a finalizer or a signal's handler would, between any two steps."""
    lane = writer(tmp_path, segment_bytes=1)
    lane.append(frame(b"S", b"one"))
    inner = [b"inner %d" % number for number in range(4)]
    left = list(inner)

    def write(fd: int, data: bytes) -> int:
        if left:
            lane.append(frame(b"S", left.pop(0)))
        return os.write(fd, bytes(data))

    with monkeypatch.context() as patch:
        patch.setattr(segments, "os", FakeOs(write))
        lane.append(frame(b"S", b"two"))
    lane.append(frame(b"S", b"three"))
    assert sorted(payloads(lane.path)) == sorted([b"one", b"two", b"three", *inner])


def test_an_append_within_an_append_is_written_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lane = writer(tmp_path, segment_bytes=100_000)
    inside: list[bytes] = [frame(b"S", b"inner")]

    def write(fd: int, data: bytes) -> int:
        if inside:
            thread = threading.Thread(target=lane.append, args=(frame(b"S", b"other thread"),))
            lane.append(inside.pop())  # as the garbage collector or a signal would
            thread.start()
            others.append(thread)
        return os.write(fd, bytes(data))

    others: list[threading.Thread] = []
    monkeypatch.setattr(segments, "os", FakeOs(write))
    lane.append(frame(b"S", b"outer"))
    others[0].join(60)
    assert payloads(lane.path) == [b"inner", b"outer", b"other thread"]


# --- whose it is ------------------------------------------------------------------------------------------------------

OWNER = """
import os, sys
from pathlib import Path
from playhead.journal.frame import RESOURCE, frame
from playhead.journal.lane import LaneWriter
lane = LaneWriter(Path(sys.argv[1]), fsync=False, resource_frame=frame(RESOURCE, b"{}"))
print(os.getpid(), lane.path, flush=True)
sys.stdin.read()
"""


def owner_elsewhere(folder: Path, *before: str) -> "subprocess.Popen[str]":
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [*before, sys.executable, "-c", OWNER, str(folder)]
    return subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_an_owner_lives_for_as_long_as_it_holds_the_lock_whatever_process_id_it_has(tmp_path: Path):
    """In a container of its own if that can be had here; else the id in the lane's name is one that nobody has."""
    unshare = ["unshare", "--pid", "--fork", "--kill-child"]
    can = shutil.which("unshare") is not None and subprocess.run([*unshare, "true"], check=False).returncode == 0
    with owner_elsewhere(tmp_path, *(unshare if can else [])) as owner:
        assert owner.stdin is not None
        assert owner.stdout is not None
        pid, path = owner.stdout.readline().split()
        lane = Path(path)
        assert pid == "1" or not can
        for name in (lane.name, f"0-{os.getpid()}-0", "0-999999999-0"):  # as if another process had that id here
            lane = lane.rename(tmp_path / name)
            assert (is_owned(lane), is_own(lane), lock_dead_lane(lane)) == (True, False, None)
    assert not is_owned(lane)
    adopted = lock_dead_lane(lane)
    assert adopted is not None
    adopted.close()


def test_who_delivers_a_dead_owner_s_lane_is_not_taken_for_its_owner(tmp_path: Path):
    lane = writer(tmp_path)
    assert (is_owned(lane.path), is_own(lane.path)) == (True, True)
    lane.close()
    adopted = lock_dead_lane(lane.path)
    assert adopted is not None
    assert (is_owned(lane.path), is_own(lane.path), lock_dead_lane(lane.path)) == (False, False, None)
    adopted.close()
    again = lock_dead_lane(lane.path)
    assert again is not None
    again.close()


def test_a_problem_with_the_disk_is_not_taken_for_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lane = writer(tmp_path)
    lane.append(frame(b"S", b"one"))

    def too_many(*_: object, **__: object) -> None:
        raise OSError(24, "Too many open files")

    reader = LaneReader(lane.path)
    with monkeypatch.context() as patch:
        for name in ("listdir", "open", "stat"):
            patch.setattr(os, name, too_many)
        patch.setattr("io.open", too_many)
        for read in (
            reader.segments,
            reader.acked,
            lambda: reader.read(Position(1, 0), 10),
            lambda: reader.segment_bytes(1),
            lambda: lanes(tmp_path),
            lambda: lock_dead_lane(lane.path),
            lambda: is_owned(lane.path),
        ):
            with pytest.raises(OSError, match="Too many open files"):
                read()


@pytest.mark.skipif(os.name != "posix", reason="modes as POSIX has them")
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_the_folders_above_are_its_users_too_whatever_the_umask(tmp_path: Path, umask: int):
    before = os.umask(umask)
    try:
        lane = writer(tmp_path / "state" / "playhead" / "journal")
    finally:
        os.umask(before)
    folder = lane.path
    while folder != tmp_path:
        assert folder.stat().st_mode & 0o777 == 0o700
        folder = folder.parent
    for file in lane.path.iterdir():
        assert file.stat().st_mode & 0o777 == 0o600
    lane.close()

"""Segment files: one `write` per append, whole or not at all, and never into a file that is somebody else's."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.journal import segment as module
from playhead.journal.frame import frame, frames_in
from playhead.journal.segment import Segment, SegmentCut, SegmentGone

posix = pytest.mark.skipif(os.name != "posix", reason="forks, signals and descriptors as POSIX has them")


class FakeOs:
    """`os`, with another `write`."""

    def __init__(self, write: Any):
        self.write = write

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


def moved(fd: int, number: int) -> int:
    """Gives an open file the number of another one, which is closed: as if it had been opened after that was closed.

    In one step: which number is the lowest that is free depends on other threads, and on the garbage collector.
    """
    os.dup2(fd, number, inheritable=False)
    os.close(fd)
    return number


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 300_000), max_size=8))
def test_what_was_appended_is_in_the_file(tmp_path_factory: pytest.TempPathFactory, sizes: list[int]):
    path = tmp_path_factory.mktemp("segment") / "1"
    segment = Segment(path)
    expected = b""
    for number, size in enumerate(sizes, 1):
        data = bytes([number]) * size
        expected += data
        assert segment.append(data) == len(expected)
        assert path.read_bytes() == expected
        assert segment.read_from(0) == expected
    segment.close()
    segment.close()


def test_the_size_is_right_after_a_cut(tmp_path: Path):
    segment = Segment(tmp_path / "1")
    segment.append(b"before")
    segment.truncate()
    assert segment.append(b"after") == segment.size() == 5
    segment.close()


def test_a_file_that_somebody_has_cut_is_noticed_once_and_appended_to(tmp_path: Path):
    segment = Segment(tmp_path / "1")
    segment.append(b"x" * 1_000)
    os.truncate(tmp_path / "1", 100)
    with pytest.raises(SegmentCut) as cut:
        segment.append(b"after")
    assert cut.value.lost_bytes == 900
    assert segment.append(b"after") == 105
    assert (tmp_path / "1").read_bytes() == b"x" * 100 + b"after"
    segment.close()


def test_an_append_is_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    calls: list[int] = []

    def write(fd: int, data: bytes) -> int:
        calls.append(len(data))
        return os.write(fd, data)

    segment = Segment(tmp_path / "1")
    monkeypatch.setattr(module, "os", FakeOs(write))
    for _ in range(100):
        segment.append(b"x" * 1_000)
    assert calls == [1_000] * 100
    segment.close()


def test_an_append_that_interrupts_another_one_s_pieces_costs_neither(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As a signal's handler does while a large write is cut into pieces."""
    inside = [frame(b"S", b"inner")]

    def write(fd: int, data: bytes) -> int:
        written = os.write(fd, bytes(data)[:10])
        if inside and written == 10:
            os.write(fd, inside.pop())
        return written

    segment = Segment(tmp_path / "1")
    outer = frame(b"S", b"x" * 25)
    with monkeypatch.context() as patch:
        patch.setattr(module, "os", FakeOs(write))
        size = segment.append(outer)
    data = (tmp_path / "1").read_bytes()
    assert size == len(data)
    assert frame(b"S", b"inner") in data
    assert data.endswith(outer)
    segment.close()


@posix
def test_what_was_appended_survives_kill_9(tmp_path: Path):
    program = f"""
import os, signal
from pathlib import Path
from playhead.journal.frame import frame
from playhead.journal.segment import Segment
segment = Segment(Path({str(tmp_path)!r}) / "1")
for number in range(1_000):
    segment.append(frame(b"S", b"%d" % number * 100))
os.kill(os.getpid(), signal.SIGKILL)
"""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    assert subprocess.run([sys.executable, "-c", program], env=environ, check=False).returncode == -signal.SIGKILL
    data = (tmp_path / "1").read_bytes()
    assert [payload for _, payload, _ in frames_in(data)] == [b"%d" % number * 100 for number in range(1_000)]


@posix
@pytest.mark.parametrize("appended", [0, 1])
def test_a_descriptor_that_somebody_closed_is_noticed(tmp_path: Path, appended: int):
    segment = Segment(tmp_path / "1")
    for _ in range(appended):
        segment.append(b"early")
    os.close(segment._file.fd)
    with pytest.raises(SegmentGone, match="descriptor was closed"):
        segment.append(b"late")
    assert not segment.is_there()
    assert segment.read_from(0) == b""
    segment.close()


@posix
@pytest.mark.parametrize("appended", [0, 1])
def test_a_file_of_the_program_that_got_the_descriptor_is_left_alone(tmp_path: Path, appended: int):
    segment = Segment(tmp_path / "1")
    for _ in range(appended):
        segment.append(b"early")
    theirs = segment._file.fd
    moved(os.open(tmp_path / "theirs", os.O_RDWR | os.O_CREAT), theirs)
    with pytest.raises(SegmentGone, match="stands for another file"):
        segment.append(b"late")
    segment.close()
    os.write(theirs, b"theirs")  # still open
    os.close(theirs)
    assert (tmp_path / "theirs").read_bytes() == b"theirs"


@posix
def test_another_segment_that_got_the_descriptor_is_left_alone(tmp_path: Path):
    segment = Segment(tmp_path / "1")
    segment.append(b"early")
    other = Segment(tmp_path / "2")
    other._file.fd = moved(other._file.fd, segment._file.fd)
    other.append(b"other")
    with pytest.raises(SegmentGone, match="stands for another file"):
        segment.append(b"late")
    segment.close()
    assert other.append(b"s") == 6
    other.close()
    assert (tmp_path / "2").read_bytes() == b"others"


@posix
def test_a_file_that_was_deleted_is_noticed_at_once_and_can_still_be_read(tmp_path: Path):
    segment = Segment(tmp_path / "1")
    segment.append(b"kept")
    (tmp_path / "1").unlink()
    with pytest.raises(SegmentGone, match="deleted"):
        segment.append(b"late")
    assert not segment.is_there()
    assert segment.read_from(1) == b"ept"
    segment.close()


@posix
@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777])
def test_the_file_is_its_users_whatever_the_umask(tmp_path: Path, umask: int):
    before = os.umask(umask)
    try:
        segment = Segment(tmp_path / "1")
    finally:
        os.umask(before)
    assert (tmp_path / "1").stat().st_mode & 0o777 == 0o600
    segment.close()

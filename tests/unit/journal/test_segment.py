"""Segment files: copied into or written to, with zeros behind until they are closed, and the same bytes either way."""

import errno
import mmap
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
from playhead.journal.segment import WINDOW_BYTES, Segment, can_be_mapped, written_bytes

linux = pytest.mark.skipif(sys.platform != "linux", reason="nowhere else files are mapped")


def is_mapped(segment: Segment) -> bool:
    return segment._window is not None


@linux
@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 2 * WINDOW_BYTES), max_size=8))
def test_what_was_appended_is_in_the_file_however_it_fits(tmp_path_factory: pytest.TempPathFactory, sizes: list[int]):
    path = tmp_path_factory.mktemp("segment") / "1.log"
    segment = Segment(path, mapped=True)
    expected = b""
    for number, size in enumerate(sizes, 1):
        data = bytes([number]) * size
        segment.append(data)
        expected += data
        assert path.read_bytes().rstrip(b"\0") == expected
        assert written_bytes(path) == segment.offset == len(expected)
        assert len(expected) <= path.stat().st_size <= len(expected) + WINDOW_BYTES
        assert is_mapped(segment)
    segment.close()
    assert path.read_bytes() == expected


@linux
def test_most_appends_are_no_call_into_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    segment = Segment(tmp_path / "1.log", mapped=True)
    segment.append(b"first")
    calls: list[Any] = []
    monkeypatch.setattr(os, "pwrite", lambda *args: calls.append(args))
    for _ in range(100):
        segment.append(b"x" * 1_000)
    assert calls == []
    monkeypatch.undo()
    segment.close()
    assert (tmp_path / "1.log").stat().st_size == 100_005


@linux
def test_without_room_for_the_next_stretch_appends_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(fd: int, begin: int, size: int) -> None:
        os.pwrite(fd, b"\0", begin + size // 2)  # some of it was there
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    segment = Segment(tmp_path / "1.log", mapped=True)
    segment.append(b"one")
    segment.append(b"two")
    assert not is_mapped(segment)
    assert (tmp_path / "1.log").read_bytes() == b"onetwo"
    segment.close()


@linux
@pytest.mark.parametrize(("code", "mapped"), [(errno.EINVAL, True), (errno.EFAULT, False)])
def test_pages_that_cannot_be_had_are_not_mapped_and_a_kernel_that_cannot_tell_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, mapped: bool
):
    class Window(mmap.mmap):
        def madvise(self, *args: Any) -> None:
            raise OSError(code, os.strerror(code))

    monkeypatch.setattr(module.mmap, "mmap", Window)
    segment = Segment(tmp_path / "1.log", mapped=True)
    segment.append(b"one")
    assert is_mapped(segment) is mapped
    segment.append(b"two")
    segment.close()
    assert (tmp_path / "1.log").read_bytes() == b"onetwo"


@linux
def test_an_append_that_a_signal_breaks_off_leaves_nothing_behind(tmp_path: Path):
    class Broken:
        """A window in which a signal's handler raises right after the copy."""

        def __init__(self, window: Any):
            self.window = window
            self.breaks = True

        def __setitem__(self, where: slice, data: bytes) -> None:
            self.window[where] = data
            if self.breaks:
                self.breaks = False
                raise KeyboardInterrupt

    segment = Segment(tmp_path / "1.log", mapped=True)
    segment.append(b"before")
    window: Any = segment._window
    segment._window = Broken(window)  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(KeyboardInterrupt):
        segment.append(b"a long one that is lost")
    segment.append(b"after")
    segment._window = window
    segment.close()
    assert (tmp_path / "1.log").read_bytes() == b"beforeafter"


@linux
def test_what_was_appended_survives_kill_9(tmp_path: Path):
    program = f"""
import os, signal
from pathlib import Path
from playhead.journal.frame import frame
from playhead.journal.segment import Segment
segment = Segment(Path({str(tmp_path)!r}) / "1.log", mapped=True)
for number in range(1_000):
    segment.append(frame(b"S", b"%d" % number * 100))
os.kill(os.getpid(), signal.SIGKILL)
"""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    assert subprocess.run([sys.executable, "-c", program], env=environ, check=False).returncode == -signal.SIGKILL
    data = (tmp_path / "1.log").read_bytes()
    assert [payload for _, payload, _ in frames_in(data)] == [b"%d" % number * 100 for number in range(1_000)]
    assert len(data) > written_bytes(tmp_path / "1.log") == sum(len(frame(b"S", b"%d" % n * 100)) for n in range(1_000))


@linux
def test_a_forked_child_leaves_the_file_as_it_is(tmp_path: Path):
    segment = Segment(tmp_path / "1.log", mapped=True)
    segment.append(b"one")
    size = (tmp_path / "1.log").stat().st_size
    child = os.fork()
    if child == 0:
        segment.close(cut=False)
        os._exit(0)
    os.waitpid(child, 0)
    assert (tmp_path / "1.log").stat().st_size == size
    segment.append(b"two")
    segment.close()
    assert (tmp_path / "1.log").read_bytes() == b"onetwo"


def test_a_file_that_is_only_zeros_or_gone_has_nothing_written(tmp_path: Path):
    (tmp_path / "zeros").write_bytes(bytes(WINDOW_BYTES))
    assert (written_bytes(tmp_path / "zeros"), written_bytes(tmp_path / "gone")) == (0, 0)


def test_only_file_systems_that_keep_their_word_are_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_KEEP_THEIR_WORD", frozenset[str]())
    assert not can_be_mapped(tmp_path)
    assert not can_be_mapped(tmp_path / "gone")
    monkeypatch.setattr(module.sys, "platform", "darwin")
    assert not can_be_mapped(tmp_path)

"""refs → [journal] → export.  Lanes: each process appends to files of its own, so no process ever waits for another.

A journal is a folder of lanes; a lane is a folder with numbered segment files, a file `acked` that says up to where
the collector has acknowledged, and a file `lock` that its owner holds locked: the kernel gives the lock back when the
process dies, however it dies, and whoever takes it then may deliver and delete what is left.

Once an append returns, the data survive the end of the process: see `segment`.
"""

import os
import secrets
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from playhead.errors import JournalUnusable
from playhead.journal.locking import lock_file
from playhead.journal.segment import WINDOW_BYTES, Segment, can_be_mapped, written_bytes

# Space is given back segment by segment: small enough to fit a limit closely, large enough to be few.
SEGMENT_BYTES = 16 * 2**20
_NUMBER = "{:08d}.log"


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a lane: segment number, and bytes into it."""

    segment: int
    offset: int


class LaneWriter:
    """Appends to one lane; owned by this process.  Safe for threads."""

    def __init__(self, journal_dir: Path, *, fsync: bool, resource_frame: bytes, segment_bytes: int = SEGMENT_BYTES):
        """Makes the lane's folder and locks it; raises JournalUnusable."""
        self.path = journal_dir / f"{time.time_ns():x}-{os.getpid()}-{secrets.token_hex(3)}"
        self._fsync = fsync
        self._resource_frame = resource_frame
        self._segment_bytes = segment_bytes
        # Re-entrant only for `close`: an append within an append waits in `_late`.
        self._mutex = threading.RLock()
        self._holder = 0
        self._late: list[bytes] = []
        self._number = 0
        self._segment: Segment | None = None
        self._mapped = False
        self._lock_fd: int | None = None
        try:
            # Payloads can be private: for the user alone.
            self.path.mkdir(parents=True, mode=0o700)
            # Locked before it has its name: nobody must take it for the lane of a dead process meanwhile.
            self._lock_fd = lock_file(self.path / "lock.new")
            (self.path / "lock.new").rename(self.path / "lock")
            # A small journal has no room for what is allocated in advance.
            self._mapped = not fsync and segment_bytes >= 4 * WINDOW_BYTES and can_be_mapped(self.path)
            self._open_segment()
        except OSError as error:
            if self._lock_fd is not None:
                os.close(self._lock_fd)
            raise JournalUnusable(
                f"the journal cannot be kept in {journal_dir} ({error.strerror}): "
                "set PLAYHEAD_JOURNAL_DIR to a folder that this program may write to"
            ) from error

    @property
    def position(self) -> Position:
        """Where the next frame goes."""
        return Position(self._number, self._segment.offset if self._segment is not None else 0)

    def append(self, frames: bytes) -> None:
        """Durable (see the module) once this returns.  Raises OSError, and then nothing of it is in the file."""
        me = threading.get_ident()
        if self._holder == me:
            # The garbage collector or a signal has ended a call while this thread is in here: it is written after.
            self._late.append(frames)
            return
        with self._mutex:
            try:
                self._holder = me
                segment = self._segment
                if segment is None or segment.offset >= self._segment_bytes:
                    segment = self._open_segment()
                segment.append(frames)
                while self._late:
                    segment.append(self._late.pop(0))
                if self._fsync:
                    os.fsync(segment.fd)
            finally:
                self._holder = 0

    def close(self) -> None:
        """Gives the lane up: from now on others may deliver and delete it.  A second call does nothing."""
        self._close(cut=True)

    def abandon(self) -> None:
        """In a forked child: closes the files without touching the lane, which stays the parent's."""
        self._mutex = threading.RLock()  # the parent's threads, which may have held it, are not here
        self._holder = 0
        self._close(cut=False)

    def _close(self, *, cut: bool) -> None:
        with self._mutex:
            segment = self._segment
            if segment is not None and segment.fd >= 0:
                try:
                    segment.close(cut=cut)
                finally:
                    if self._lock_fd is not None:
                        os.close(self._lock_fd)

    def _open_segment(self) -> Segment:
        """The next one; if that fails, all is as it was."""
        number = self._number + 1
        path = self.path / _NUMBER.format(number)
        segment = Segment(path, mapped=self._mapped)
        try:
            segment.append(self._resource_frame)
        except OSError:
            segment.close()
            path.unlink(missing_ok=True)
            raise
        before, self._segment, self._number = self._segment, segment, number
        if before is not None:
            before.close()
        return segment


class LaneReader:
    """Reads a lane, its own process's or a dead one's, and keeps how far it was acknowledged."""

    def __init__(self, path: Path):
        """Does not touch the disk."""
        self.path = path

    def acked(self) -> Position:
        """Up to where the collector has acknowledged."""
        try:
            segment, offset = (self.path / "acked").read_text().split()
            return Position(int(segment), int(offset))
        except (OSError, ValueError):
            return Position(1, 0)

    def ack(self, position: Position) -> None:
        """Remembers that all before `position` was acknowledged.  One small write: whole, or not at all."""
        fd = os.open(self.path / "acked", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(fd, f"{position.segment:020d} {position.offset:020d}\n".encode(), 0)
        finally:
            os.close(fd)

    def read(self, at: Position, max_bytes: int) -> tuple[bytes, Position]:
        """Up to `max_bytes` from there, and where they begin: the start of the next segment if this one is used up.

        Empty when there is no more.  The last frame may be cut: read on from after the last whole one, with more
        bytes if there was none.
        """
        while True:
            # Asked before reading: a segment with a successor is complete, so what is read after this is all of it.
            later = [n for n in self.segments() if n > at.segment]
            try:
                with (self.path / _NUMBER.format(at.segment)).open("rb") as file:
                    file.seek(at.offset)
                    data = file.read(max_bytes)
            except FileNotFoundError:
                data = b""
            if data or not later:
                return data, at
            at = Position(later[0], 0)

    def segments(self) -> list[int]:
        """Numbers of the segment files, oldest first."""
        try:
            names = os.listdir(self.path)  # noqa: PTH208 - asked before each read; objects for paths take ten times as long
            return sorted(int(name[:-4]) for name in names if name.endswith(".log"))
        except OSError:
            return []

    def segment_bytes(self, number: int) -> int:
        """How much of a segment was written (see `segment.written_bytes`); 0 when it is gone."""
        return written_bytes(self.path / _NUMBER.format(number))

    def disk_bytes(self, number: int) -> int:
        """What a segment takes on disk, with what was allocated in advance; 0 when it is gone."""
        try:
            return (self.path / _NUMBER.format(number)).stat().st_size
        except OSError:
            return 0

    def delete_segment(self, number: int) -> None:
        """Gives its space back.  Gone already is fine."""
        (self.path / _NUMBER.format(number)).unlink(missing_ok=True)

    def delete(self) -> None:
        """Removes the whole lane; only for whoever holds its lock."""
        for entry in list(self.path.iterdir()):
            entry.unlink(missing_ok=True)
        self.path.rmdir()


def lanes(journal_dir: Path) -> list[Path]:
    """All lanes, oldest first."""
    try:
        return sorted(entry for entry in journal_dir.iterdir() if entry.is_dir() and (entry / "lock").exists())
    except OSError:
        return []


def adopt(lane: Path) -> int | None:
    """Takes over the lane of a dead process: a file descriptor to close when done; None while its owner lives."""
    try:
        return lock_file(lane / "lock")
    except OSError:
        return None

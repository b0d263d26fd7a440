"""refs → [journal] → export.  Writes, reads and adopts lanes: each process appends to files of its own, so no process
ever waits for another.

A journal is a folder of lanes. A lane is a folder with

| file | holds |
|---|---|
| `00000001.segment`, ... | frames, in the order in which they were appended |
| `acked` | the position up to which the collector has acknowledged |
| `acked-NAME` | the same for another destination (`playhead.export_to`) |
| `to-NAME.json` | what another process needs to deliver to that destination, except its keys |
| `no-collector` | is there when the lane's process had no collector |
| `written` | a position up to which was written, at most 50 ms old: tells whether the last segment has lost its end |
| `format` | the version of these files; a lane of a newer version is left alone |
| `lock` | locked by the lane's owner while it lives; afterwards shared by processes that read or deliver the lane |
| `delivering` | locked by the one process that delivers or deletes a dead owner's lane |

The kernel releases a lock when its process ends, however it ends. Only the lock says whether an owner lives: the
process id in a lane's name is for people, and means nothing in another container.

Once an append returns, the data survive the end of the process: see `segment`.
"""

import errno
import os
import threading
import time
from array import array
from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from weakref import WeakSet

from playhead.errors import JournalUnusable
from playhead.journal.files import OwnFile, is_held, lock_file, make_private_folder, open_private, share_lock
from playhead.journal.frame import END, RESOURCE, end_frame, frames_in, may_be_lost_end, read_end
from playhead.journal.segment import Segment, SegmentCut, SegmentGone
from playhead.kernel.guard import warn_once

# --- positions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A position in a lane: segment number, and offset in bytes."""

    segment: int
    offset: int


def position_in(path: Path) -> Position:
    """The position stored in the file; the beginning of a lane if there is none.  Raises OSError."""
    try:
        segment, offset = path.read_text(errors="replace").split()
        return Position(int(segment), int(offset))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return Position(1, 0)


def note_position(path: Path, position: Position, *, is_there: bool = False) -> None:
    """Stores the position in the file, in one small atomic write. `is_there`: do not create it. Raises OSError."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC) if is_there else open_private(path, os.O_WRONLY)
    try:
        os.pwrite(fd, f"{position.segment:020d} {position.offset:020d}\n".encode(), 0)
    finally:
        os.close(fd)


# --- writing ----------------------------------------------------------------------------------------------------------


# Space is freed by whole segments: small enough to stay close to the limit, large enough to be few.
SEGMENT_BYTES = 16 * 2**20
_MAX_OVERSIZE = 4
# Not `.log`: log rotation truncates such files.
_SUFFIX = ".segment"
_ACKED, _WRITTEN, _NO_COLLECTOR, _FORMAT = "acked", "written", "no-collector", "format"
FORMAT_VERSION = 1
"""Version of a lane's files. Raised when an older reader would misread, or delete, what a newer writer wrote."""
# How often the written size is noted: when the file of a killed process loses what was written after the last note, the
# loss is not detected. Noting each append would be a second write. The appending thread does it, since the others may
# be waiting for a collector.
_NOTE_SECONDS = 0.05
# The first frames of a segment: its resource, which is some attributes of the process, and the end of the one before.
_MOST_HEADER_BYTES = 64 * 1024
_DAY_SECONDS = 86_400.0


class LaneWriter:
    """Appends to a lane that this process owns. Safe for threads, signal handlers and finalizers."""

    def __init__(
        self,
        journal_dir: Path,
        *,
        fsync: bool,
        resource_frame: bytes,
        segment_bytes: int = SEGMENT_BYTES,
        on_cut: Callable[[int, int], None] = lambda lost_bytes, lost_records: None,
        on_rotation: Callable[[], None] = lambda: None,
    ):
        """Creates the lane's folder and locks it. Raises JournalUnusable.

        `on_cut` is called when somebody has cut the segment, with the number of bytes that it has lost, and of records
        among them that were not acknowledged.
        `on_rotation` is called when another segment has begun.
        """
        self.path = journal_dir / f"{time.time_ns():x}-{os.getpid()}-{os.urandom(3).hex()}"
        self._fsync = fsync
        self._resource_frame = resource_frame
        self._segment_bytes = segment_bytes
        self._on_cut = on_cut
        self._on_rotation = on_rotation
        # Re-entrant: a signal handler or finalizer may append while this thread holds the lock.
        self._mutex = threading.RLock()
        self._number = 0
        self._size = 0
        self._header_bytes = 0
        """The size of the frames with which the current segment begins."""
        self._cut_bytes = 0
        """Bytes of the current segment that somebody has cut off."""
        self._ends = array("Q")
        """The end offset of each unacknowledged record of the current segment."""
        self._noted = Position(1, 0)
        self._next_note = 0.0
        self._segment: Segment | None = None
        self._is_rotating = self._is_restarting = False
        self._missing = b""
        """Frames that still have to be written at the beginning of the segment."""
        self._lock: OwnFile | None = None
        try:
            # Payloads can be private: only the user may read them.
            make_private_folder(self.path)
            # Created now: on a full disk it could not be created later, and without this file no space is freed.
            LaneReader(self.path).ack(Position(1, 0))
            note_position(self.path / _WRITTEN, self._noted)
            _note_format(self.path)
            # Locked before it gets its name, so that no process takes it for the lane of a dead one.
            self._lock = lock_file(self.path / "lock.new")
            (self.path / "lock.new").rename(self.path / "lock")
            self._rotate()
        except OSError as error:
            self.close()
            with suppress(OSError):
                LaneReader(self.path).delete()
            raise JournalUnusable(
                f"the journal cannot be kept in {journal_dir} ({error.strerror}): "
                "set PLAYHEAD_JOURNAL_DIR to a folder that this program may write to"
            ) from error
        _own.add(self)

    @property
    def segment_number(self) -> int:
        """The number of the segment that is written to."""
        return self._number

    @property
    def position(self) -> Position:
        """Position of the next frame."""
        return Position(self._number, self._segment.size() if self._segment is not None else self._size)

    def append(self, frames: bytes, records: int = 1) -> None:
        """Appends the frames of this many records, durably (see the module). Raises OSError, and then the file is
        unchanged.

        An append that interrupts another one is written at once, before or after the outer one.
        """
        with self._mutex:
            if self._size >= self._segment_bytes and not self._is_rotating:
                self._rotate_if_possible()
            segment = self._segment
            if segment is None:
                raise OSError(errno.EBADF, "the lane is closed")
            if self._is_restarting:
                raise OSError(errno.EAGAIN, "the file is being cut")
            if self._missing:
                segment.append(self._missing)
                self._missing = b""
            try:
                self._size = segment.append(frames)
            except SegmentCut as cut:
                segment = self._continue_after_cut(cut, segment)
                self._size = segment.append(frames)
            if records == 1:  # the usual case, in half the time
                self._ends.append(self._size)
            else:
                self._ends.extend([self._size] * records)
            if monotonic() >= self._next_note:
                self.note_end()
            if self._fsync:
                segment.sync()

    def acknowledged(self, position: Position) -> None:
        """Notes that records before this position are delivered: they do not count as lost when the file is cut."""
        with self._mutex:
            if position.segment == self._number:
                del self._ends[: bisect_right(self._ends, position.offset)]

    def note_end(self) -> None:
        """Stores the written position in the lane's file `written`; ignores OSError."""
        with self._mutex, suppress(OSError):  # a full disk: noted the next time; or a folder that is gone
            self._next_note = monotonic() + _NOTE_SECONDS
            position = Position(self._number, self._size + self._cut_bytes)
            if self._segment is not None and position != self._noted and not self._is_restarting:
                self._noted = position
                # Not created if missing: somebody may be removing the folder.
                note_position(self.path / _WRITTEN, position, is_there=True)

    def check_cut(self) -> None:
        """Checks whether somebody has cut the segment; if so, calls `on_cut` and begins the next segment."""
        with self._mutex, suppress(SegmentGone):
            segment = self._segment
            if segment is None or self._is_rotating or self._is_restarting or self._missing:
                return
            try:
                segment.check_open()
            except SegmentCut as cut:
                self._continue_after_cut(cut, segment)

    def is_in_use(self) -> bool:
        """Whether another thread is executing a method of this writer now."""
        return is_held(self._mutex)

    def is_there(self) -> bool:
        """Whether the lane's files and its lock still exist under their names, so that other processes find them."""
        segment = self._segment
        return segment is not None and segment.is_there() and self.owns(self.path)

    def unreadable(self) -> bytes:
        """Frames of a deleted segment file, which only this process can still read."""
        with self._mutex:
            try:
                segment = self._segment
                return b"" if segment is None or segment.is_there() else segment.read_from(0)
            except OSError:
                return b""

    def reuse_segment(self, acked: Position) -> bool:
        """Frees the space of the current segment. Returns False, and does nothing, unless all of it was acknowledged.

        The file is renamed to the next segment: a full disk has no room for another file.
        Raises OSError.
        """
        with self._mutex:
            segment = self._segment
            if segment is None or self._is_rotating or self._is_restarting:
                return False
            self._is_restarting = True
            try:
                if self.position != acked or acked.offset <= self._header_bytes:
                    return False
                segment.rename(self._segment_path(self._number + 1))
                self._number += 1
                segment.truncate()
                self._size, self._cut_bytes, self._missing = 0, 0, self._resource_frame
                del self._ends[:]
                return True
            finally:
                self._is_restarting = False

    def start_segment(self) -> int | None:
        """Ends the current segment and returns the number of the next one; None if the current one is empty.

        Raises OSError, and then nothing has changed.
        """
        with self._mutex:
            if self._segment is None or self._is_rotating or self._is_restarting or self._missing:
                return None
            if self._segment.size() <= self._header_bytes:
                return None
            self._rotate()
            return self._number

    def owns(self, lane: Path) -> bool:
        """Whether this writer holds the lock of that lane."""
        return self._lock is not None and self._lock.is_at(lane / "lock")

    def close(self) -> None:
        """Releases the lane: other processes may deliver and delete it. A second call does nothing."""
        self.note_end()
        self._release()

    def _release(self) -> None:
        with self._mutex:
            segment, self._segment = self._segment, None
            if segment is not None:
                segment.close()
            if self._lock is not None:
                self._lock.close()

    def forget_after_fork(self) -> None:
        """In a forked child: closes the files without touching the lane, which stays the parent's."""
        self._mutex = threading.RLock()  # a thread of the parent may have held it
        self._release()

    def _rotate_if_possible(self) -> None:
        """Begins the next segment; without descriptors or space for another file, the current one grows further."""
        if self._segment is not None:
            try:
                # Raises if it was deleted: then only this descriptor can read it, so keep it.
                self._segment.check_open()
            except SegmentCut as cut:
                self._note_cut(cut)
        try:
            self._rotate()
        except OSError:
            if self._segment is None or self._size >= _MAX_OVERSIZE * self._segment_bytes:
                raise

    def _continue_after_cut(self, cut: SegmentCut, segment: Segment) -> Segment:
        """Begins and returns the next segment, which records the size of the cut one; on failure, returns `segment`."""
        self._note_cut(cut)
        if self._is_rotating:
            return segment
        with suppress(OSError):
            self._rotate()
        return self._segment or segment

    def _note_cut(self, cut: SegmentCut) -> None:
        self._size -= cut.lost_bytes
        self._cut_bytes += cut.lost_bytes
        kept_records = bisect_right(self._ends, self._size)
        lost_records = len(self._ends) - kept_records
        del self._ends[kept_records:]
        self._on_cut(cut.lost_bytes, lost_records)

    def _segment_path(self, number: int) -> Path:
        return self.path / f"{number:08d}{_SUFFIX}"

    def _rotate(self) -> None:
        """Begins the next segment. Raises OSError, and then nothing has changed."""
        path = self._segment_path(self._number + 1)
        # Readers take a segment that has a successor for complete. An append that interrupts this function goes to the
        # previous segment until that is closed; only then the new one gets its name.
        unnamed = path.with_suffix(".new")
        self._is_rotating = True
        try:
            segment = self._begin_segment(unnamed)
            before, self._segment = self._segment, segment
            self._number, self._size, self._cut_bytes = self._number + 1, self._header_bytes, 0
            del self._ends[:]
            if before is not None:
                before.close()
            try:
                segment.rename(path)
            except OSError as error:
                segment.close()
                raise SegmentGone("it could not be given its name") from error
        finally:
            self._is_rotating = False
        self._on_rotation()

    def _begin_segment(self, path: Path) -> Segment:
        path.unlink(missing_ok=True)  # left by a failed attempt
        segment = Segment(path)
        header = self._resource_frame
        if self._number:
            header += end_frame(self._number, self._size + self._cut_bytes)
        try:
            self._header_bytes = segment.append(header)
        except BaseException:
            segment.close()
            path.unlink(missing_ok=True)
            raise
        return segment


# --- reading ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LostEnd:
    """A segment that has lost its end."""

    path: Path
    at: Position
    """Where the file ends."""
    lost_bytes: int
    """Number of missing bytes, at least."""
    is_delivered: bool = False
    """Whether the collector has acknowledged what is missing."""
    is_certain: bool = True
    """False: the process may instead have been killed during its last append, and so never acted on that record."""

    @property
    def written(self) -> Position:
        """The position at which the segment ended before the loss."""
        return Position(self.at.segment, self.at.offset + self.lost_bytes)


class LaneReader:
    """Reads a lane (its own process's or a dead one's) and stores how far it was acknowledged.

    A deleted file reads as empty. Any other problem with the disk raises OSError.
    """

    def __init__(self, path: Path, destination: str = "", *, instead: bool = False):
        """Does not touch the disk. `destination`: name of the destination whose acknowledgements are read and stored;
        empty: the collector. `instead`: they are also stored as the collector's, because there is no collector."""
        self.path = path
        self._acked = path / (f"{_ACKED}-{destination}" if destination else _ACKED)
        self._also = [path / _ACKED] if destination and instead else []

    def begin(self) -> None:
        """Notes that the lane is for this destination; nothing of it is freed before the destination has it.

        Raises OSError."""
        if self._also:
            self.note_no_collector()
        if not self.is_begun() and self.path.exists():
            self.ack(self.acked())

    def is_begun(self) -> bool:
        """Whether the lane is for this destination: the process that wrote the lane delivered to it."""
        if self.is_collectors:
            return not (self.path / _NO_COLLECTOR).exists()
        return self._acked.exists()

    @property
    def is_collectors(self) -> bool:
        """Whether the acknowledgements are the collector's."""
        return self._acked.name == _ACKED

    def is_for_nobody(self) -> bool:
        """Whether the lane's process had neither a collector nor another destination."""
        return (self.path / _NO_COLLECTOR).exists() and not self.destinations()

    def note_no_collector(self) -> None:
        """Notes that the lane is not for a collector.  Raises OSError."""
        if not (self.path / _NO_COLLECTOR).exists() and self.path.exists():
            os.close(open_private(self.path / _NO_COLLECTOR, os.O_WRONLY))

    def destinations(self) -> list[str]:
        """The names of destinations besides the collector that the lane is for.  Raises OSError."""
        return sorted(path.name.removeprefix(f"{_ACKED}-") for path in self.path.glob(f"{_ACKED}-*"))

    def acked(self) -> Position:
        """The position up to which the destination has acknowledged. Raises OSError."""
        return position_in(self._acked)

    def released(self) -> Position:
        """The position up to which every destination has acknowledged; a destination that was not served for a day does
        not count any more. For a lane without destinations: its end. Raises OSError."""
        if self.is_for_nobody():
            return self.end()
        others = [path for path in self.path.glob(f"{_ACKED}-*") if time.time() - path.stat().st_mtime < _DAY_SECONDS]
        return min(map(position_in, (self.path / _ACKED, *others)))

    def ack(self, position: Position) -> None:
        """Stores durably, in one small atomic write, that everything before `position` was acknowledged.

        Raises OSError.
        """
        for path in (self._acked, *self._also):
            note_position(path, position)

    def read(self, position: Position, max_bytes: int) -> tuple[bytes, Position]:
        """Returns up to `max_bytes` from `position`, and where they begin: in the next segment if this one is at its
        end.

        Empty if there is no more. The last frame may be incomplete: continue after the last complete frame, with a
        larger `max_bytes` if there was none. Raises OSError.
        """
        while True:
            # Checked before reading: a segment with a successor is complete, so the read below gets all of it.
            later = [n for n in self.segments() if n > position.segment]
            try:
                with self.segment_path(position.segment).open("rb") as file:
                    file.seek(position.offset)
                    data = file.read(max_bytes)
            except (FileNotFoundError, NotADirectoryError):
                data = b""
            if data or not later:
                return data, position
            position = Position(later[0], 0)

    def segments(self) -> list[int]:
        """Numbers of the segment files, oldest first.  Raises OSError."""
        try:
            names = os.listdir(self.path)  # noqa: PTH208 - called before each read; Path objects take ten times as long
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted({int(name[:8]) for name in names if name[8:] == _SUFFIX and name[:8].isdecimal()})

    def segment_path(self, number: int) -> Path:
        """The file of a segment."""
        return self.path / f"{number:08d}{_SUFFIX}"

    def segment_bytes(self, number: int) -> int:
        """The size of a segment; 0 when it is gone.  Raises OSError."""
        try:
            return self.segment_path(number).stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            return 0

    def end(self) -> Position:
        """The end of what was written to the lane, as far as is known: the file may have lost its end since.

        Raises OSError."""
        numbers = self.segments()
        if not numbers:
            return Position(1, 0)
        return max(Position(numbers[-1], self.segment_bytes(numbers[-1])), self._noted_in(numbers[-1]))

    def lost_ends(self) -> list[LostEnd]:
        """The segments that are shorter than what was written to them, as far as is known.  Raises OSError."""
        numbers = self.segments()
        written = {number: size for following in numbers[1:] for number, size in self._noted_end_before(following)}
        if numbers:
            written[numbers[-1]] = self._noted_in(numbers[-1]).offset
        sizes = {number: self.segment_bytes(number) for number in numbers}
        short = [number for number in numbers if written.get(number, 0) > sizes[number]]
        return [self._lost_end(number, sizes[number], written[number]) for number in short]

    def torn_end(self, rest: bytes) -> LostEnd | None:
        """The last segment if `rest`, the bytes after its last readable frame, may mean that it has lost its end; else
        None.  For a lane whose owner has ended.  Raises OSError."""
        if not may_be_lost_end(rest):
            return None
        last = max(self.segments())
        size = self.segment_bytes(last)
        return LostEnd(self.segment_path(last), Position(last, size), 1, is_certain=False)

    def _lost_end(self, number: int, size: int, written: int) -> LostEnd:
        is_delivered = self.acked() >= Position(number, written)
        return LostEnd(self.segment_path(number), Position(number, size), written - size, is_delivered)

    def _noted_in(self, number: int) -> Position:
        """The latest position in the segment that was noted as written, or as acknowledged."""
        noted = (position_in(self.path / _WRITTEN), self.acked())
        return max((position for position in noted if position.segment == number), default=Position(number, 0))

    def _noted_end_before(self, number: int) -> list[tuple[int, int]]:
        """Number and size of the segment before, as recorded at the beginning of this one.  Empty for files of older
        versions, and if the beginning is damaged."""
        try:
            with self.segment_path(number).open("rb") as file:
                data = file.read(_MOST_HEADER_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return []
        for kind, payload, _ in frames_in(data):
            if kind == END:
                return [read_end(payload)]
            if kind != RESOURCE:
                break
        return []

    def delete_segment(self, number: int) -> None:
        """Deletes a segment; does nothing if it is gone already. Raises OSError."""
        self.segment_path(number).unlink(missing_ok=True)

    def delete(self) -> None:
        """Deletes the whole lane; call it only after `lock_dead_lane`. Raises OSError.

        The lock is deleted last, so that a partly deleted lane is still found.
        """
        for entry in sorted(self.path.iterdir(), key=lambda entry: entry.name == "lock"):
            entry.unlink(missing_ok=True)
        self.path.rmdir()


class NoLane(LaneReader):
    """Replaces a lane that could not be created: nothing was written, and nothing is read."""

    def __init__(self, journal_dir: Path):
        super().__init__(journal_dir / "no-lane")

    def begin(self) -> None:
        """Does nothing: there is no folder."""

    def acked(self) -> Position:
        """Returns the beginning of a lane."""
        return Position(1, 0)

    def read(self, position: Position, max_bytes: int) -> tuple[bytes, Position]:
        """Returns no data."""
        return b"", position

    def segments(self) -> list[int]:
        """Returns no segments."""
        return []

    def segment_bytes(self, number: int) -> int:
        """Returns 0."""
        return 0


# --- lanes of a journal, and those of dead processes ------------------------------------------------------------------


class DeadLaneLock:
    """The lane of a dead process, which only this process may deliver or delete until `close`."""

    def __init__(self, lock: OwnFile, delivering: OwnFile):
        """`lock` and `delivering` are held; `close` releases them."""
        self._locks = (delivering, lock)

    def close(self) -> None:
        """Releases the lane. A second call does nothing."""
        for lock in self._locks:
            lock.close()


_own: WeakSet[LaneWriter] = WeakSet()


def lanes(journal_dir: Path) -> list[Path]:
    """The folders of all lanes except those of other users, oldest first. Raises OSError."""
    return [path for path in map(journal_dir.joinpath, entries_of(journal_dir)) if _is_lane(path)]


def entries_of(journal_dir: Path) -> list[str]:
    """The names of all entries of the journal's folder, lanes and a few others, oldest lane first. Raises OSError."""
    try:
        return sorted(os.listdir(journal_dir))  # noqa: PTH208 - see `segments`
    except (FileNotFoundError, NotADirectoryError):
        return []


def _is_lane(path: Path) -> bool:
    try:
        return (path / "lock").exists() and not is_of_newer_format(path)
    except PermissionError:
        return False


def _note_format(path: Path) -> None:
    fd = open_private(path / _FORMAT, os.O_WRONLY)
    try:
        os.write(fd, b"%d\n" % FORMAT_VERSION)
    finally:
        os.close(fd)


def is_of_newer_format(path: Path) -> bool:
    """Whether a newer version of Playhead wrote the lane in a form that is not known here. Raises PermissionError."""
    try:
        version = int((path / _FORMAT).read_text(errors="replace"))
    except PermissionError:
        raise
    except (OSError, ValueError):  # a lane from before there were versions, or one that is being deleted
        return False
    if version > FORMAT_VERSION:
        warn_once(
            f"format {version}",
            f"the journal in {path.parent} has files of version {version}, and this program reads {FORMAT_VERSION}: "
            "they are left alone; upgrade playhead to read and deliver them",
        )
    return version > FORMAT_VERSION


def lock_dead_lane(lane: Path) -> DeadLaneLock | None:
    """Takes over the lane of a dead process. None while its owner lives, while another process has adopted it, and for
    a lane of a newer format.

    Raises OSError.
    """
    if is_of_newer_format(lane):
        return None
    lock = share_lock(lane / "lock")
    if lock is None:
        return None
    delivering: OwnFile | None = None
    try:
        with suppress(FileNotFoundError):
            delivering = lock_file(lane / "delivering")
        if delivering is not None and lock.is_at(lane / "lock"):
            return DeadLaneLock(lock, delivering)
    except BaseException:
        lock.close()
        raise
    lock.close()
    if delivering is not None:
        delivering.close()
    return None


def is_own(lane: Path) -> bool:
    """Whether this process is the lane's owner."""
    return any(writer.owns(lane) for writer in tuple(_own))


def is_owned(lane: Path) -> bool:
    """Whether the lane's owner (this process or another) lives. Raises OSError."""
    lock = share_lock(lane / "lock")
    if lock is None:
        return (lane / "lock").exists()
    lock.close()
    return False

"""[index]: reads an index, and the frames that it names, from the segments."""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

from playhead.journal.frame import HEADER_BYTES, frames_in
from playhead.journal.index import database
from playhead.journal.index.updating import NO_RESOURCE, SPOT, IndexUpdate, transaction
from playhead.journal.lane import LaneReader

T = TypeVar("T")
_BLOCK_BYTES = 64 * 1024
# Fewer than SQLite takes in one query.
_VALUES = 500
# The first copy of each content, in the order of the files: each segment that has a copy has a row for it.
_FIRST_CONTENTS = """
with wanted (start) as (values {})
select content.start, content.segment, content.at, content.size from wanted join content
    on content.start = wanted.start
    and content.segment = (select min(segment) from content as each where each.start = wanted.start)
order by content.segment, content.at
"""
# The file is corrupt, is no database, or lacks our tables.
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH})


class Frame(NamedTuple):
    """A frame of a segment; `resource` is the payload of the resource that applies to it, empty if there is none."""

    kind: bytes
    payload: bytes
    resource: bytes


class KeptProjection(NamedTuple):
    """A stored projection.  `lifted`: first 16 bytes of the digests of the contents and threads in the run's spans."""

    run: str
    version: str
    head: bytes
    blocks: Sequence[bytes]
    lifted: Iterable[bytes]


class _Misplaced(Exception):
    """A frame is not where the index says: the segment was changed since, or the index is damaged."""

    def __init__(self, segment: int) -> None:
        super().__init__(segment)
        self.segment = segment


class JournalIndex:
    """The index of a journal, as of the last `update`.  Not for several threads at a time.

    It is kept in a file, or in memory if the file cannot be written or stays locked for long.  `bytes_read`: bytes read
    from the segments, for updates and for answers.
    """

    def __init__(self, journal_dir: Path) -> None:
        """Reads nothing yet."""
        self._journal_dir = journal_dir
        self._db: sqlite3.Connection | None = None
        self._segments: dict[int, Path] = {}
        self._block: tuple[int, int, bytes] = (0, 0, b"")
        """Segment, offset and bytes of the last read: the next frame that is asked for is mostly near it."""
        self._file: tuple[int, FileIO] | None = None
        """Number of the segment that is being read, and its file."""
        self.bytes_read = 0

    # --- up to date ---------------------------------------------------------------------------------------------------

    def update(self) -> None:
        """Brings the index up to date with the journal.  Raises OSError when the journal cannot be read."""
        self._segments.clear()
        self._block = (0, 0, b"")
        try:
            self._update(self._db or self._open_file())
        except sqlite3.Error as error:
            self.close()
            if is_damage(error):
                database.remove(self._journal_dir)
            self._update_in_memory()

    def close(self) -> None:
        """Closes the file.  A second call does nothing."""
        db, self._db = self._db, None
        if db is not None:
            db.close()

    def _update(self, db: sqlite3.Connection) -> None:
        self._db = db
        update = IndexUpdate(db, self._journal_dir)
        try:
            update.run()
        finally:
            self.bytes_read += update.bytes_read

    def _open_file(self) -> sqlite3.Connection:
        if not self._journal_dir.is_dir():
            return database.empty_memory()
        try:
            try:
                return database.open_file(self._journal_dir)
            except sqlite3.Error as error:
                if not is_damage(error):
                    raise
                database.remove(self._journal_dir)
                return database.open_file(self._journal_dir)
        except OSError as error:  # a folder that can only be read
            raise sqlite3.OperationalError(str(error)) from error

    def _update_in_memory(self) -> None:
        for opened in (database.open_memory(self._journal_dir), database.empty_memory()):
            try:
                self._update(opened)
            except sqlite3.Error:
                self.close()
            else:
                return
        raise OSError("the index of the journal can be kept neither in its folder nor in memory")

    # --- what there is ------------------------------------------------------------------------------------------------

    def runs(self) -> list[str]:
        """The ids of all runs."""
        return [run.hex() for (run,) in self._rows("select distinct run from record")]

    def version(self, run: str) -> str | None:
        """A text that changes whenever records of the run come or go; None when there is no such run."""
        rows = self._rows("select segment, at, length(spots) from record where run = ? order by 1, 2", _id(run))
        return f"{sum(size for *_, size in rows) // SPOT.size}.{crc32(repr(rows).encode()):08x}" if rows else None

    def lanes(self, run: str) -> set[Path]:
        """The lanes (folders) with records of the run."""
        rows = self._rows("select distinct segment from record where run = ?", _id(run))
        return {self._path(segment).parent for (segment,) in rows}

    def forks(self, run: str) -> list[str]:
        """The ids of the runs that were forked from this one."""
        return [fork.hex() for (fork,) in self._rows("select distinct run from fork where parent = ?", _id(run))]

    def damaged(self) -> dict[Path, int]:
        """Files with unreadable parts, each with the size of these parts in bytes."""
        rows = self._rows("select id, damaged + damaged_end from segment where damaged + damaged_end > 0 order by id")
        return {self._path(segment): size for segment, size in rows}

    # --- what was projected -------------------------------------------------------------------------------------------

    def kept(self, run: str) -> tuple[str, bytes] | None:
        """The version and the head of the projection that was kept last; None when there is none."""
        rows = self._rows("select version, head from projection where run = ?", _id(run))
        return rows[0] if rows else None

    def kept_block(self, run: str, version: str, number: int) -> bytes | None:
        """One block of the run's projection; None when the projection of this version is no longer stored."""
        query = "select body from block join projection using (run) where run = ? and version = ? and number = ?"
        rows = self._rows(query, _id(run), version, number)
        return rows[0][0] if rows else None

    def keep(self, projections: Iterable[KeptProjection]) -> None:
        """Stores projections in place of earlier ones.  Never raises; does nothing if the index cannot be written."""
        try:
            db = self._open()
            with transaction(db):
                for projection in projections:
                    _write(db, projection)
        except (sqlite3.Error, OSError):
            pass  # they are made again when they are asked for

    def runs_lifting(self, start: bytes) -> list[str]:
        """Ids of the runs with this content or thread (first 16 bytes of its digest) in a span, as stored by `keep`."""
        return [run.hex() for (run,) in self._rows("select run from lifted where start = ?", start)]

    # --- frames -------------------------------------------------------------------------------------------------------

    def records(self, run: str) -> list[Frame]:
        """The spans, announcements and log events of a run, each with its resource."""
        return self._mended(lambda: self._records(run))

    def contents(self, starts: Collection[bytes]) -> dict[bytes, bytes]:
        """The payloads of the content frames that exist, by the first 16 bytes of their digests."""
        return self._mended(lambda: self._contents(list(starts)))

    def thread(self, start: bytes) -> bytes | None:
        """The payload of the frame with this thread node (first 16 bytes of its digest); None if there is none."""
        return self._mended(lambda: self._thread(start))

    def _records(self, run: str) -> list[Frame]:
        frames: list[Frame] = []
        rows = self._rows("select segment, resource, spots from record where run = ? order by segment, at", _id(run))
        for segment, resource, spots in rows:
            with suppress(FileNotFoundError):  # deleted meanwhile, to free space
                holds = b"" if resource == NO_RESOURCE else self._frame(segment, resource, None)[1]
                frames += [
                    Frame(*self._frame(segment, offset, size), holds) for offset, size in SPOT.iter_unpack(spots)
                ]
        return frames

    def _contents(self, starts: Sequence[bytes]) -> dict[bytes, bytes]:
        payloads: dict[bytes, bytes] = {}
        for first in range(0, len(starts), _VALUES):
            batch = starts[first : first + _VALUES]
            for start, segment, offset, size in self._rows(
                _FIRST_CONTENTS.format(",".join(["(?)"] * len(batch))), *batch
            ):
                try:
                    payload = self._frame(segment, offset, size)[1]
                except FileNotFoundError:  # deleted meanwhile, to free space
                    payload = self._payload("content", start, behind=segment)
                if payload is not None:
                    payloads[start] = payload
        return payloads

    def _thread(self, start: bytes) -> bytes | None:
        return self._payload("thread", start, behind=0)

    def _payload(self, table: str, start: bytes, behind: int) -> bytes | None:
        """The payload from the first existing segment after `behind` that has it; None if none has."""
        query = f"select segment, at, size from {table} where start = ? and segment > ? order by segment limit 1"  # noqa: S608
        while rows := self._rows(query, start, behind):
            behind, offset, size = rows[0]
            with suppress(FileNotFoundError):
                return self._frame(behind, offset, size)[1]
        return None

    def _frame(self, segment: int, offset: int, size: int | None) -> tuple[bytes, bytes]:
        """Kind and payload of a frame; `size` of the payload, None if unknown.  Raises OSError and _Misplaced."""
        if size is None:
            size = int.from_bytes(self._read(segment, offset, 4), "big")
        for kind, payload, end in frames_in(self._read(segment, offset, HEADER_BYTES + size)):
            if end == HEADER_BYTES + size:
                return kind, payload
        raise _Misplaced(segment)

    def _read(self, segment: int, offset: int, size: int) -> bytes:
        of, start, block = self._block
        if of != segment or not start <= offset <= start + len(block) - size:
            file = self._file_of(segment)
            file.seek(offset)
            start, block = offset, file.read(max(size, _BLOCK_BYTES))
            self._block = segment, offset, block
            self.bytes_read += len(block)
        return block[offset - start : offset - start + size]

    def _file_of(self, segment: int) -> FileIO:
        """The file of a segment, which stays open until `_mended` returns."""
        if self._file is None or self._file[0] != segment:
            self._close_file()
            self._file = segment, FileIO(self._path(segment))
        return self._file[1]

    def _close_file(self) -> None:
        if self._file is not None:
            self._file[1].close()
            self._file = None

    def _mended(self, read: Callable[[], T]) -> T:
        """Calls `read`; after a misplaced frame, indexes its segment again and retries.  Raises OSError when a frame of
        that segment is misplaced again."""
        mended: set[int] = set()
        while True:
            try:
                return read()
            except _Misplaced as misplaced:
                if misplaced.segment in mended:
                    raise OSError("the journal changes while it is read") from misplaced
                mended.add(misplaced.segment)
                self._index_again(misplaced.segment)
            finally:
                self._close_file()

    def _index_again(self, segment: int) -> None:
        db = self._open()
        try:
            with transaction(db):
                database.forget_segment(db, segment)
                db.execute("update lane set changed = 0 where id = (select lane from segment where id = ?)", (segment,))
                db.execute(
                    "update segment set size = -1, changed = -1, covered = 0, resource = ?, damaged = 0, "
                    "damaged_end = 0 where id = ?",
                    (NO_RESOURCE, segment),
                )
        except sqlite3.Error:
            self.close()
            database.remove(self._journal_dir)
        self.update()

    # --- the database -------------------------------------------------------------------------------------------------

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            self.update()
        if self._db is None:
            raise OSError("the index of the journal is closed")
        return self._db

    def _rows(self, query: str, *values: object) -> list[Any]:
        """The rows of a query.  A damaged index is rebuilt, once."""
        try:
            return self._open().execute(query, values).fetchall()
        except sqlite3.Error as error:
            self.close()
            if is_damage(error):
                database.remove(self._journal_dir)
            return self._open().execute(query, values).fetchall()

    def _path(self, segment: int) -> Path:
        path = self._segments.get(segment)
        if path is None:
            rows = self._rows(
                "select name, number from segment s join lane on lane.id = s.lane where s.id = ?", segment
            )
            if not rows:
                raise FileNotFoundError(segment)
            path = self._segments[segment] = LaneReader(self._journal_dir / rows[0][0]).segment_path(rows[0][1])
        return path


def _write(db: sqlite3.Connection, projection: KeptProjection) -> None:
    run = _id(projection.run)
    for table in ("block", "lifted"):
        db.execute(f"delete from {table} where run = ?", (run,))  # noqa: S608
    db.execute(
        "insert or replace into projection (run, version, head) values (?, ?, ?)",
        (run, projection.version, projection.head),
    )
    rows = ((run, number, body) for number, body in enumerate(projection.blocks))
    db.executemany("insert into block (run, number, body) values (?, ?, ?)", rows)
    db.executemany(
        "insert or ignore into lifted (start, run) values (?, ?)", ((start, run) for start in projection.lifted)
    )


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the error means that the file is damaged or not ours; False for a full or read-only disk."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE


def _id(run: str) -> bytes:
    try:
        return bytes.fromhex(run)
    except ValueError:
        return b""

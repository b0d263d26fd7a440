"""[export]: the refs that are still to be read, and the spans of a run that have not ended. On disk, so that memory
does not grow with the number of runs."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Self

_WAITING, _STORED, _ABSENT = 0, 1, 2
_SCHEMA = """
create table ref (number integer primary key, digest blob not null unique, state int not null);
create index ref_waiting on ref (number) where state = 0;
create table ended (span text primary key) without rowid;
create table unended (span text primary key, line blob not null) without rowid;
"""


class RefQueue:
    """A queue of refs (as digests), each queued once; also notes which spans have ended. Stored in a temporary file
    that SQLite removes."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)  # without a name: SQLite's own temporary file
        self._db.executescript("pragma journal_mode = off; pragma synchronous = off;" + _SCHEMA)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._db.close()

    def add(self, digests: Iterable[bytes]) -> None:
        """Queues refs; refs that are in the queue already keep their state."""
        self._many("insert or ignore into ref (digest, state) values (?, 0)", digests)

    def next(self, count: int) -> list[bytes]:
        """Returns up to `count` waiting refs, those that were added last first: these are the longest threads, which
        contain those of earlier calls."""
        query = "select digest from ref where state = 0 order by number desc limit ?"
        return [digest for (digest,) in self._db.execute(query, (count,))]

    def stored(self, digests: Iterable[bytes]) -> None:
        """Marks refs as read."""
        self._note(digests, _STORED)

    def absent(self, digests: Iterable[bytes]) -> None:
        """Marks refs under which nothing is stored."""
        self._note(digests, _ABSENT)

    def is_stored(self, digest: bytes) -> bool:
        """Whether this ref was read."""
        row = self._db.execute("select 1 from ref where digest = ? and state = ?", (digest, _STORED)).fetchone()
        return row is not None

    @property
    def waiting(self) -> int:
        """The number of refs that are still to be read."""
        return self._db.execute("select count(*) from ref where state = 0").fetchone()[0]

    def ended(self, spans: Sequence[str]) -> None:
        """Marks spans as ended, and drops their earlier, open versions."""
        self._many("insert or ignore into ended (span) values (?)", spans)
        self._many("delete from unended where span = ?", spans)

    def unended(self, span: str, line: bytes) -> None:
        """Stores the open version of a span, unless the span is known to have ended."""
        row = self._db.execute("select 1 from ended where span = ?", (span,)).fetchone()
        if row is None:
            self._db.execute("insert or replace into unended (span, line) values (?, ?)", (span, line))

    def end_run(self) -> Iterator[bytes]:
        """Yields the open spans of the run, then forgets all spans."""
        for (line,) in self._db.execute("select line from unended order by span"):
            yield line
        self._db.execute("delete from unended")
        self._db.execute("delete from ended")

    def _note(self, digests: Iterable[bytes], state: int) -> None:
        rows = [(digest, state) for digest in digests]
        self._db.execute("begin")
        query = (
            "insert into ref (digest, state) values (?, ?) on conflict (digest) do update set state = excluded.state"
        )
        self._db.executemany(query, rows)
        self._db.execute("commit")

    def _many(self, query: str, values: Iterable[bytes | str]) -> None:
        self._db.execute("begin")
        self._db.executemany(query, [(value,) for value in values])
        self._db.execute("commit")

"""[index]: the SQLite file of the index, in the journal's folder."""

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from playhead.journal.files import make_private_folder, open_private

FOLDER = "index"
_FILE = "journal.sqlite"
# To be changed with the tables and with the meaning of their values; a file with another number is rebuilt.
_FORMAT = 1
# How long to wait while another process writes its update.
_BUSY_SECONDS = 10.0

# `start`: the first 16 bytes of a SHA-256, which tell contents apart as well as all 32 do.
_TABLES = """
create table lane (id integer primary key, name text not null unique, changed int not null, is_final int not null);
create table segment (
    id integer primary key, lane int not null, number int not null, size int not null, changed int not null,
    covered int not null, resource int not null, damaged int not null, damaged_end int not null, unique (lane, number)
);
create table record (
    run blob not null, segment int not null, at int not null, resource int not null, spots blob not null,
    primary key (run, segment, at)
) without rowid;
create table content (
    start blob not null, segment int not null, at int not null, size int not null, primary key (start, segment)
) without rowid;
create table thread (
    start blob not null, segment int not null, at int not null, size int not null, primary key (start, segment)
) without rowid;
create table fork (
    parent blob not null, run blob not null, segment int not null, primary key (parent, run, segment)
) without rowid;
create table projection (run blob primary key, version text not null, head blob not null) without rowid;
create table block (
    run blob not null, number int not null, body blob not null, primary key (run, number)
) without rowid;
create table lifted (start blob not null, run blob not null, primary key (start, run)) without rowid;
create index record_segment on record (segment);
create index content_segment on content (segment);
create index thread_segment on thread (segment);
create index fork_segment on fork (segment);
create index lifted_run on lifted (run);
"""
_OF_A_SEGMENT = ("record", "content", "thread", "fork")
_OF_A_RUN = ("projection", "block", "lifted")


def path_of(journal_dir: Path) -> Path:
    """The file of the index."""
    return journal_dir / FOLDER / _FILE


def open_file(journal_dir: Path, busy_seconds: float | None = None) -> sqlite3.Connection:
    """Opens the index in its file.  Creates the file if there is none, and its tables if they are of another version.

    Raises OSError or sqlite3.Error where it cannot be written, or is damaged.
    """
    path = path_of(journal_dir)
    make_private_folder(path.parent)
    os.close(open_private(path, os.O_RDWR))
    db = _connect(str(path), _BUSY_SECONDS if busy_seconds is None else busy_seconds)
    try:
        if db.execute("pragma user_version").fetchone()[0] != _FORMAT:
            _make_tables(db)
    except BaseException:
        db.close()
        raise
    return db


def open_memory(journal_dir: Path) -> sqlite3.Connection:
    """Opens an index in memory: a copy of the file if that can be read, else an empty one."""
    db = _connect(":memory:")
    with suppress(sqlite3.Error):
        source = sqlite3.connect(f"{path_of(journal_dir).absolute().as_uri()}?mode=ro", uri=True, timeout=_BUSY_SECONDS)
        try:
            if source.execute("pragma user_version").fetchone()[0] == _FORMAT:
                source.backup(db)
                return db
        finally:
            source.close()
    return empty_memory()


def empty_memory() -> sqlite3.Connection:
    """Opens an empty index in memory."""
    db = _connect(":memory:")
    _make_tables(db)
    return db


def remove(journal_dir: Path) -> None:
    """Deletes the index.  Does nothing where that is impossible."""
    path = path_of(journal_dir)
    for file_path in (path, path.with_name(f"{_FILE}-journal")):
        with suppress(OSError):
            file_path.unlink()


def forget_segment(db: sqlite3.Connection, segment: int) -> None:
    """Deletes all rows of a segment except the one in `segment`, and the projections of the runs that it contains."""
    for table in _OF_A_RUN:
        db.execute(f"delete from {table} where run in (select run from record where segment = ?)", (segment,))  # noqa: S608
    for table in _OF_A_SEGMENT:
        db.execute(f"delete from {table} where segment = ?", (segment,))  # noqa: S608


def _connect(name: str, busy_seconds: float = 0.0) -> sqlite3.Connection:
    db = sqlite3.connect(name, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
    # What the journal no longer has must not stay readable in free pages.
    db.execute("pragma secure_delete = on")
    return db


def _make_tables(db: sqlite3.Connection) -> None:
    db.execute("begin immediate")
    try:
        if db.execute("pragma user_version").fetchone()[0] != _FORMAT:
            for (table,) in db.execute("select name from sqlite_schema where type = 'table'").fetchall():
                db.execute(f'drop table "{table}"')
            for statement in filter(str.strip, _TABLES.split(";")):
                db.execute(statement)
            db.execute(f"pragma user_version = {_FORMAT}")
        db.execute("commit")
    except BaseException:
        with suppress(sqlite3.Error):
            db.execute("rollback")
        raise

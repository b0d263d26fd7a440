"""What operators do with a database as a whole: backup, restore, and taking deleted data out of its files.

    backup FOLDER    database.dump (pg_dump's custom format) and backup.json; collectors go on meanwhile
    restore FOLDER   into an empty place
    scrub            no collector may run

Objects in an object store, where there is one, are copied after the dump and restored before it: see docs/backup.md.
"""

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import asyncpg

from playhead_collector import embedded
from playhead_collector.embedded.cluster import SOCKET_NAME, binaries, environment
from playhead_collector.errors import BadSetting, CannotStart, DatabaseError, EmbeddedPostgresFailed
from playhead_collector.settings import CollectorSettings
from playhead_collector.store import schema
from playhead_collector.store.postgres import scrubbing

_DUMP, _ABOUT = "database.dump", "backup.json"
# With `wal_recycle`, old files of the write-ahead log are kept with their bytes, and used again under another name.
_SCRUBBING = MappingProxyType({"wal_recycle": "off", "min_wal_size": "32MB"})


def backup(settings: CollectorSettings, folder: Path) -> Mapping[str, Any]:
    """Writes a backup of the database as it is now into a new folder. Returns what `backup.json` says.

    Collectors go on: the backup has all that was acknowledged before it began. Raises BadSetting for a folder that has
    something, DatabaseError, CannotStart.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if any(folder.iterdir()):
        raise BadSetting(f"{folder} is not empty: name a new folder for the backup")
    with _database(settings) as dsn:
        about = {
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "schema": asyncio.run(_stored_schema(dsn)),
            "database": _DUMP,
        }
        # Nobody else may read it meanwhile, in a folder that was there already as well.
        os.close(os.open(folder / _DUMP, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        _run_tool("pg_dump", dsn, "--format=custom", "--no-owner", f"--file={folder / _DUMP}", dbname=True)
    (folder / _ABOUT).write_text(json.dumps(about, indent=2) + "\n", "utf-8")
    return about


def restore(settings: CollectorSettings, folder: Path) -> Mapping[str, Any]:
    """Restores a backup into an empty place: a data directory without a Postgres, or a database without our tables.
    Returns what `backup.json` says. Raises BadSetting for a place that is not empty, DatabaseError, CannotStart."""
    try:
        about: Mapping[str, Any] = json.loads((folder / _ABOUT).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadSetting(f"{folder} has no readable {_ABOUT} ({error}): name the folder of a backup") from error
    if settings.database_url is None and (settings.data_dir.expanduser() / "postgres").exists():
        raise BadSetting(f"{settings.data_dir} has a database already: set PLAYHEAD_DATA_DIR to another folder")
    with _database(settings) as dsn:
        if asyncio.run(schema.current(dsn)) is not None:
            raise BadSetting("the database is not empty: name another one with PLAYHEAD_DATABASE_URL")
        arguments = ("--no-owner", "--exit-on-error", "--single-transaction")
        _run_tool("pg_restore", dsn, *arguments, str(folder / _DUMP), dbname=True)
        asyncio.run(_begin_epochs(dsn))
    return about


def scrub(settings: CollectorSettings) -> None:
    """Takes what was deleted out of the files of the database. Raises AlreadyRunning or DatabaseError while a collector
    uses it, and CannotStart."""
    if settings.database_url is not None:
        asyncio.run(_scrub(settings.database_url))
        return
    with embedded.start(settings.data_dir, options=_SCRUBBING) as postgres:
        asyncio.run(_scrub(postgres.dsn))


async def _scrub(dsn: str) -> None:
    conn = await schema.connect(dsn)
    try:
        await scrubbing.scrub(conn)
    except asyncpg.InsufficientPrivilegeError as error:
        raise DatabaseError(
            f"the role may not do that ({error}): have its owner run what docs/forgetting.md says"
        ) from None
    finally:
        await conn.close()


async def _stored_schema(dsn: str) -> str:
    revision = await schema.current(dsn)
    if revision is None:
        raise DatabaseError("the database has no tables of Playhead: there is nothing to save")
    return revision


async def _begin_epochs(dsn: str) -> None:
    """Senders believe what the database had when it was saved, and later: they are to ask again."""
    conn = await schema.connect(dsn)
    try:
        await scrubbing.begin_epochs(conn)
    finally:
        await conn.close()


@contextmanager
def _database(settings: CollectorSettings) -> Generator[str]:
    """Yields the URL of the configured database. An embedded Postgres that no collector runs is started meanwhile."""
    if settings.database_url is not None:
        yield settings.database_url
        return
    running = _running_embedded(settings.data_dir.expanduser().resolve() / "postgres")
    if running is not None:
        yield running
        return
    with embedded.start(settings.data_dir) as postgres:
        yield postgres.dsn


def _running_embedded(cluster: Path) -> str | None:
    """Returns the URL of the embedded Postgres that a collector runs; None: none does."""
    try:
        lines = (cluster / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return None
    socket_dir = lines[4].strip() if len(lines) > 4 else ""
    if not socket_dir or not (Path(socket_dir) / SOCKET_NAME).exists():
        return None
    return f"postgresql://postgres@/postgres?host={quote(socket_dir)}"


def _run_tool(name: str, dsn: str, *arguments: str, dbname: bool) -> None:
    """Runs a tool of Postgres. The password is passed in its environment, since others can read its arguments. Raises
    DatabaseError with what it says, and CannotStart."""
    url = urlsplit(dsn)
    host = url.netloc.rpartition("@")[2]
    without = urlunsplit(url._replace(netloc=f"{url.username}@{host}" if url.username else host))
    env = environment() | ({"PGPASSWORD": unquote(url.password)} if url.password else {})
    command = [str(_tool(name)), *arguments, *([f"--dbname={without}"] if dbname else [])]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=env)  # noqa: S603 - our own arguments
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise DatabaseError(f"{name} failed ({said}): mend that, and try again with an empty place")


def _tool(name: str) -> Path:
    try:
        return binaries() / name
    except EmbeddedPostgresFailed:
        found = shutil.which(name, path=os.environ.get("PATH"))
    if found is None:
        raise CannotStart(f"{name} is not installed: install Postgres' client programs, or 'playhead[collector]'")
    return Path(found)

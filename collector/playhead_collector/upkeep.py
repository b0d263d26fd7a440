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
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from types import MappingProxyType
from typing import IO, Any
from urllib.parse import unquote, urlsplit, urlunsplit

import asyncpg

from playhead_collector import embedded
from playhead_collector.embedded.cluster import SOCKET_NAME, binaries, dsn_of, environment, in_a_line
from playhead_collector.errors import BadSetting, CannotStart, DatabaseError, EmbeddedPostgresFailed
from playhead_collector.settings import CollectorSettings
from playhead_collector.store import schema
from playhead_collector.store.postgres import scrubbing

_DUMP, _ABOUT = "database.dump", "backup.json"
# With `wal_recycle`, old files of the write-ahead log are kept with their bytes, and used again under another name.
_SCRUBBING = MappingProxyType({"wal_recycle": "off", "min_wal_size": "32MB"})
# pg_restore 17 and newer begin each script with it; Postgres before 17 does not know this setting.
_NEWER_SETTING = b"SET transaction_timeout = 0;\n"
# How the last setting of a script begins. Lines behind it may be data, and are copied as they are.
_LAST_SETTING_BEFORE_DATA = b"SELECT pg_catalog.set_config('search_path'"


def backup(settings: CollectorSettings, folder: Path) -> Mapping[str, Any]:
    """Writes a backup of the database as it is now into a new folder. Returns what `backup.json` says.

    Collectors go on: the backup has all that was acknowledged before it began. Raises BadSetting for a folder that has
    something, DatabaseError, CannotStart.
    """
    with _writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        is_empty = not any(folder.iterdir())
    if not is_empty:
        raise BadSetting(f"{folder} is not empty: name a new folder for the backup")
    with _database(settings) as database:
        about = {
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "schema": asyncio.run(_stored_schema(database.dsn)),
            "database": _DUMP,
        }
        with _writing_to(folder):
            # Nobody else may read it meanwhile, in a folder that was there already as well.
            os.close(os.open(folder / _DUMP, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        _dump(database, folder / _DUMP)
    with _writing_to(folder):
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
    with _database(settings) as database:
        if asyncio.run(schema.current(database.dsn)) is not None:
            raise BadSetting("the database is not empty: name another one with PLAYHEAD_DATABASE_URL")
        _load(folder / _DUMP, database)
        asyncio.run(_begin_epochs(database.dsn))
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


@dataclass(frozen=True, slots=True)
class _DatabasePlace:
    """Where a database is. `environ`: variables that Postgres' programs need to reach it as the collector does."""

    dsn: str
    environ: dict[str, str] = field(default_factory=dict[str, str])


@contextmanager
def _database(settings: CollectorSettings) -> Generator[_DatabasePlace]:
    """Yields the configured database. An embedded Postgres that no collector runs is started meanwhile."""
    if settings.database_url is not None:
        password = urlsplit(settings.database_url).password
        environ = {name: value for name, value in os.environ.items() if name.startswith("PG") or name == "HOME"}
        yield _DatabasePlace(settings.database_url, environ | ({"PGPASSWORD": unquote(password)} if password else {}))
        return
    running = _running_embedded(settings.data_dir.expanduser().resolve() / "postgres")
    if running is not None:
        yield _DatabasePlace(running)
        return
    with embedded.start(settings.data_dir) as postgres:
        yield _DatabasePlace(postgres.dsn)


def _running_embedded(cluster: Path) -> str | None:
    """Returns the URL of the embedded Postgres that a collector runs; None: none does."""
    try:
        lines = (cluster / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return None
    socket_dir = lines[4].strip() if len(lines) > 4 else ""
    if not socket_dir or not (Path(socket_dir) / SOCKET_NAME).exists():
        return None
    return dsn_of(socket_dir)


@contextmanager
def _writing_to(folder: Path) -> Generator[None]:
    """Raises BadSetting for what the file system refuses."""
    try:
        yield
    except OSError as error:
        raise BadSetting(f"cannot write to {folder} ({error.strerror}): name another folder for the backup") from None


# --- Postgres' own programs ------------------------------------------------------------------------------------------


def _dump(database: _DatabasePlace, file: Path) -> None:
    """Writes the database into a file. Raises DatabaseError, CannotStart."""
    command = [*_command("pg_dump", database), "--format=custom", "--no-owner", f"--file={file}"]
    done = subprocess.run(  # noqa: S603 - our own arguments
        command, check=False, capture_output=True, env=environment() | database.environ
    )
    if done.returncode != 0:
        raise _failed("pg_dump", done.stderr)


def _load(dump: Path, database: _DatabasePlace) -> None:
    """Executes what a dump has, in one transaction: all of it or nothing. Raises DatabaseError, CannotStart.

    pg_restore only writes the script, and psql executes it: connected to a Postgres before 17, a newer pg_restore would
    fail, since it sets `transaction_timeout`, which that server does not know.
    """
    reading = [str(tool_of("pg_restore")), "--no-owner", "--file=-", str(dump)]
    executing = [*_command("psql", database), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1"]
    with TemporaryFile() as reader_said, TemporaryFile() as session_said:
        reader = subprocess.Popen(  # noqa: S603 - our own arguments
            reading, stdout=subprocess.PIPE, stderr=reader_said, env=environment()
        )
        session = subprocess.Popen(  # noqa: S603 - the same
            executing, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=session_said,
            env=environment() | database.environ,
        )  # fmt: skip
        with reader, session:
            was_executed = _execute(reader, session)
        ended = [("pg_restore", reader, reader_said), ("psql", session, session_said)]
        # If psql has ended first, pg_restore failed only because nobody read its output: psql says the reason.
        for name, process, said in ended if was_executed else reversed(ended):
            if process.returncode != 0:
                said.seek(0)
                raise _failed(name, said.read())


def _execute(reader: "subprocess.Popen[bytes]", session: "subprocess.Popen[bytes]") -> bool:
    """Has psql execute what pg_restore reads. Returns False if psql ended before that."""
    assert reader.stdout is not None  # noqa: S101 - both are pipes
    assert session.stdin is not None  # noqa: S101 - the same
    try:
        session.stdin.write(b"begin;\n")
        _copy_script(reader.stdout, session.stdin)
        if reader.wait() == 0:  # else psql ends without a commit, which undoes all
            session.stdin.write(b"commit;\n")
        session.stdin.close()
    except BrokenPipeError:
        reader.kill()
        with suppress(BrokenPipeError):  # what was not written yet
            session.stdin.close()
        return False
    return True


def _copy_script(script: IO[bytes], to: IO[bytes]) -> None:
    """Copies a script of pg_restore, but for the setting that older versions of Postgres do not know."""
    for line in script:
        if line != _NEWER_SETTING:
            to.write(line)
        if line.startswith(_LAST_SETTING_BEFORE_DATA):
            break
    shutil.copyfileobj(script, to)


async def _is_encrypted(dsn: str) -> bool:
    """Whether the database is reached over TLS."""
    conn = await schema.connect(dsn)
    try:
        return bool(await conn.fetchval("select ssl from pg_stat_ssl where pid = pg_backend_pid()"))
    finally:
        await conn.close()


def _command(name: str, database: _DatabasePlace) -> list[str]:
    """Returns the program's command, connected to the database. The password is in the environment: other users can
    read a program's arguments."""
    url = urlsplit(database.dsn)
    host = url.netloc.rpartition("@")[2]
    without = urlunsplit(url._replace(netloc=f"{url.username}@{host}" if url.username else host))
    program = tool_of(name, with_tls=asyncio.run(_is_encrypted(database.dsn)))
    return [str(program), f"--dbname={without}"]


def _failed(name: str, said: bytes) -> DatabaseError:
    reason = in_a_line(said.decode(errors="replace"))
    return DatabaseError(f"{name} failed ({reason}): mend that, and try again with a new folder or an empty database")


def tool_of(name: str, *, with_tls: bool = False) -> Path:
    """Returns a program of Postgres: that of the embedded one, which cannot speak TLS, or that of this machine."""
    found = shutil.which(name, path=os.environ.get("PATH"))
    if with_tls and found is None:
        raise CannotStart(
            f"the database is reached over TLS, which the {name} of 'playhead[collector]' cannot speak: install "
            "Postgres' client programs of the server's version or newer"
        )
    if not with_tls:
        try:
            return binaries() / name
        except EmbeddedPostgresFailed:
            pass
    if found is None:
        raise CannotStart(f"{name} is not installed: install Postgres' client programs, or 'playhead[collector]'")
    return Path(found)

"""Reads which schema a database has, and checks that this build can work with it. `app` calls this before it opens the
store.

`migrate` changes a schema. It loads Alembic and SQLAlchemy, which takes half as long as the rest of a collector's
start, so `app` imports it only for a database that is not at the newest schema.
"""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import asyncpg

from playhead_collector.errors import (
    DatabaseTooOld,
    DatabaseUnreachable,
    MayNotUseTables,
    SchemaTooNew,
    SchemaTooOld,
    SchemaUnreleased,
)
from playhead_collector.settings import without_password

OLDEST_POSTGRES = 14
# A running server accepts a connection at once; an unreachable one should be reported before the user gives up.
CONNECT_SECONDS = 10


async def current(dsn: str) -> str | None:
    """Returns the database's current revision; None when no collector has used the database yet.

    Raises DatabaseUnreachable, DatabaseTooOld, MayNotUseTables.
    """
    connection = await connect(dsn)
    try:
        with refusals_explained(dsn):
            return await connection.fetchval("select version_num from alembic_version")
    except asyncpg.UndefinedTableError:
        return None
    finally:
        await connection.close()


async def check(dsn: str) -> None:
    """Checks that this build can work with the database in its current state. Changes nothing.

    Raises DatabaseUnreachable, DatabaseTooOld, MayNotUseTables, SchemaTooNew, SchemaTooOld, SchemaUnreleased.
    """
    revision = await current(dsn)
    refuse_unknown(revision)
    if revision != head():
        raise SchemaTooOld(
            f"the database has {f'schema {revision}' if revision else 'no schema yet'} and this build needs schema "
            f"{head()}: run `playhead migrate`"
        )


def head() -> str:
    """Returns the newest revision of this build."""
    return max(revisions())


def refuse_unknown(revision: str | None) -> None:
    """Raises SchemaTooNew or SchemaUnreleased if this build does not know the database's revision. Accepts None (a new
    database)."""
    if revision is None or revision in revisions():
        return
    if revision.isdecimal():  # since the first release, revisions have names
        raise SchemaUnreleased(
            f"the database is at schema {revision}, of a development version before the first release, which cannot be "
            "migrated: use an empty database (another PLAYHEAD_DATABASE_URL; for the Postgres that `playhead serve` "
            "starts, another PLAYHEAD_DATA_DIR)"
        )
    raise SchemaTooNew(
        f"the database is at schema {revision}, which this build does not know: a newer Playhead has migrated it; "
        "upgrade this one"
    )


def migrations() -> Path:
    """Returns the folder that contains the revisions."""
    package = Path(__file__).parents[1]
    in_wheel, in_checkout = package / "migrations", package.parents[1] / "migrations"
    return in_wheel if in_wheel.is_dir() else in_checkout


@contextmanager
def refusals_explained(dsn: str) -> Generator[None]:
    """Raises MayNotUseTables where Postgres refuses the role what a collector has to do."""
    try:
        yield
    except asyncpg.InsufficientPrivilegeError as error:
        raise MayNotUseTables(
            f"the role of {without_password(dsn)} may not do what a collector does ({error}): grant it select, insert, "
            "update and delete on all tables, usage on all sequences, and execute on the function playhead_enter"
        ) from None


async def connect(dsn: str) -> asyncpg.Connection:
    """Opens a connection to the database. Raises DatabaseUnreachable, DatabaseTooOld."""
    safe_dsn = without_password(dsn)
    try:
        connection = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS)
    except asyncpg.TooManyConnectionsError as error:
        raise DatabaseUnreachable(
            f"{safe_dsn} has no room for another connection ({error}): raise Postgres' max_connections, or lower "
            "PLAYHEAD_POOL_SIZE of the collectors on it"
        ) from error
    except (OSError, TimeoutError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise DatabaseUnreachable(
            f"cannot connect to {safe_dsn} ({_reason(error)}): see that Postgres runs there and PLAYHEAD_DATABASE_URL "
            "is right"
        ) from error
    major = connection.get_server_version().major
    if major < OLDEST_POSTGRES:
        await connection.close()
        raise DatabaseTooOld(f"{safe_dsn} is Postgres {major}: use {OLDEST_POSTGRES} or newer")
    return connection


def _reason(error: Exception) -> str:
    if isinstance(error, ValueError) and not isinstance(error, asyncpg.InterfaceError):
        # The error's own text may show a part of the password.
        return "the URL cannot be read: in a password, / @ : # ? % are written %2F %40 %3A %23 %3F %25"
    return " ".join(str(error).split()) or f"no answer in {CONNECT_SECONDS} s"


def revisions() -> set[str]:
    """Returns the names of all revisions of this build: their file names `NNNN_what.py` without `.py`. A test compares
    them with the revisions that Alembic finds."""
    return {file.stem for file in (migrations() / "versions").glob("[0-9]*_*.py")}

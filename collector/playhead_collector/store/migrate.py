"""Upgrades a database's schema to this build's, or raises an error that says why it cannot. `app` calls this only if
the schema is not the newest.

Alembic keeps the order of revisions and the database's current one; each revision is plain SQL (`migrations/` at the
top of the checkout, `playhead_collector/migrations` in a wheel). All pending revisions run in one transaction: a
failing one leaves the database as it was.
"""

import io
import logging
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import sqlalchemy as sa
from alembic import command, context, op
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import NullPool

from playhead_collector.errors import MayNotMigrate
from playhead_collector.settings import without_password
from playhead_collector.store.schema import connect, migrations, refuse_unknown

log = logging.getLogger(__name__)

# Any number, as long as all collectors lock the same one: "playhead" in ASCII.
MIGRATION_LOCK = int.from_bytes(b"playhead")


async def upgrade(dsn: str) -> None:
    """Runs the missing revisions, if any. When several collectors start together, one runs them and the others wait.

    Raises DatabaseUnreachable, DatabaseTooOld, MayNotMigrate, SchemaTooNew, SchemaUnreleased.
    """
    async with _connection(dsn) as connection:
        # A session lock, because a revision may have to commit in between (`create index concurrently`).
        if not await connection.scalar(sa.select(sa.func.pg_try_advisory_lock(MIGRATION_LOCK))):
            log.info("another collector is migrating this database; waiting for it")
            await connection.scalar(sa.select(sa.func.pg_advisory_lock(MIGRATION_LOCK)))
        await connection.commit()
        before = await connection.run_sync(_revision)
        refuse_unknown(before)
        if before == head():
            return
        try:
            await connection.run_sync(lambda sync: command.upgrade(_config(connection=sync), "head"))
            await connection.commit()
        except (DBAPIError, asyncpg.InsufficientPrivilegeError) as error:
            if "permission denied" not in str(error) and "must be owner" not in str(error):
                raise
            reason = str(error).partition("\n")[0].rpartition(">: ")[2]
            raise MayNotMigrate(
                f"the role of {without_password(dsn)} may not make what this build needs ({reason}): grant it create "
                "on the schema, or have another role run what `playhead migrate --sql` prints"
            ) from None
        log.info("migrated the database from %s to %s", before or "nothing", head())


def head() -> str:
    """Returns the newest revision of this build. Raises if there are two."""
    return scripts().get_current_head() or ""


def offline_sql() -> str:
    """Returns the SQL of all revisions, for operators who change schemas only with their own tools."""
    written = io.StringIO()
    command.upgrade(_config(output_buffer=written), "head", sql=True)
    return written.getvalue()


def run_sql_beside(revision_file: str) -> None:
    """Executes the `.sql` file that has the same name as a revision's `.py` file. Only revisions call this, in their
    `upgrade()`."""
    script = Path(revision_file).with_suffix(".sql").read_text(encoding="utf-8")
    if context.is_offline_mode():
        op.get_context().impl.static_output(script)
        return
    # Bypasses SQLAlchemy, which prepares statements: it accepts one at a time and reads `:name` as a parameter.
    adapted: Any = op.get_bind().connection.dbapi_connection

    def execute(driver: asyncpg.Connection) -> Awaitable[str]:
        return driver.execute(script)

    adapted.run_async(execute)


# --- Alembic's objects -----------------------------------------------------------------------------------------------


def _config(*, connection: sa.Connection | None = None, output_buffer: io.StringIO | None = None) -> Config:
    config = Config(output_buffer=output_buffer, attributes={"connection": connection})
    # Escaped, because ConfigParser interprets a per cent sign.
    config.set_main_option("script_location", str(migrations()).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    return config


def scripts() -> ScriptDirectory:
    """Returns the revisions as Alembic reads them."""
    return ScriptDirectory.from_config(_config())


def _revision(connection: sa.Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


# --- the connection --------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _connection(dsn: str) -> AsyncGenerator[AsyncConnection]:
    """Opens a connection with the same driver as the store, so that a database URL means the same in both."""

    async def creator() -> Any:
        return await connect(dsn)

    engine = create_async_engine("postgresql+asyncpg://", async_creator=creator, poolclass=NullPool)
    async with engine.connect() as connection:
        yield connection

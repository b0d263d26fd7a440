import asyncio
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import pytest

from playhead_collector import cli
from playhead_collector.app import bring_to_newest_schema, open_collector
from playhead_collector.errors import (
    DatabaseTooOld,
    DatabaseUnreachable,
    MayNotMigrate,
    MayNotUseTables,
    SchemaTooNew,
    SchemaTooOld,
    SchemaUnreleased,
)
from playhead_collector.settings import CollectorSettings
from playhead_collector.store import migrate, schema


async def fetch(url: str, query: str):
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetch(query)
    finally:
        await connection.close()


async def tables(url: str) -> set[str]:
    return {row["tablename"] for row in await fetch(url, "select tablename from pg_tables where schemaname = 'public'")}


async def test_an_empty_database_gets_the_newest_schema(empty_database_url: str):
    assert await schema.current(empty_database_url) is None
    await migrate.upgrade(empty_database_url)
    assert await schema.current(empty_database_url) == schema.head()
    assert "project" in await tables(empty_database_url)


def test_the_files_of_the_revisions_are_those_that_alembic_knows():
    assert schema.head() == migrate.head()
    assert {script.revision for script in migrate.scripts().walk_revisions()} == schema.revisions()


async def test_a_collector_on_a_database_of_the_newest_schema_loads_no_alembic(database_url: str):
    program = (
        "import asyncio, sys; import playhead_collector.cli; from playhead_collector.app import bring_to_newest_schema;"
        f"asyncio.run(bring_to_newest_schema({database_url!r})); print({{'alembic', 'sqlalchemy'}} & set(sys.modules))"
    )
    python = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
    out, _ = await python.communicate()
    assert out == b"set()\n"


@pytest.mark.parametrize("upgrade", [migrate.upgrade, bring_to_newest_schema])
async def test_migrating_twice_changes_nothing(upgrade, database_url: str):
    before = await tables(database_url)
    await upgrade(database_url)
    assert await tables(database_url) == before


async def test_collectors_that_start_at_once_do_not_collide(empty_database_url: str):
    await asyncio.gather(*(migrate.upgrade(empty_database_url) for _ in range(5)))
    await schema.check(empty_database_url)


async def test_it_waits_for_a_migration_that_is_under_way(empty_database_url: str):
    other = await asyncpg.connect(empty_database_url)
    await other.execute("select pg_advisory_lock($1)", migrate.MIGRATION_LOCK)
    upgrading = asyncio.create_task(migrate.upgrade(empty_database_url))
    await asyncio.sleep(0.3)
    assert not upgrading.done()
    await other.close()  # as when that collector is killed
    await asyncio.wait_for(upgrading, 60)
    await schema.check(empty_database_url)


async def test_a_migrated_database_passes_the_check(database_url: str):
    await schema.check(database_url)


async def test_the_check_says_that_a_schema_is_too_old(empty_database_url: str):
    with pytest.raises(SchemaTooOld, match="no schema yet.*run `playhead migrate`"):
        await schema.check(empty_database_url)
    assert await tables(empty_database_url) == set()


@pytest.mark.parametrize("use", [schema.check, migrate.upgrade])
async def test_a_schema_of_a_newer_build_is_left_alone(use, database_url: str):
    await fetch(database_url, "update alembic_version set version_num = '9999_newer'")
    with pytest.raises(SchemaTooNew, match="9999_newer.*upgrade"):
        await use(database_url)


@pytest.mark.parametrize("use", [schema.check, migrate.upgrade, bring_to_newest_schema])
@pytest.mark.parametrize("revision", ["0001", "0025"])
async def test_a_database_from_before_the_first_release_is_left_alone(use, revision: str, database_url: str):
    await fetch(database_url, f"update alembic_version set version_num = '{revision}'")
    with pytest.raises(SchemaUnreleased, match=f"{revision}.*before the first release.*use an empty database"):
        await use(database_url)
    assert await schema.current(database_url) == revision


@pytest.mark.parametrize("use", [schema.check, migrate.upgrade, schema.current])
async def test_a_postgres_that_is_too_old_is_refused(use, database_url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(schema, "OLDEST_POSTGRES", 99)
    with pytest.raises(DatabaseTooOld, match="use 99 or newer"):
        await use(database_url)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:s3cret@127.0.0.1:1/runs",
        "postgresql://me:s3cret@no-such-host.invalid/runs",
        "postgresql://me:s3cret@/runs?host=/no/such/folder",
        "postgresql://me:s3cret@127.0.0.1:port/runs",
    ],
)
async def test_a_database_that_does_not_answer_is_named_without_its_password(url: str):
    with pytest.raises(DatabaseUnreachable, match="PLAYHEAD_DATABASE_URL") as refused:
        await schema.check(url)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("password", ["QWX/ZVK", "QWX#ZVK", "QWX?ZVK", "QWX:Y/ZVK"])
async def test_a_password_that_is_not_encoded_is_said_and_not_shown(password: str):
    with pytest.raises(DatabaseUnreachable, match="in a password, .* are written %2F") as refused:
        await schema.check(f"postgresql://user:{password}@localhost:1/playhead")
    assert "QWX" not in str(refused.value)
    assert "ZVK" not in str(refused.value)


async def test_certificates_that_are_missing_are_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(DatabaseUnreachable, match="root certificate file") as refused:
        await schema.check("postgresql://user@localhost:1/playhead?sslmode=verify-full")
    assert "\n" not in str(refused.value)


async def test_a_database_without_room_for_another_connection_says_what_to_raise(empty_database_url: str):
    role = "crowded_" + empty_database_url.rpartition("/")[2].partition("?")[0]
    connection = await asyncpg.connect(empty_database_url)
    await connection.execute(f"create role {role} login connection limit 0")
    try:
        url = empty_database_url.replace("//postgres@", f"//{role}@").replace("//postgres:", f"//{role}:")
        with pytest.raises(DatabaseUnreachable, match="too many connections .*PLAYHEAD_POOL_SIZE"):
            await schema.check(url)
    finally:
        await connection.execute(f"drop role {role}")
        await connection.close()


async def test_a_database_that_does_not_exist_is_unreachable(postgres_url: str):
    with pytest.raises(DatabaseUnreachable, match="does not exist"):
        await schema.check(postgres_url.replace("/postgres?", "/nowhere?"))


async def test_the_offline_sql_makes_the_same_tables(empty_database_url: str, database_url: str):
    connection = await asyncpg.connect(empty_database_url)
    await connection.execute(migrate.offline_sql())
    await connection.close()
    await schema.check(empty_database_url)
    columns = "select table_name, column_name, data_type from information_schema.columns where table_schema = 'public'"
    assert set(await fetch(empty_database_url, columns)) == set(await fetch(database_url, columns))


async def test_a_role_that_may_not_make_tables_is_told_so_in_a_sentence(empty_database_url: str):
    role = "nobody_" + empty_database_url.rpartition("/")[2].partition("?")[0]
    connection = await asyncpg.connect(empty_database_url)
    await connection.execute(f"create role {role} login password 's3cret'; revoke create on schema public from public")
    try:
        url = empty_database_url.replace("//postgres@", f"//{role}:s3cret@").replace("//postgres:", f"//{role}:")
        with pytest.raises(MayNotMigrate, match="permission denied .*migrate --sql") as refused:
            await migrate.upgrade(url)
    finally:
        await connection.execute(f"drop role {role}")
        await connection.close()
    assert "s3cret" not in str(refused.value)
    assert "\n" not in str(refused.value)


async def test_a_role_that_may_not_use_the_tables_is_told_so_in_a_sentence(database_url: str):
    """Until it has what docs/deployment.md names."""
    role = "runner_" + database_url.rpartition("/")[2].partition("?")[0]
    url = database_url.replace("//postgres@", f"//{role}:s3cret@").replace("//postgres:", f"//{role}:")

    async def start() -> None:
        async with open_collector(CollectorSettings(database_url=url, analysis_processes=0)):
            pass

    connection = await asyncpg.connect(database_url)
    await connection.execute(f"create role {role} login password 's3cret'")
    try:
        for table in ("alembic_version", "project"):
            with pytest.raises(MayNotUseTables, match=f"denied for table {table}.*grant it select") as refused:
                await start()
            assert "s3cret" not in str(refused.value)
            await connection.execute(f"grant select on {table} to {role}")
        await connection.execute(
            f"grant select, insert, update, delete on all tables in schema public to {role};"
            f"grant usage on all sequences in schema public to {role};"
            f"grant execute on function playhead_enter to {role}"
        )
        await start()
    finally:
        await connection.execute(f"drop owned by {role}; drop role {role}")
        await connection.close()


def test_the_sql_is_printed_for_those_who_run_it_themselves(capsys: pytest.CaptureFixture[str]):
    assert cli.print_migrations() == cli.STOPPED
    assert "create table content" in capsys.readouterr().out


async def test_migrating_by_command(empty_database_url: str, capsys: pytest.CaptureFixture[str]):
    with ThreadPoolExecutor(1) as own:  # it runs a loop of its own
        assert own.submit(cli.migrate_database, database_url=empty_database_url).result() == cli.STOPPED
    await schema.check(empty_database_url)
    assert capsys.readouterr().out == f"the database is at schema {schema.head()}\n"
    assert cli.migrate_database() == cli.MISUSED


@contextmanager
def revisions(folder: Path, *scripts: str) -> Iterator[None]:
    """Migrations of a test's own, each with the SQL given."""
    (folder / "versions").mkdir(parents=True)
    (folder / "env.py").write_text((schema.migrations() / "env.py").read_text())
    for number, sql in enumerate(scripts, start=1):
        add_revision(folder, f"{number:04}_x", f"{number - 1:04}_x" if number > 1 else None, sql)
    with using(folder):
        yield


def add_revision(folder: Path, name: str, parent: str | None, sql: str) -> None:
    (folder / "versions" / f"{name}.sql").write_text(sql)
    (folder / "versions" / f"{name}.py").write_text(
        "from playhead_collector.store.migrate import run_sql_beside\n"
        f"revision = {name!r}\ndown_revision = {parent!r}\n"
        "def upgrade(): run_sql_beside(__file__)\n"
    )


@contextmanager
def using(folder: Path) -> Iterator[None]:
    """A build whose migrations are those of `folder`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrate, "migrations", lambda: folder)
        patch.setattr(schema, "migrations", lambda: folder)
        yield


async def test_a_newer_build_migrates_what_an_older_one_stored(database_url: str, tmp_path: Path):
    await fetch(database_url, "update project set name = 'kept'")
    older, newer = schema.head(), "9001_pre_colour"
    shutil.copytree(schema.migrations(), tmp_path / "m", ignore=shutil.ignore_patterns("__pycache__"))
    add_revision(tmp_path / "m", newer, older, "alter table project add column colour text not null default 'red'")
    with using(tmp_path / "m"):
        with pytest.raises(SchemaTooOld, match=f"schema {older} .*needs schema {newer}.*run `playhead migrate`"):
            await schema.check(database_url)
        await bring_to_newest_schema(database_url)
        await schema.check(database_url)
    assert [tuple(row) for row in await fetch(database_url, "select name, colour from project")] == [("kept", "red")]
    for use in (schema.check, migrate.upgrade):  # the older build, again
        with pytest.raises(SchemaTooNew, match=f"{newer}.*upgrade this one"):
            await use(database_url)


async def test_runs_of_the_first_release_get_their_outcomes(empty_database_url: str, tmp_path: Path):
    def run(number: int, status: str, ended: str = "2") -> str:
        return f"(1, '{number:032x}', 1, {ended}, 7, '{status}', 3, 40)"

    rows = ", ".join(
        [
            run(1, "completed"),
            run(2, "completed"),
            run(3, "failed"),
            run(4, "running", "null"),
            run(5, "lost"),
            run(6, "x"),
        ]
    )
    scores = ", ".join(
        f"(1, '{number:032x}', '{name}', {at}, {value}, '{name}', {span}, 'api')"
        for number, name, at, value, span in (
            (1, "old", 1, 1, "null"), (1, "new", 2, 0, "null"), (1, "call", 3, 1, "'ab'"), (2, "good", 1, 1, "null"),
            (3, "good", 1, 1, "null"), (5, "word", 1, "null", "null"),
        )
    )  # fmt: skip
    later = shutil.ignore_patterns("__pycache__", "000[2-9]*", "001*")
    shutil.copytree(schema.migrations(), tmp_path / "m", ignore=later)
    with using(tmp_path / "m"):
        await migrate.upgrade(empty_database_url)
    columns = "project_id, run_id, started_ns, ended_ns, projection, status, llm_calls, input_tokens"
    await fetch(empty_database_url, f"insert into run ({columns}) values {rows}")
    columns = "project_id, run_id, score_id, scored_ns, number, name, span, source"
    await fetch(empty_database_url, f"insert into score ({columns}) values {scores}")
    columns = "created, project_id, run_id, promise_id, kind, body"
    promise = f"(now(), 1, '{4:032x}', 'p', 'approval', '{{}}')"
    await fetch(empty_database_url, f"insert into promise ({columns}) values {promise}")
    await migrate.upgrade(empty_database_url)
    await schema.check(empty_database_url)
    wanted = "outcome, score_name, score, elapsed_ns, llm_calls, input_tokens, undescribed, priced"
    found = [tuple(row) for row in await fetch(empty_database_url, f"select {wanted} from run_outcome order by run_id")]
    rest = (3, 40, True, None)
    assert found == [
        ("failed", "new", 0, 1, *rest), ("succeeded", "good", 1, 1, *rest), ("crashed", "good", 1, 1, *rest),
        ("waiting", None, None, None, *rest), ("lost", None, None, 1, *rest), ("unknown", None, None, 1, *rest),
    ]  # fmt: skip


async def test_a_failing_revision_leaves_the_database_as_it_was(empty_database_url: str, tmp_path: Path):
    with revisions(tmp_path / "m", "create table a (x int)", "create table b (x int); select 1 / 0;"):
        with pytest.raises(Exception, match="division by zero"):
            await migrate.upgrade(empty_database_url)
        assert await schema.current(empty_database_url) is None
    assert await tables(empty_database_url) == set()


async def test_sql_is_taken_as_it_is_written(empty_database_url: str, tmp_path: Path):
    sql = "create table a (x text); insert into a values (':name 100% $1 %s'); do $$ begin perform 1; end $$;"
    with revisions(tmp_path / "100% odd, name", sql):
        await migrate.upgrade(empty_database_url)
    assert [row["x"] for row in await fetch(empty_database_url, "select x from a")] == [":name 100% $1 %s"]


def test_every_revision_has_its_sql_beside_it():
    versions = schema.migrations() / "versions"
    assert {path.stem for path in versions.glob("*.py")} == {path.stem for path in versions.glob("*.sql")}


def test_alembic_s_table_holds_the_names_of_all_revisions():
    assert [name for name in schema.revisions() if len(name) > 32 or not name[:4].isdecimal()] == []

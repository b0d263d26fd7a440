"""An encrypted project inside of the store: what is projected again, swept, and repacked."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from playhead.model.ref import ContentRef
from playhead_collector.access import FIRST_PROJECT
from playhead_collector.errors import CannotDecrypt, KeyDestroyed, WrongEncryptionKey
from playhead_collector.projection import ProjectionRunner
from playhead_collector.redaction.masking import Masker
from playhead_collector.redaction.rules import RedactionRules
from playhead_collector.retain.packer import Packer
from playhead_collector.retain.sweeper import Sweeper
from playhead_collector.store.operator_key import LocalKey
from playhead_collector.store.ports.conversations import ConversationSave
from playhead_collector.store.ports.notes import NoteToAdd
from playhead_collector.store.ports.projections import UnpackedRun
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.encryption.recorded_texts import TEXTS, recorded, run_id
from tests.integration.store.making import Clock

OPERATOR_KEY = LocalKey(b"o" * 32)
DAY_NS = 86_400 * 1_000_000_000


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(database_url: str, clock: Clock) -> AsyncIterator[PostgresStore]:
    store = await connect(database_url, pool_size=4, clock=clock, operator_key=OPERATOR_KEY)
    yield store
    await store.close()


@pytest.fixture
async def sql(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """Past the store."""
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


def runner(store: PostgresStore) -> ProjectionRunner:
    return ProjectionRunner(store.projections, clock=Clock(), seal_after_s=30, kept_bytes=0)


async def blue(store: PostgresStore, *runs: int) -> int:
    """The number of an encrypted project with these runs."""
    project = await store.projects.create("blue", encrypted=True)
    assert project is not None
    for run in runs:
        await store.spans.ingest(project.number, recorded(run).batch())
        await runner(store).project_now(project.number, run_id(run))
    return project.number


def contents_of(run: int) -> list[ContentRef]:
    return list(recorded(run).contents)


async def test_a_sweep_finds_what_encrypted_runs_name_and_takes_the_rest_out_of_packs(
    store: PostgresStore, clock: Clock
):
    project = await blue(store, 0, 1)
    await store.projections.pack([UnpackedRun(project, run_id(number), 1) for number in (0, 1)])
    kept = set(contents_of(0))
    gone = set(contents_of(1)) - kept
    assert gone
    await store.garbage.delete_run(project, run_id(1), forks=False)
    clock.days_pass(3)
    for _ in range(1_000):
        if (await store.garbage.sweep_step(project, DAY_NS)).phase is None:
            break
    assert set(await store.contents.get_many(project, [*kept, *gone])) == kept


async def test_a_run_that_is_projected_again_is_not_written_again(store: PostgresStore, sql: asyncpg.Connection):
    project = await blue(store, 0)
    written = "select xmin, md5(body) from event_page union all select xmin, md5(body) from run_snapshot order by 2"
    before = await sql.fetch(written)
    await sql.execute("update run_news set dirty_since_ns = 1")
    assert await runner(store).project_now(project, run_id(0))
    assert before
    assert await sql.fetch(written) == before


async def test_rows_that_were_changed_or_moved_are_not_read(store: PostgresStore, sql: asyncpg.Connection):
    project = await blue(store, 0)
    await sql.execute("update event_page set body = set_byte(body, 40, get_byte(body, 40) # 1)")
    with pytest.raises(CannotDecrypt, match="event page"):
        await store.events.read(project, run_id(0))
    await sql.execute("update event_page set body = span_page.body from span_page")
    with pytest.raises(CannotDecrypt, match="event page"):
        await store.events.read(project, run_id(0))


async def test_a_store_without_the_key_or_whose_key_is_gone_reads_nothing(
    store: PostgresStore, database_url: str, sql: asyncpg.Connection
):
    project = await blue(store, 0)
    for key, error in ((None, WrongEncryptionKey), (LocalKey(b"x" * 32), WrongEncryptionKey)):
        other = await connect(database_url, pool_size=1, operator_key=key)
        with pytest.raises(error):
            await other.events.read(project, run_id(0))
        with pytest.raises(error):
            await other.spans.ingest(project, recorded(2).batch())
        await other.close()
    assert await sql.fetchval("select count(*) from run") == 1
    await sql.execute("delete from project_key")
    other = await connect(database_url, pool_size=1, operator_key=OPERATOR_KEY)
    await other.projects.check_keys()  # nothing that is left needs the operator's key
    with pytest.raises(KeyDestroyed):
        await other.events.read(project, run_id(0))
    await other.close()
    assert await store.projects.destroy_key(project)
    with pytest.raises(KeyDestroyed):
        await store.events.read(project, run_id(0))


async def test_a_project_whose_key_a_collector_lacks_keeps_it_from_no_work_for_others(
    store: PostgresStore, database_url: str, clock: Clock, sql: asyncpg.Connection, caplog: pytest.LogCaptureFixture
):
    project = await store.projects.create("blue", encrypted=True)
    assert project is not None
    for number, run in ((project.number, 0), (project.number, 2), (FIRST_PROJECT, 1)):
        await store.spans.ingest(number, recorded(run).batch())
    without = await connect(database_url, pool_size=2, clock=clock)
    projecting = ProjectionRunner(without.projections, clock=clock, seal_after_s=1)
    for _ in range(3):
        clock.now_ns += 10**10
        await projecting.run_once()
    sealed = await sql.fetch("select distinct project_id, sealed from run order by project_id")
    assert [tuple(row) for row in sealed] == [(FIRST_PROJECT, True), (project.number, False)]
    assert caplog.text.count("there is no operator's key") == 1  # not for each run
    clock.now_ns += 10**10
    await runner(store).project_now(project.number, run_id(0))
    await sql.execute(
        "insert into packing_due (project_id, run_id) select project_id, run_id from run on conflict do nothing"
    )
    await sql.execute("insert into sweep_due select 1, project_id from project")
    packer = Packer(without.projections, clock=clock)
    await packer.run_once()
    assert packer.counts["packed"] == 1
    assert {row[0] for row in await sql.fetch("select project_id from packing_due")} == {project.number}
    sweeper = Sweeper(without.garbage, without.projects, grace_s=1, tombstone_s=1)
    with pytest.raises(WrongEncryptionKey):
        await sweeper.run_once()
    assert sweeper.counts["sweeps"] == 1
    await without.close()


async def test_who_asks_again_to_destroy_a_key_has_its_last_copy_removed(store: PostgresStore, sql: asyncpg.Connection):
    project = await blue(store)
    file = "select pg_relation_filenode('project_key')"
    before = await sql.fetchval(file)
    # As a collector leaves it that dies before it has rewritten the table: the deleted row is in the file.
    await sql.execute("delete from project_key")
    await sql.execute("update project set key_destroyed_at = now() where encrypted")
    assert not await store.projects.destroy_key(project)
    assert await sql.fetchval(file) != before


async def test_rules_are_run_over_an_encrypted_project(store: PostgresStore, sql: asyncpg.Connection):
    project = await blue(store, 0, 1)
    await store.projections.pack([UnpackedRun(project, run_id(0), 1)])
    await store.notes.add(project, run_id(0), NoteToAdd("n1", f"ask {TEXTS['note_text']}", None))
    await store.tiers.pin(project, run_id(0), f"for {TEXTS['note_text']}", None)
    rules = RedactionRules(patterns=(("text", r"zq[0-9]{2}[a-z]{1,30}wx"),))
    await store.redaction.start(project, rules)
    while (job := await store.redaction.step(project, Masker(rules))) is not None and job.ended_ns is None:
        pass
    assert job is not None
    assert job.counts["packed_contents"][1] > 3
    assert job.counts["runs"] == (2, 2)
    for run in (run_id(0), run_id(1)):
        row = await store.runs.get(project, run)
        assert row is not None
        assert (row.user, row.session) == ("[masked:text]", "[masked:text]")
        contents = await store.contents.get_many(project, contents_of(0))
        said = [*await store.events.read(project, run), *await store.spans.read(project, run), *contents.values(), row]
        assert not any("zq" in repr(each) for each in said)
    [note] = await store.notes.page(project, run_id(0), limit=2)
    assert note.text == "ask [masked:text]"
    found = await sql.fetch("select reason from pin")
    assert len(found) == 1
    assert "masked" not in found[0][0]


async def test_conversations_are_listed_by_any_beginning_of_their_ids(store: PostgresStore):
    """An id is stored as a token, whose beginning is not that of the id."""
    project = await blue(store)
    ids = [f"user-7/{number}" for number in range(5)]
    ids += ["user-70", "langgraph-store/users/7/", "langgraph-store/users/70/", "langgraph-thread/user-7/1"]
    for name in ids:
        await store.conversations.save(project, ConversationSave(name, "", 0, None))

    async def listed(prefix: str, page_of: int = 2) -> list[str]:
        found: list[str] = []
        before = None
        while page := await store.conversations.page(project, scope="", prefix=prefix, limit=page_of, before=before):
            assert len(page) <= page_of
            found += [row.id for row in page]
            before = (page[-1].updated_ns, page[-1].scope, page[-1].id)
        return found

    for prefix in ("user-7/", "user-7", "u", "user-7/3", "langgraph-store/users/7/", "langgraph-store/users/", "lang",
                   "langgraph-store/", "nobody"):  # fmt: skip
        assert await listed(prefix) == [name for name in reversed(ids) if name.startswith(prefix)], prefix

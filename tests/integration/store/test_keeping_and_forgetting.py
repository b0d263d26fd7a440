"""What one part of keeping and forgetting does to what the others have made: cold runs whose records, packs and large
contents are in the object store, with and without encryption, are redacted, forgotten, scored and deleted."""

import base64
import json
import random
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from playhead.model import names
from playhead.model.canonical import content_of
from playhead.model.message import text_message
from playhead.model.ref import ContentRef
from playhead_collector.projection import ProjectionRunner
from playhead_collector.redaction.masking import Masker
from playhead_collector.redaction.rules import RedactionRules
from playhead_collector.retain.object_mover import ObjectMover
from playhead_collector.retain.packer import Packer
from playhead_collector.retain.redactor import Redactor
from playhead_collector.retain.retainer import Retainer
from playhead_collector.store.objects.obstore_store import open_object_store
from playhead_collector.store.operator_key import KeySource
from playhead_collector.store.ports.forgetting import ForgettingRow, SelectedBy, Selector
from playhead_collector.store.ports.notes import NoteToAdd
from playhead_collector.store.ports.runs import RunFilter
from playhead_collector.store.ports.scorers import ScorerDefinition, ScorerSelection, ScoringCounts
from playhead_collector.store.ports.scores import ScoreToAdd
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.ports.tiers import Tier
from playhead_collector.store.postgres.erasing import BELIEVED_NS
from playhead_collector.store.postgres.scrubbing import scrub
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.read.recorded import Recorder
from tests.integration.store.making import Clock, P
from tests.support.database_sessions import wait_for_end_of_sessions
from tests.support.faulty_objects import FaultyObjects
from tests.support.stored_objects import files_in, texts_in_objects
from tests.support.stored_texts import stored_in

KEY = base64.b64encode(bytes(range(32))).decode()
SECRET, OTHERS = "jo.secret@example.com", "somebody-else"
RULES = RedactionRules(presets=("email",))
COLD = {"default": {"hot": "1d", "warm": "2d", "cold": "forever"}}
DAY_NS = 86_400 * 10**9
ONE, TWO = "0a" * 16, "0b" * 16
both_kinds_of_projects = pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "objects"


async def opened(dsn: str, clock: Clock, folder: Path) -> PostgresStore:
    objects = open_object_store(f"file://{folder}", 10)
    return await connect(dsn, pool_size=4, clock=clock, objects=objects, operator_key=KeySource(KEY).open())


@pytest.fixture
async def store(
    module_database_url: str, clock: Clock, sql: asyncpg.Connection, folder: Path
) -> AsyncIterator[PostgresStore]:
    store = await opened(module_database_url, clock, folder)
    yield store
    await store.close()


@pytest.fixture
async def fresh(
    module_database_url: str, clock: Clock, sql: asyncpg.Connection, folder: Path
) -> AsyncIterator[PostgresStore]:
    """Another collector, which has read nothing yet."""
    store = await opened(module_database_url, clock, folder)
    yield store
    await store.close()


async def project_of(store: PostgresStore, encrypted: bool) -> int:
    created = await store.projects.create(f"made {uuid4()}", encrypted=encrypted)
    assert created is not None
    return created.number


def recorded(run: str, who: str, clock: Clock, *, user: str | None = None) -> Recorder:
    recorder = Recorder(run, name=f"help {who}", session=f"of {who}", start_ns=clock())
    recorder.root.attributes |= {names.USER: user or who, names.RUN_TAGS: [f"for {who}"], names.AGENT_NAME: "support"}
    messages = [text_message("system", "You are of help."), text_message("user", f"I am {who}")]
    recorder.model(messages, text_message("assistant", f"Hello {who}"))
    noise = random.Random(run).randbytes(90_000).hex()  # 90 kB when it is compressed
    recorder.tool("mail", {"to": who}, f"sent to {who}: {noise}")
    for number in range(600):  # so that there are snapshots of states
        recorder.change(f"customer {number}", who)
    recorder.say(names.CHECKPOINT, **{names.CHECKPOINT_NAME: f"at {who}", names.STATE_REF: recorder.keep({"a": who})})
    return recorder


async def settle(store: PostgresStore, project: int, clock: Clock) -> None:
    """Until runs are sealed and packed."""
    runner = ProjectionRunner(store.projections, clock=clock, seal_after_s=1)
    await runner.catch_up(project)
    for _ in range(5):
        await runner.run_once()
        clock.now_ns += 10**10
    packer = Packer(store.projections, clock=clock, rest=lambda: 0)
    while await store.projections.runs_to_pack(1):
        await packer.run_once()
        clock.now_ns += 10**9


async def move(store: PostgresStore, *, grace_s: float = 86_400) -> None:
    times = iter(range(0, 10**9, 10_000))
    mover = ObjectMover(
        store.moves, store.objects, least_bytes=65_536, grace_s=grace_s, wait_s=0, clock=lambda: float(next(times))
    )
    for _ in range(12):
        await mover.run_once()


async def chill(store: PostgresStore, project: int, clock: Clock, policy: object = COLD) -> None:
    """Runs of before become cold; packs, large contents and records go to the object store."""
    await store.tiers.set_policy(project, json.dumps(policy))
    clock.days_pass(3)
    await Retainer(store.tiers, wall_ns=clock, objects=store.moves).run_once()
    await store.moves.move_packs(project, await store.tiers.packs_to_warm(project, -1, 100))  # also those that repeat
    await move(store)


async def made_cold(store: PostgresStore, project: int, clock: Clock, runs: Sequence[Recorder]) -> None:
    for recorder in runs:
        await store.spans.ingest(project, recorder.batch())
    await settle(store, project, clock)
    await chill(store, project, clock)
    for recorder in runs:
        row = await store.runs.get(project, recorder.run)
        assert row is not None
        assert row.tier == Tier.COLD


async def where_bodies_are(sql: asyncpg.Connection) -> dict[str, tuple[int, int]]:
    """Rows with a body, and rows whose body is in the object store alone."""
    found: dict[str, tuple[int, int]] = {}
    for table in ("content", "content_pack", "packed_run"):
        row = await sql.fetchrow(f"select count(body), count(*) - count(body) from {table}")
        assert row is not None
        found[table] = tuple(row)
    return found


async def everything(store: PostgresStore, project: int, run: str) -> dict[str, Any]:
    events = await store.events.read(project, run)
    spans = await store.spans.read(project, run)
    refs = {ContentRef.parse(text) for text in _refs_in(repr(spans))}
    contents = {}
    for ref in sorted(refs):
        try:
            contents[ref] = (await store.contents.get(project, ref)).data
        except Exception as error:  # noqa: BLE001 - what is answered is compared
            contents[ref] = type(error).__name__
    return {
        "spans": spans,
        "logs": await store.spans.logs(project, run),
        "events": events,
        "state": await store.events.snapshot(project, run, events[-1].seq),
        "row": await store.runs.get(project, run),
        "contents": contents,
    }


def _refs_in(text: str) -> set[str]:
    return set(re.findall("sha256:[0-9a-f]{64}", text))


# --- redaction --------------------------------------------------------------------------------------------------------


@both_kinds_of_projects
async def test_a_redaction_job_masks_what_is_cold_and_in_the_object_store(
    store: PostgresStore, fresh: PostgresStore, sql: asyncpg.Connection, clock: Clock, folder: Path,
    module_database_url: str, encrypted: bool,
):  # fmt: skip
    project = await project_of(store, encrypted)
    await made_cold(store, project, clock, [recorded(ONE, SECRET, clock), recorded(TWO, OTHERS, clock)])
    await store.scores.add(project, ONE, ScoreToAdd("s", "polite", "rude", None, None, SECRET, None, SECRET, None))
    await store.notes.add(project, ONE, NoteToAdd("n", f"ask {SECRET}", SECRET, author=SECRET))
    await store.promises.open(project, "d" * 32, "input", ONE, {"key": "k", "action": f"ask {SECRET}"}, None)
    assert all(moved > 0 for _, moved in (await where_bodies_are(sql)).values())
    clean, before = await everything(store, project, TWO), await everything(store, project, ONE)
    assert SECRET in repr(before["events"])
    assert SECRET in repr(before["contents"])

    await store.redaction.start(project, RULES)
    counts = None
    while (job := await store.redaction.step(project, Masker(RULES, "made"))) is not None:
        counts = job.counts
    assert counts is not None
    assert counts["contents"][1] > 0
    assert counts["packed_contents"][1] > 0
    assert counts["runs"] == (2, 1)
    assert counts["scores"] == counts["notes"] == counts["promises"] == (1, 1)
    assert await everything(fresh, project, TWO) == clean
    now = await everything(fresh, project, ONE)
    assert SECRET not in repr(now)
    assert "[masked:email]" in repr(now["events"])
    assert "[masked:email]" in repr(now["contents"])
    assert [event.seq for event in now["events"]] == [event.seq for event in before["events"]]
    assert (now["row"].tier, now["row"].user) == (Tier.COLD, "[masked:email]")
    assert len(await fresh.runs.page(project, RunFilter(user="[masked:email]"), limit=5)) == 1
    await move(store)  # what was masked goes to the object store again, and what was there is gone
    assert await everything(fresh, project, ONE) == now
    if encrypted:
        stored = await sql.fetch("select * from content") + await sql.fetch("select * from run")
        assert SECRET not in repr(stored)
        assert "masked:email" not in repr(stored)
    else:
        found = await stored_in(module_database_url)
        assert [name for name, data in found.items() if SECRET.encode() in data] == []
        assert not any(SECRET.encode() in data for data in await texts_in_objects(sql, folder))
    assert await sql.fetchval("select count(*) from content where size is null") == 0
    # A span that comes late brings the record back into rows: the masked one.
    late = Recorder(ONE, start_ns=clock()).begin("step", "late")
    late.end_ns, late.span_id, late.parent_id = clock() + 1, "f" * 16, before["spans"][0].span_id
    await store.spans.ingest(project, Batch([late]))
    await settle(store, project, clock)
    assert await sql.fetchval("select count(*) from packed_run") == 1  # that of the other run
    again = await everything(fresh, project, ONE)
    assert SECRET not in repr(again)
    assert [span.span_id for span in again["spans"]] == [*(span.span_id for span in before["spans"]), late.span_id]


async def test_a_redaction_job_says_what_it_waits_for_while_the_object_store_fails(
    store: PostgresStore, module_database_url: str, clock: Clock, sql: asyncpg.Connection, folder: Path
):
    project = await project_of(store, encrypted=False)
    await made_cold(store, project, clock, [recorded(ONE, SECRET, clock)])
    await store.redaction.start(project, RULES)
    for fault, said in (("is_down", "is down"), ("garble", "other bytes")):
        objects = FaultyObjects(open_object_store(f"file://{folder}", 10))
        if fault == "garble":
            objects.garble = lambda data: data[::-1]
        else:
            objects.is_down = True
        failing = await connect(module_database_url, pool_size=2, clock=clock, objects=objects)
        await make_steps(failing)
        await failing.close()
        job = await store.redaction.job(project)
        assert job is not None
        assert (job.phase, job.ended_ns) == ("contents", None)
        assert said in (job.failed or "")
    await make_steps(store)
    job = await store.redaction.job(project)
    assert job is not None
    assert (job.phase, job.failed) == ("done", None)
    assert SECRET not in repr(await everything(store, project, ONE))


async def make_steps(store: PostgresStore) -> None:
    async def masker(_: int) -> Masker:
        return Masker(RULES, "made")

    redactor = Redactor(store.redaction, masker, settled_s=0)
    for _ in range(12):
        await redactor.run_once()


# --- forgetting -------------------------------------------------------------------------------------------------------


async def forget(store: PostgresStore, project: int, by: SelectedBy, value: str, clock: Clock) -> ForgettingRow:
    job = uuid4()
    selector = Selector(by, value)
    await store.forgetting.begin(project, job, selector, forks=False, requested_by="ops", hold_ns=BELIEVED_NS)
    for _ in range(2):
        while await store.forgetting.step(project, job):
            pass
        while project in await store.forgetting.erasing_due():
            while (await store.garbage.sweep_step(project, DAY_NS)).phase is not None:
                pass
        clock.days_pass(1.1)
    await store.forgetting.step(project, job)
    [made] = await store.forgetting.jobs(project, job, 1)
    return made


@both_kinds_of_projects
@pytest.mark.parametrize("by", ["user", "session", "run"])
async def test_a_cold_run_is_forgotten_with_what_it_has_in_the_object_store(
    store: PostgresStore, fresh: PostgresStore, sql: asyncpg.Connection, clock: Clock, folder: Path, encrypted: bool,
    by: SelectedBy,
):  # fmt: skip
    project = await project_of(store, encrypted)
    await made_cold(store, project, clock, [recorded(ONE, SECRET, clock), recorded(TWO, OTHERS, clock)])
    await store.tiers.pin(project, ONE, f"about {SECRET}", None)
    kept = await everything(store, project, TWO)
    objects_before = files_in(folder)
    value = {"user": SECRET, "session": f"of {SECRET}", "run": ONE}[by]
    done = await forget(store, project, by, value, clock)
    assert (done.phase, done.runs, done.report["runs"]) == ("done", 1, [ONE])
    assert done.contents > 5
    assert await store.runs.get(project, ONE) is None
    assert await everything(fresh, project, TWO) == kept
    for table in ("pin", "packed_run", "scoring_due", "score", "content_use", "run_outcome"):
        rows = await sql.fetch(f"select * from {table} where project_id = $1", project)
        assert ONE not in repr([row["run_id"].hex for row in rows]), table
    await move(store)  # its grace of a day is not for what was forgotten
    objects_after = files_in(folder)
    assert objects_after
    assert await sql.fetchval("select count(*) from stored_object where state = 3") == 0
    named = await sql.fetchval("select sum(object_length) from object_part")
    assert sum(path.stat().st_size for path in objects_after) == named, objects_before
    if not encrypted:
        assert not any(SECRET.encode() in data for data in await texts_in_objects(sql, folder))
    assert await everything(fresh, project, TWO) == kept


@both_kinds_of_projects
async def test_what_is_asked_to_be_forgotten_is_not_written_in_plain_text(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock, encrypted: bool
):
    project = await project_of(store, encrypted)
    await store.spans.ingest(project, recorded(ONE, SECRET, clock).batch())
    await settle(store, project, clock)
    job = uuid4()
    await store.forgetting.begin(
        project, job, Selector("user", SECRET), forks=False, requested_by="ops", hold_ns=BELIEVED_NS
    )
    await store.forgetting.step(project, job)  # forgets the run
    row = await sql.fetchrow("select selector, sessions from forgetting")
    assert row is not None
    assert row["sessions"]
    assert (SECRET in repr(row["selector"]), SECRET in repr(row["sessions"])) == (not encrypted, not encrypted)
    while await store.forgetting.step(project, job):
        pass
    [made] = await store.forgetting.jobs(project, job, 1)
    assert (made.phase, made.runs) == ("contents", 1)


@both_kinds_of_projects
async def test_a_user_that_only_a_span_of_a_cold_run_names_is_found(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock, encrypted: bool
):
    project = await project_of(store, encrypted)
    recorder = recorded(ONE, "shop", clock)
    recorder.spans[1].attributes[names.USER] = SECRET
    await made_cold(store, project, clock, [recorder])
    assert await sql.fetchval("select count(*) from packed_run where body is null") == 1
    done = await forget(store, project, "user", SECRET, clock)
    assert done.report["runs"] == done.report["of_several_users"] == [ONE]


async def test_contents_that_a_cold_run_does_not_keep_are_erased_with_it(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock
):
    """They wait for a sweep, which may take a day."""
    project = await project_of(store, encrypted=False)
    await store.spans.ingest(project, recorded(ONE, SECRET, clock).batch())
    await settle(store, project, clock)
    await chill(store, project, clock, {"default": {"hot": "1d", "cold": "forever", "contents": False}})
    assert await sql.fetchval("select sum(cardinality(keys)) from content_pack") > 5
    await forget(store, project, "run", ONE, clock)
    assert await sql.fetchval("select count(*) from content_pack") == 0
    assert await sql.fetchval("select count(*) from content") == 0


async def test_runs_in_which_a_judge_saw_a_forgotten_run_go_with_it(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock
):
    project = await project_of(store, encrypted=False)
    judge = recorded(TWO, f"what {SECRET} said", clock)
    judge.root.attributes |= {names.LINKED_RUNS: [ONE], names.AGENT_NAME: "playhead.judge", names.USER: "ops"}
    linking = recorded("0c" * 16, "somebody who looks at it", clock)
    linking.root.attributes |= {names.LINKED_RUNS: [ONE]}
    for recorder in (recorded(ONE, SECRET, clock), judge, linking):
        await store.spans.ingest(project, recorder.batch())
    await settle(store, project, clock)
    done = await forget(store, project, "run", ONE, clock)
    assert sorted(done.report["runs"]) == [ONE, TWO]
    assert [row.run for row in await store.runs.page(project, RunFilter(), limit=9)] == ["0c" * 16]


async def test_a_judge_that_answers_when_the_run_is_forgotten_leaves_nothing(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock
):
    project = await project_of(store, encrypted=False)
    await store.spans.ingest(project, recorded(ONE, SECRET, clock).batch())
    await settle(store, project, clock)
    before = recorded(TWO, f"what {SECRET} said", clock)
    before.root.attributes |= {names.LINKED_RUNS: [ONE], names.AGENT_NAME: "playhead.judge", names.USER: "ops"}
    await store.spans.ingest(project, replace(before.batch(), about=ONE))  # and is not projected yet
    job, clock.now_ns = uuid4(), clock.now_ns + 1
    await store.forgetting.begin(
        project, job, Selector("run", ONE), forks=False, requested_by="ops", hold_ns=BELIEVED_NS
    )
    while await store.forgetting.step(project, job):
        pass
    [made] = await store.forgetting.jobs(project, job, 1)
    assert (made.phase, made.runs) == ("runs", 1)
    runner = ProjectionRunner(store.projections, clock=clock, seal_after_s=1)
    await runner.run_once()
    while await store.forgetting.step(project, job):
        pass
    [made] = await store.forgetting.jobs(project, job, 1)
    assert sorted(made.report["runs"]) == [ONE, TWO]
    after = recorded("0c" * 16, f"what {SECRET} said once more", clock)
    done = await store.spans.ingest(project, replace(after.batch(), about=ONE))
    assert done.new_contents == 0
    for table in ("run", "span_page", "run_news"):
        assert await sql.fetchval(f"select count(*) from {table} where project_id = $1", project) == 0


# --- scorers ----------------------------------------------------------------------------------------------------------


@both_kinds_of_projects
async def test_scorers_find_runs_by_user_and_tag_and_keep_no_text_in_an_encrypted_project(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock, encrypted: bool
):
    project = await project_of(store, encrypted)
    where = {"user": SECRET, "tag": f"for {SECRET}"}
    scorer = await store.scorers.set(
        project, "polite", ScorerDefinition(kind="rule", score="polite"), ScorerSelection(where=where),
        RunFilter(user=SECRET, tag=f"for {SECRET}"), enabled=True, now_ns=clock(),
    )  # fmt: skip
    assert scorer.selection.where == where
    for recorder in (recorded(ONE, SECRET, clock), recorded(TWO, OTHERS, clock)):
        await store.spans.ingest(project, recorder.batch())
    await settle(store, project, clock)
    await store.scorers.note_arrived(10, clock())
    [due] = await store.scorers.take(project, 10, clock(), clock() + 10**9)
    assert due.run == ONE
    await store.scorers.fail(due, f"no answer about {SECRET}", ScoringCounts(), clock(), None)
    status = await store.scorers.status(scorer, clock(), 5)
    assert status.failures == [(ONE, f"no answer about {SECRET}")]
    [listed] = await store.scorers.of_project(project)
    assert listed.selection.where == where
    assert listed in await store.scorers.in_use()
    stored = repr(await sql.fetch("select * from scorer")) + repr(await sql.fetch("select * from scoring_due"))
    assert (SECRET in stored) is not encrypted


# --- the whole database -----------------------------------------------------------------------------------------------


async def test_scrubbing_keeps_the_dictionaries_of_what_is_in_the_object_store(
    module_database_url: str, sql: asyncpg.Connection, clock: Clock, folder: Path
):
    store = await opened(module_database_url, clock, folder)
    await store.contents.put(P, [content_of({"text": f"phrases that are learned {n}", "n": n}) for n in range(1_100)])
    noise = random.Random(1).randbytes(90_000).hex()
    large, small = content_of({"text": f"phrases that are learned {noise}"}), content_of("phrases that are learned 7")
    await store.contents.put(P, [large, small])
    await move(store)
    await store.close()
    row = await sql.fetchrow("select encoding, body from content where ref = $1", large.ref.digest)
    assert row is not None
    assert (row["encoding"] > 0, row["body"]) == (True, None)
    await sql.execute("insert into content_tombstone values ($1, current_date, 'x')", P)
    await wait_for_end_of_sessions(sql)
    await scrub(sql)
    assert await sql.fetchval("select count(*) from content where encoding > 0") == 1
    store = await opened(module_database_url, clock, folder)
    try:
        assert (await store.contents.get(P, large.ref)).data == large.data
        assert (await store.contents.get(P, small.ref)).data == small.data
    finally:
        await store.close()


@both_kinds_of_projects
async def test_a_project_is_deleted_with_all_rows_and_objects(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock, folder: Path, encrypted: bool
):
    project = await project_of(store, encrypted)
    await made_cold(store, project, clock, [recorded(ONE, SECRET, clock), recorded(TWO, OTHERS, clock)])
    await store.tiers.pin(project, TWO, None, None)
    await store.redaction.start(project, RULES)
    await store.scorers.set(
        project, "all", ScorerDefinition(kind="rule", score="all"), ScorerSelection(), RunFilter(), enabled=True,
        now_ns=clock(),
    )  # fmt: skip
    await forget(store, project, "run", ONE, clock)
    tables = [
        row["table_name"]
        for row in await sql.fetch(
            "select table_name from information_schema.columns join information_schema.tables using (table_name)"
            " where column_name = 'project_id' and table_type = 'BASE TABLE'"
        )
    ]
    counts = {
        table: await sql.fetchval(f"select count(*) from {table} where project_id = $1", project) for table in tables
    }
    has_rows = {table for table, count in counts.items() if count}
    assert has_rows > {"pin", "removal", "forgetting", "content_tombstone", "scorer", "redaction_job", "packed_run"}
    await store.projects.delete(project)
    await sql.execute("update project set deleted_at = now() - interval '1 hour' where project_id = $1", project)
    while await store.projects.remove_deleted(10_000):
        pass
    for table in tables:
        assert await sql.fetchval(f"select count(*) from {table} where project_id = $1", project) == 0, table
    await move(store, grace_s=0)
    assert await sql.fetchval("select count(*) from stored_object where of_project = $1", project) == 0
    assert files_in(folder) == []

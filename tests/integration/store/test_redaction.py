"""Rules that are run over what is stored: rows, packs, pages, states, and all that people wrote."""

import json
from typing import Any

import asyncpg
import pytest

from playhead.model import names
from playhead.model.canonical import Content, content_of, parse_json
from playhead.model.message import read_message, text_message
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span, SpanEvent
from playhead_collector.errors import ContentCorrupt, StoreCollision
from playhead_collector.projection import ProjectionRunner
from playhead_collector.redaction.masking import Masker
from playhead_collector.redaction.rules import RedactionRules
from playhead_collector.retain.packer import Packer
from playhead_collector.retain.redactor import Redactor
from playhead_collector.retain.sweeper import Sweeper
from playhead_collector.store.ports.conversations import ConversationSave
from playhead_collector.store.ports.notes import NoteToAdd
from playhead_collector.store.ports.scores import ScoreToAdd
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.read.recorded import Recorder
from tests.integration.store.making import Clock
from tests.support.stored_texts import stored_in

P, OTHER = 1, 2
SECRET, PASSWORD = "jo.secret@example.com", "hunter2-zebra"
RULES = RedactionRules(keys=("password",), presets=("email",))
SEALED, OPEN, CLEAN = "0a" * 16, "0b" * 16, "0c" * 16


def masker(rules: RedactionRules = RULES) -> Masker:
    return Masker(rules, "default")


def recorded(run: str, secret: str) -> Recorder:
    word = "password" if secret == SECRET else "colour"
    recorder = Recorder(run, name=f"help {secret}", session=f"of {secret}", start_ns=Clock()())
    recorder.root.attributes |= {
        names.USER: secret,
        names.RUN_TAGS: [f"for {secret}"],
        word: PASSWORD if secret == SECRET else "blue",
    }
    recorder.root.events = [SpanEvent("exception", recorder.now_ns, {"exception.message": f"no {secret}"})]
    messages = [text_message("system", "You are of help."), text_message("user", f"I am {secret}")]
    recorder.model(messages, text_message("assistant", f"Hello {secret}"))
    recorder.tool("mail", {"to": secret, word: PASSWORD if secret == SECRET else "blue"}, f"sent to {secret}")
    for number in range(600):  # more than a page, so that there are snapshots of states
        recorder.change(f"customer {number}", secret)
    recorder.say(
        names.CHECKPOINT, **{names.CHECKPOINT_NAME: f"at {secret}", names.STATE_REF: recorder.keep({"a": secret})}
    )
    return recorder


async def fill(store: PostgresStore, clock: Clock, *, pack: bool) -> dict[str, Any]:
    """A sealed run (packed if wanted), one that goes on, one without secrets; and what people wrote. Returns the
    answers of the clean run."""
    for run, secret in ((SEALED, SECRET), (CLEAN, "nobody")):
        await store.spans.ingest(P, recorded(run, secret).batch())
    going_on = recorded(OPEN, SECRET)
    await store.spans.ingest(P, going_on.batch(ended=False))
    runner = ProjectionRunner(store.projections, clock=clock, seal_after_s=30)
    await runner.catch_up(P)
    await runner.run_once()
    clock.now_ns += 60 * 10**9
    for _ in range(5):
        await runner.run_once()
        clock.now_ns += 10**9
    if pack:
        packer = Packer(store.projections, clock=clock)
        for _ in range(5):
            await packer.run_once()
            clock.now_ns += 10 * 10**9
        assert packer.counts["packed"] >= 2
    await store.scores.add(
        P, SEALED, ScoreToAdd("s1", "polite", "rude", None, None, SECRET, None, f"not to {SECRET}", None)
    )
    await store.notes.add(P, SEALED, NoteToAdd("n1", f"ask {SECRET}", SECRET, author=SECRET))
    await store.promises.open(P, "d" * 32, "input", SEALED, {"key": "k", "action": f"ask {SECRET}"}, None)
    await store.promises.answer(P, "d" * 32, {"outcome": "answered", "value": {"password": PASSWORD}}, late=False)
    records = [json.dumps({"said": SECRET}), json.dumps({"said": "fine", "of": str(content_of("x").ref)})]
    await store.contents.put(P, [content_of("x")])
    await store.conversations.save(P, ConversationSave("c", "", 0, None, records=records))
    return await answers(store, CLEAN)


async def answers(store: PostgresStore, run: str) -> dict[str, Any]:
    events = await store.events.read(P, run)
    return {
        "spans": await store.spans.read(P, run),
        "logs": await store.spans.logs(P, run),
        "events": events,
        "state": await store.events.snapshot(P, run, events[-1].seq),
        "row": await store.runs.get(P, run),
    }


async def run_job(store: PostgresStore, rules: RedactionRules = RULES) -> dict[str, tuple[int, int]]:
    await store.redaction.start(P, rules)
    while (job := await store.redaction.step(P, masker(rules))) is not None:
        if job.ended_ns is not None:
            return dict(job.counts)
    raise AssertionError("the job has no end")


async def secrets_in(dsn: str) -> list[tuple[str, str]]:
    stored = await stored_in(dsn)
    return [
        (name, secret) for name, data in stored.items() for secret in (SECRET, PASSWORD)
        if secret.encode() in data and not name.startswith("redaction_job")
    ]  # fmt: skip


@pytest.mark.parametrize("pack", [False, True])
async def test_nothing_that_is_stored_has_a_secret_afterwards(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock, module_database_url: str, pack: bool
):
    clean = await fill(store, clock, pack=pack)
    before = {run: await answers(store, run) for run in (SEALED, OPEN)}
    assert len(await secrets_in(module_database_url)) > 8
    counts = await run_job(store)
    assert await secrets_in(module_database_url) == []
    assert counts["packed_contents" if pack else "contents"][1] >= 5
    assert counts["runs"] == (3, 2)
    assert counts["scores"] == counts["notes"] == (1, 1)
    assert counts["promises"] == (1, 1)
    assert counts["records"] == (2, 1)
    assert await answers(store, CLEAN) == clean
    for run, was in before.items():
        now = await answers(store, run)
        assert [(e.seq, e.id, type(e)) for e in now["events"]] == [(e.seq, e.id, type(e)) for e in was["events"]]
        assert [span.span_id for span in now["spans"]] == [span.span_id for span in was["spans"]]
        assert now["row"].user == "[masked:email]"
        assert now["row"].session == "of [masked:email]"
        assert now["row"].sealed == was["row"].sealed
        assert now["row"].status == was["row"].status
        assert now["state"] is not None
        assert now["state"].history == was["state"].history


@pytest.mark.parametrize("pack", [False, True])
async def test_refs_and_threads_name_what_they_named_and_masked_contents_are_verified(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock, pack: bool
):
    await fill(store, clock, pack=pack)
    [call] = [span for span in await store.spans.read(P, SEALED) if span.attributes.get(names.KIND) == "llm"]
    thread = ContentRef.parse(call.attributes[names.INPUT_MESSAGES_REF])
    nodes = await store.contents.thread(P, thread)
    await run_job(store)
    assert list(await store.contents.thread(P, thread)) == list(nodes)
    said = await store.contents.get(P, nodes[1].message)
    assert said.is_masked
    assert said.ref == nodes[1].message
    assert read_message(said.data) == text_message("user", "I am [masked:email]")
    first = await store.contents.get(P, nodes[0].message)
    assert not first.is_masked
    await sql.execute("update content set masked = sha256('other') where ref = $1", nodes[1].message.digest)
    with pytest.raises(ContentCorrupt):
        await store.contents.get(P, nodes[1].message)


async def test_the_job_changes_nothing_when_it_is_run_again_and_packs_nothing_that_is_masked(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock, module_database_url: str
):
    await fill(store, clock, pack=True)
    await run_job(store)
    packer = Packer(store.projections, clock=clock)
    for _ in range(5):
        await packer.run_once()
        clock.now_ns += 10 * 10**9
    assert await sql.fetchval("select count(*) from content where masked is not null") >= 5
    counts = await run_job(store)
    assert {kind: changed for kind, (_, changed) in counts.items() if changed} == {}
    assert await secrets_in(module_database_url) == []


async def test_who_had_a_content_is_known_when_it_has_left_its_pack(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock
):
    await fill(store, clock, pack=True)
    ref = content_of(text_message("user", f"I am {SECRET}")).ref
    before = await store.uses.totals(P, ref)
    assert before.runs == 1 or before.recent
    await run_job(store)
    packer = Packer(store.projections, clock=clock)
    for _ in range(5):
        await packer.run_once()
        clock.now_ns += 10 * 10**9
    after = await store.uses.totals(P, ref)
    assert (after.runs, after.calls) == (before.runs, before.calls)


async def test_the_run_that_goes_on_is_projected_from_what_is_masked(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock, module_database_url: str
):
    await fill(store, clock, pack=False)
    runner = ProjectionRunner(store.projections, clock=clock, seal_after_s=30)
    await store.spans.ingest(P, Batch([], [LogEvent("more", clock(), OPEN, None, {names.RUN_ID: OPEN})]))
    await runner.catch_up(P)  # it keeps the run in memory now
    await run_job(store)
    masked = Span(OPEN, "f" * 16, None, "late", clock(), clock() + 5, {names.RUN_ID: OPEN, names.KIND: "step"})
    await store.spans.ingest(P, Batch([masked]))
    await runner.catch_up(P)
    assert await secrets_in(module_database_url) == []
    assert any(getattr(event, "span", None) == "f" * 16 for event in await store.events.read(P, OPEN))


async def test_a_job_goes_on_where_another_collector_has_died(
    store: PostgresStore, other_store: PostgresStore, sql: asyncpg.Connection, clock: Clock, module_database_url: str,
    monkeypatch: pytest.MonkeyPatch,
):  # fmt: skip
    await fill(store, clock, pack=True)
    await store.redaction.start(P, RULES)
    steps = 0
    while True:
        # Each step is made, and rolled back as by a collector that is killed before it has committed; then another one
        # makes it.
        with monkeypatch.context() as patched:
            patched.setattr("orjson.dumps", killed)
            with pytest.raises(Killed):
                await store.redaction.step(P, masker())
        job = await other_store.redaction.step(P, masker())
        steps += 1
        assert job is not None
        if job.ended_ns is not None:
            break
    assert steps > 8
    assert await secrets_in(module_database_url) == []
    assert await store.redaction.step(P, masker()) is None


class Killed(BaseException):
    pass


def killed(*_: object, **__: object) -> bytes:
    raise Killed


async def test_only_one_collector_makes_a_step_and_a_sweep_is_waited_for(
    store: PostgresStore, other_store: PostgresStore, sql: asyncpg.Connection, clock: Clock
):
    await fill(store, clock, pack=True)
    await store.redaction.start(P, RULES)
    async with sql.transaction():
        await sql.execute("select * from redaction_job for update")
        assert await other_store.redaction.step(P, masker()) is None
    while (job := await store.redaction.step(P, masker())) is not None and job.phase != "packs":
        pass
    assert (await store.garbage.sweep_step(P, 10**9)).phase == "runs"
    redactor = Redactor(store.redaction, masker_of, settled_s=0)
    with pytest.raises(StoreCollision):
        await store.redaction.step(P, masker())
    await redactor.run_once()
    job = await store.redaction.job(P)
    assert job is not None
    assert "sweep" in (job.failed or "")
    sweeper = Sweeper(store.garbage, grace_s=1, tombstone_s=1)
    while (await sweeper.sweep_now(P)).phase is not None:
        pass
    while (job := await store.redaction.job(P)) is not None and job.ended_ns is None:
        await redactor.run_once()
    assert job is not None
    assert job.failed is None


async def masker_of(project_id: int) -> Masker | None:
    return masker() if project_id == P else None


async def test_a_job_begins_when_the_rules_hold_everywhere_and_ends_with_them(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock
):
    redactor = Redactor(store.redaction, masker_of, settled_s=15)
    await store.redaction.start(P, RULES)
    await store.redaction.start(OTHER, RULES)
    await redactor.run_once()
    assert (await job_of(store, P)).updated_ns == (await job_of(store, P)).started_ns
    clock.now_ns += 16 * 10**9
    await redactor.run_once()
    assert (await job_of(store, P)).updated_ns > (await job_of(store, P)).started_ns
    assert (await job_of(store, OTHER)).ended_ns is not None  # its project has no rules any more
    assert (await store.redaction.stop(P)) is not None
    assert await store.redaction.stop(P) is None


async def job_of(store: PostgresStore, project_id: int) -> Any:
    job = await store.redaction.job(project_id)
    assert job is not None
    return job


async def test_what_another_project_has_stays_as_it_is(store: PostgresStore, sql: asyncpg.Connection, clock: Clock):
    content = content_of(f"to {SECRET}")
    await store.contents.put(P, [content])
    await store.contents.put(OTHER, [content])
    await run_job(store)
    assert (await store.contents.get(P, content.ref)).is_masked
    assert await store.contents.get(OTHER, content.ref) == content


async def test_masked_contents_are_replaced_by_whole_ones_and_not_by_what_nobody_can_prove(
    store: PostgresStore, sql: asyncpg.Connection
):
    whole = content_of({"mail": SECRET})
    left = Content.masked(whole.ref, b'{"mail":"[masked:email]"}', whole.media_type)
    forged = Content.masked(whole.ref, b'{"mail":"evil"}', whole.media_type)
    await store.contents.put(P, [forged], unproven={whole.ref.digest})
    assert (await store.contents.get(P, whole.ref)).data == forged.data
    assert await store.contents.missing(P, [whole.ref]) == [whole.ref]  # so that whoever has it sends it
    await store.contents.put(P, [left])
    assert await store.contents.missing(P, [whole.ref]) == []
    assert (await store.contents.get(P, whole.ref)).data == left.data
    await store.contents.put(P, [forged], unproven={whole.ref.digest})
    assert (await store.contents.get(P, whole.ref)).data == left.data
    await store.contents.put(P, [whole])
    assert await store.contents.get(P, whole.ref) == whole
    await store.contents.put(P, [forged], unproven={whole.ref.digest})
    assert await store.contents.get(P, whole.ref) == whole
    assert parse_json(whole.data) == {"mail": SECRET}


async def test_why_a_run_is_pinned_and_why_scorers_failed_is_masked_too(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock, module_database_url: str
):
    await fill(store, clock, pack=False)
    await store.tiers.pin(P, SEALED, f"{SECRET} asked for it", None)
    await store.tiers.pin(P, CLEAN, "a good one", None)
    for number, run, error in ((1, SEALED, f"no {SECRET}"), (2, SEALED, None), (1, CLEAN, "no luck")):
        await sql.execute(
            "insert into scoring_due (scorer_id, due_ns, run_id, project_id, backfill, error) "
            "values ($1, 0, $2::text::uuid, $3, false, $4)", number, run, P, error,
        )  # fmt: skip
    await run_job(store)
    assert await secrets_in(module_database_url) == []
    reasons = await sql.fetch("select reason from pin order by run_id")
    assert [row[0] for row in reasons] == ["[masked:email] asked for it", "a good one"]
    errors = await sql.fetch("select error from scoring_due order by run_id, scorer_id")
    assert [row[0] for row in errors] == ["no [masked:email]", None, "no luck"]

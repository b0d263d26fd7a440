"""Forgetting: what a selector finds goes with the contents that nobody else names; what is named now stays."""

import asyncio
from collections.abc import Iterable
from uuid import UUID, uuid4

import asyncpg
import pytest

from playhead.model import names
from playhead.model.canonical import Content, content_of
from playhead.model.ref import ContentRef
from playhead.model.span import Span
from playhead.model.thread import Thread
from playhead.projection.inputs import Projection
from playhead.wire.operations.conversations import HISTORY_ID_PREFIX
from playhead_collector.errors import ContentForgotten, ContentMissing
from playhead_collector.store.ports.conversations import ConversationSave
from playhead_collector.store.ports.forgetting import ForgettingRow, SelectedBy, Selector
from playhead_collector.store.ports.projections import UnpackedRun
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.erasing import BELIEVED_NS
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.store.making import RUN, START_NS, Clock, P, json, ref_of, row, run_number, span, thread, whole
from tests.integration.store.test_sweep import DAY_NS, in_rows_and_packed, stored, texts_of

OTHER, THIRD = run_number(1), run_number(2)
HOUR = 1 / 24


async def record(
    store: PostgresStore,
    run: str,
    contents: Iterable[Content],
    made: Thread | None = None,
    *,
    user: str | None = None,
    session: str | None = None,
    **columns: object,
) -> None:
    """A projected run of a user that names these contents, and a thread."""
    contents = list(contents)
    about = {names.USER: user} if user else {}
    named = [with_attributes(span(n, run=run, INPUT_REF=each.ref), about) for n, each in enumerate(contents, 1)]
    threads = []
    if made is not None:
        named.append(span(99, run=run, INPUT_MESSAGES_REF=ref_of(made)))
        threads = [whole(made)]
    await store.spans.ingest(P, Batch(spans=named, contents=contents, threads=threads))
    await projected(store, run, user=user, session=session, **columns)


def with_attributes(made: Span, attributes: dict[str, str]) -> Span:
    made.attributes = {**made.attributes, **attributes}
    return made


async def projected(store: PostgresStore, run: str, **columns: object) -> None:
    async with store.projections.locked_run(P, run) as work:
        assert work is not None
        work.result = Projection([], row(run=run, status="completed", ended_ns=START_NS, **columns), ())


async def forget(
    store: PostgresStore, by: SelectedBy, value: str, *, forks: bool = False, sweeping: bool = True
) -> ForgettingRow:
    job = uuid4()
    await store.forgetting.begin(P, job, Selector(by, value), forks=forks, requested_by="ops", hold_ns=BELIEVED_NS)
    return await go_on(store, job, sweeping=sweeping)


async def go_on(store: PostgresStore, job: UUID, *, sweeping: bool = True) -> ForgettingRow:
    while await store.forgetting.step(P, job):
        pass
    if sweeping and await store.forgetting.erasing_due():
        while (await store.garbage.sweep_step(P, DAY_NS)).phase is not None:
            pass
        await store.forgetting.step(P, job)
    [made] = await store.forgetting.jobs(P, job, 1)
    return made


@in_rows_and_packed
async def test_what_only_the_user_had_goes_at_once_and_what_others_have_stays(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock, packed: bool
):
    own, shared, inner = content_of("of u1 alone"), content_of("of both"), content_of("in another one")
    outer = json({"inner": inner.ref})
    one, two = thread("hello", "hi", "only u1"), thread("hello", "hi", "there")
    await store.contents.put(P, [inner])
    await record(store, RUN, [own, shared, outer, *texts_of("hello", "hi", "only u1")], one, user="u1")
    await record(store, OTHER, [shared, *texts_of("hello", "hi", "there")], two, user="u2")
    if packed:
        await store.projections.pack([UnpackedRun(P, run, 1) for run in (RUN, OTHER)])
        assert await sql.fetchval("select count(*) from content_pack") == 1
    clock.days_pass(1.1)
    epoch = await store.contents.epoch(P)
    done = await forget(store, "user", "u1")
    assert await store.contents.epoch(P) != epoch
    assert (done.phase, done.runs, done.held_until_ns) == ("done", 1, None)
    gone = [own.ref, outer.ref, inner.ref, texts_of("", "", "only u1")[2].ref]
    assert await stored(store, [*gone, shared.ref]) == {shared.ref}
    assert [node.ref for node in await store.contents.thread(P, ref_of(two))] == [node.ref for node in two.nodes]
    assert done.contents == len(gone) + 1  # and the last node of the thread
    assert done.of_others == done.candidates - done.contents == 5  # the shared one, two messages, two nodes
    assert shared.ref.digest.hex() in done.report["refs_of_others"]
    for ref in (*gone, ref_of(one)):
        with pytest.raises(ContentForgotten, match=r"was forgotten on 20\d\d-\d\d-\d\d"):
            await store.contents.get(P, ref)
    with pytest.raises(ContentForgotten):
        await store.contents.thread(P, ref_of(one))
    with pytest.raises(ContentMissing) as never:
        await store.contents.get(P, content_of("nobody's").ref)
    assert not isinstance(never.value, ContentForgotten)
    for table in ("gc_mark", "gc_news", "gc_doomed", "gc_sweep", "gc_erasing"):
        assert await sql.fetchval(f"select count(*) from {table}") == 0
    assert done.report["runs"] == [RUN]
    kept = await sql.fetchrow("select selector, sessions, report from forgetting")
    assert kept is not None
    assert (kept["selector"], kept["sessions"]) == (None, [])
    assert "u1" not in kept["report"]


async def test_a_tombstone_has_neither_the_ref_nor_its_plain_digest(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock
):
    own = content_of("yes")
    await record(store, RUN, [own], user="u1")
    clock.days_pass(1.1)
    await forget(store, "user", "u1")
    digests = [each["digest"] for each in await sql.fetch("select digest from content_tombstone")]
    assert len(digests) == 1
    assert digests[0] != own.ref.digest
    await sql.execute("update project set forget_secret = sha256('another') where project_id = 1")
    with pytest.raises(ContentMissing) as missing:
        await store.contents.get(P, own.ref)
    assert not isinstance(missing.value, ContentForgotten)


async def test_what_stays_because_of_others_is_in_no_report_any_more_once_it_is_gone(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock
):
    """A ref in a report tells whoever guesses a short text that it was there."""
    yes, kept = content_of("yes"), content_of("of a third one")
    await record(store, RUN, [yes, kept], user="u1")
    await record(store, OTHER, [yes], user="u2")
    await record(store, THIRD, [kept], user="u3")
    clock.days_pass(1.1)
    first = await forget(store, "user", "u1")
    assert set(first.report["refs_of_others"]) == {yes.ref.digest.hex(), kept.ref.digest.hex()}
    await forget(store, "user", "u2")
    [left] = await store.forgetting.jobs(P, first.job, 1)
    assert (left.of_others, left.report["refs_of_others"]) == (2, [kept.ref.digest.hex()])
    await store.garbage.delete_run(P, THIRD, forks=False)
    clock.days_pass(3)
    while (await store.garbage.sweep_step(P, DAY_NS)).phase is not None:
        pass
    assert kept.ref.digest.hex() not in str(await sql.fetch("select report from forgetting"))


@in_rows_and_packed
async def test_no_table_has_a_ref_of_what_was_erased(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock, packed: bool
):
    own, made = content_of("of u1 alone"), thread("only u1", "said so")
    refs = [own.ref, *(each.ref for each in texts_of("only u1", "said so")), *(node.ref for node in made.nodes)]
    await record(store, RUN, [own, *texts_of("only u1", "said so")], made, user="u1")
    if packed:
        await store.projections.pack([UnpackedRun(P, RUN, 1)])
        clock.days_pass(2)
        await store.contents.missing(P, refs)  # who asks whether it is stored lets it stay
        assert refs[0] in await refs_in_tables(sql, refs)
    clock.days_pass(1.1)
    assert (await forget(store, "user", "u1")).phase == "done"
    assert await stored(store, refs) == set()
    assert await refs_in_tables(sql, refs) == {}


async def refs_in_tables(sql: asyncpg.Connection, refs: Iterable[ContentRef]) -> dict[ContentRef, list[str]]:
    """Names of tables whose rows have these refs, whatever the column is."""
    tables = await sql.fetch("select tablename from pg_tables where schemaname = 'public'")
    found: dict[ContentRef, list[str]] = {}
    for table in (each["tablename"] for each in tables):
        rows = " ".join(each[0] for each in await sql.fetch(f'select row::text from "{table}" as row'))
        for ref in refs:
            if ref.digest.hex() in rows:
                found.setdefault(ref, []).append(table)
    return found


async def test_what_was_stored_within_the_hour_waits_for_what_senders_believe(store: PostgresStore, clock: Clock):
    """A sender has stored a content, and sends the span that names it after another's run with it was forgotten."""
    believed, unwanted = content_of("believed"), content_of("named by nobody else")
    await record(store, RUN, [believed, unwanted], user="u1")
    held = await forget(store, "user", "u1")
    assert (held.phase, held.runs, held.contents) == ("contents", 1, 0)
    assert held.held_until_ns is not None
    assert held.held_until_ns > clock() + 3_600 * 1_000_000_000
    clock.days_pass(HOUR * 0.9)  # it believes still that the content is stored
    await store.spans.ingest(P, Batch(spans=[span(7, run=OTHER, INPUT_REF=believed.ref)]))
    clock.days_pass(HOUR)
    done = await go_on(store, held.job)
    assert (done.phase, done.contents, done.of_others, done.candidates) == ("done", 1, 0, 2)
    assert await stored(store, [believed.ref, unwanted.ref]) == {believed.ref}


async def test_what_was_stored_again_and_is_not_named_yet_stays(store: PostgresStore, clock: Clock):
    """Its sender learned of the new epoch, sent it again, and has not sent the span yet when the sweep runs."""
    again, asked, parent = content_of("sent again"), content_of("asked for"), thread("a", "b")
    await record(store, RUN, [again, asked, *texts_of("a", "b")], parent, user="u1")
    held = await forget(store, "user", "u1")
    clock.days_pass(HOUR)
    await store.contents.put(P, [again])
    assert await store.contents.missing(P, [asked.ref, ref_of(parent)]) == []
    clock.days_pass(HOUR)
    assert (await go_on(store, held.job)).phase == "done"
    assert await stored(store, [again.ref, asked.ref]) == {again.ref, asked.ref}
    assert len(await store.contents.thread(P, ref_of(parent))) == 2
    assert len(await stored(store, [each.ref for each in texts_of("a", "b")])) == 2


async def test_a_sweep_under_way_does_not_count_for_what_is_forgotten_meanwhile(store: PostgresStore, clock: Clock):
    """Its marks are those of the run that is forgotten."""
    own = content_of("own")
    await record(store, RUN, [own], user="u1")
    clock.days_pass(1.1)
    while (step := await store.garbage.sweep_step(P, DAY_NS)).phase != "trace":
        assert step.phase is not None
    job = (await forget(store, "user", "u1", sweeping=False)).job
    while (await store.garbage.sweep_step(P, DAY_NS)).phase is not None:
        pass
    assert await stored(store, [own.ref]) == {own.ref}
    assert (await go_on(store, job)).contents == 1
    assert await stored(store, [own.ref]) == set()


async def test_late_spans_of_a_forgotten_run_are_dropped_with_their_contents(store: PostgresStore, clock: Clock):
    own, late = content_of("own"), content_of("late")
    await record(store, RUN, [own], user="u1")
    clock.days_pass(1.1)
    await forget(store, "user", "u1")
    said = thread("said by u1", "an answer to u1")
    texts = texts_of("said by u1", "an answer to u1")
    # An old journal is delivered: contents come first.
    await store.contents.put(P, [own, late, *texts], [whole(said)])
    spans = [span(3, run=RUN, INPUT_REF=own.ref), span(4, run=RUN, INPUT_REF=late.ref)]
    ingested = await store.spans.ingest(P, Batch(spans=[*spans, span(5, run=RUN, INPUT_MESSAGES_REF=ref_of(said))]))
    assert ingested.dropped == 3
    clock.days_pass(HOUR * 1.2)
    assert list(await store.forgetting.erasing_due()) == [P]
    while (await store.garbage.sweep_step(P, DAY_NS)).phase is not None:
        pass
    assert await stored(store, [own.ref, late.ref, ref_of(said), *(each.ref for each in texts)]) == set()
    await record(store, OTHER, [own], user="u1")  # a new run is new data
    assert await stored(store, [own.ref]) == {own.ref}


async def test_runs_of_several_users_go_and_are_listed_also_if_the_user_is_not_that_of_the_run(
    store: PostgresStore, clock: Clock
):
    first, second, third = content_of("1"), content_of("2"), content_of("3")
    await record(store, RUN, [first], user="u1")
    await record(store, OTHER, [second], user="u2")
    handed = with_attributes(span(9, run=OTHER), {names.USER: "u1"})
    await store.spans.ingest(P, Batch(spans=[handed]))
    await projected(store, OTHER, user="u2")
    await record(store, THIRD, [third], user="u2")
    clock.days_pass(1.1)
    done = await forget(store, "user", "u1")
    assert (done.runs, done.report["of_several_users"]) == (2, [OTHER])
    assert await stored(store, [first.ref, second.ref, third.ref]) == {third.ref}


async def test_forks_of_others_keep_a_run_unless_they_go_too(store: PostgresStore, clock: Clock):
    await record(store, RUN, [content_of("parent")], user="u1")
    await record(store, OTHER, [content_of("fork")], user="u2", fork_of=RUN)
    found = await store.forgetting.select(P, Selector("user", "u1"), 10)
    assert (found.runs, found.forks) == ([RUN], [OTHER])
    clock.days_pass(1.1)
    kept = await forget(store, "user", "u1")
    assert (kept.phase, kept.runs, kept.report["kept_for_forks"]) == ("done", 0, [RUN])
    done = await forget(store, "run", RUN, forks=True)
    assert (done.runs, done.contents, sorted(done.report["runs"])) == (2, 2, sorted([RUN, OTHER]))


async def test_conversations_of_a_session_a_user_and_a_scope(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock
):
    """Of a user: those of the scope with their name, and of sessions that are theirs alone."""
    heads: dict[str, Thread] = {}
    for name, scope in [("mine", "acme"), ("both", "acme"), ("notes", "u1"), ("chat", "acme/flow"), ("s", "x")]:
        heads[name] = thread(name, "reply")
        await store.contents.put(P, texts_of(name, "reply"), [whole(heads[name])])
        saved = await store.conversations.save(P, ConversationSave(name, scope, 0, ref_of(heads[name])))
        assert saved.saved
    persisted = thread("history")
    await store.contents.put(P, texts_of("history"), [whole(persisted)])
    history = ConversationSave(f"{HISTORY_ID_PREFIX}{persisted.ref}", "acme/flow", 0, ref_of(persisted))
    assert (await store.conversations.save(P, history)).saved
    kept = content_of("in a checkpoint")
    await store.contents.put(P, [kept])
    log = ConversationSave("langgraph-thread/mine", "acme", 0, None, records=[f'{{"at":"{kept.ref}"}}'])
    assert (await store.conversations.save(P, log)).saved
    await record(store, RUN, [content_of("1")], user="u1", session="mine")
    await record(store, run_number(5), [content_of("5")], user="u1", session="both")
    await record(store, run_number(6), [content_of("6")], session="mine")
    await record(store, run_number(7), [content_of("7")], session="both")
    await record(store, OTHER, [content_of("2")], user="u2", session="both")
    await record(store, THIRD, [content_of("3")], user="u3", session="chat")
    clock.days_pass(1.1)

    async def left() -> set[str]:
        return {each["conversation_id"] for each in await sql.fetch("select conversation_id from conversation")}

    done = await forget(store, "user", "u1")
    assert (done.runs, done.conversations) == (3, 3)
    assert await stored(store, [content_of("6").ref, content_of("7").ref]) == {content_of("7").ref}
    assert await left() == {"both", "chat", "s", history.id}
    assert await stored(store, [kept.ref, texts_of("mine")[0].ref, texts_of("notes")[0].ref]) == set()
    assert await sql.fetchval("select count(*) from conversation_record") == 0
    by_scope = await forget(store, "scope", "acme/flow")
    assert (by_scope.runs, by_scope.conversations) == (1, 2)
    assert await stored(store, [texts_of("history")[0].ref]) == set()
    by_session = await forget(store, "session", "s")
    assert (by_session.runs, by_session.conversations) == (0, 1)
    assert await left() == {"both"}
    assert len(await store.contents.thread(P, ref_of(heads["both"]))) == 2


async def test_a_run_that_is_projected_minutes_after_the_request_goes_with_its_session(
    store: PostgresStore, clock: Clock
):
    said = content_of("said in s1")
    await store.spans.ingest(P, Batch(spans=[span(1, INPUT_REF=said.ref)], contents=[said]))
    clock.days_pass(1 / 1_440)  # it arrived before the request
    job = uuid4()
    await store.forgetting.begin(P, job, Selector("session", "s1"), forks=False, requested_by="ops", hold_ns=0)
    clock.days_pass(0.5 * HOUR)
    assert (await go_on(store, job, sweeping=False)).phase == "runs"
    await projected(store, RUN, session="s1")
    done = await go_on(store, job)
    assert (done.phase, done.report["runs"]) == ("done", [RUN])
    assert await stored(store, [said.ref]) == set()


async def test_a_run_that_cannot_be_projected_keeps_a_request_waiting_for_an_hour(store: PostgresStore, clock: Clock):
    await store.spans.ingest(P, Batch(spans=[span(1)]))
    clock.days_pass(1 / 1_440)
    job = uuid4()
    await store.forgetting.begin(P, job, Selector("session", "s1"), forks=False, requested_by="ops", hold_ns=0)
    assert (await go_on(store, job)).phase == "runs"
    clock.days_pass(1.1 * HOUR)
    assert (await go_on(store, job)).phase == "done"


async def test_another_collector_goes_on_and_two_do_not_disturb_each_other(
    store: PostgresStore, other_store: PostgresStore, clock: Clock
):
    texts = [content_of(f"{n}") for n in range(12)]
    for n, text in enumerate(texts):
        await record(store, run_number(n + 1), [text], user="u1")
    clock.days_pass(1.1)
    job = uuid4()
    await store.forgetting.begin(P, job, Selector("user", "u1"), forks=False, requested_by=None, hold_ns=BELIEVED_NS)
    await store.forgetting.begin(P, job, Selector("user", "u1"), forks=False, requested_by=None, hold_ns=BELIEVED_NS)
    await store.forgetting.step(P, job)

    async def drive(each: PostgresStore) -> None:
        while (await each.forgetting.jobs(P, job, 1))[0].phase != "contents":
            await each.forgetting.step(P, job)

    await asyncio.gather(drive(store), drive(other_store))
    done = await go_on(other_store, job)
    assert (done.phase, done.runs, done.contents) == ("done", 12, 12)
    assert await stored(store, [each.ref for each in texts]) == set()
    assert list(await store.forgetting.open_jobs()) == []

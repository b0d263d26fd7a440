"""Content that no run names any more goes after a grace period, and nothing else does, whatever is stored meanwhile."""

import asyncio
import random
from collections.abc import Iterable
from contextlib import suppress

import asyncpg
import pytest

from playhead.model import names
from playhead.model.canonical import Content, content_of
from playhead.model.message import LARGE_PART_BYTES, message_contents, text_message
from playhead.model.ref import ContentRef
from playhead.model.thread import Thread
from playhead.projection.inputs import Projection
from playhead_collector.errors import ContentMissing, StoreUnavailable
from playhead_collector.store.ports.projections import UnpackedRun
from playhead_collector.store.ports.retention import Swept
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.store.making import (
    RUN,
    START_NS,
    Clock,
    P,
    after,
    events,
    json,
    log,
    message,
    ref_of,
    row,
    run_number,
    span,
    thread,
    whole,
)

DAY_NS = 86_400 * 1_000_000_000
OTHER = run_number(1)
in_rows_and_packed = pytest.mark.parametrize("packed", [False, True], ids=["rows", "packed"])


async def pack(store: PostgresStore, *runs: str) -> None:
    if runs:
        await store.projections.pack([UnpackedRun(P, run, 1) for run in runs])


async def steps(store: PostgresStore, project_id: int = P) -> list[Swept]:
    """A whole sweep."""
    done = [await store.garbage.sweep_step(project_id, DAY_NS)]
    while done[-1].phase is not None:
        done.append(await store.garbage.sweep_step(project_id, DAY_NS))
        assert len(done) < 1_000
    return done


async def stored(store: PostgresStore, refs: Iterable[ContentRef]) -> set[ContentRef]:
    return set(await store.contents.get_many(P, list(refs)))


def texts_of(*texts: str) -> list[Content]:
    return [message("user" if n % 2 == 0 else "assistant", text) for n, text in enumerate(texts)]


async def record(store: PostgresStore, run: str, contents: Iterable[Content], made: Thread | None = None) -> None:
    """A run that names these contents, and a thread."""
    named = [span(number, run=run, INPUT_REF=content.ref) for number, content in enumerate(contents, 1)]
    threads = []
    if made is not None:
        named.append(span(99, run=run, INPUT_MESSAGES_REF=ref_of(made)))
        threads = [whole(made)]
    await store.spans.ingest(P, Batch(spans=named, contents=list(contents), threads=threads))


@in_rows_and_packed
async def test_shared_content_stays_and_what_nothing_names_goes_after_the_grace_period(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock, packed: bool
):
    own, shared = content_of("of the deleted run"), content_of("of both")
    one, two = thread("hello", "hi", "only here"), thread("hello", "hi", "there")
    await record(store, RUN, [own, shared, *texts_of("hello", "hi", "only here")], one)
    await record(store, OTHER, [shared, *texts_of("hello", "hi", "there")], two)
    await store.contents.put(2, [own])
    await pack(store, *([RUN, OTHER] if packed else []))
    epoch = await store.contents.epoch(P)
    await store.garbage.delete_run(P, RUN, forks=False)
    assert list(await store.garbage.sweeps_due(DAY_NS)) == []
    await steps(store)
    assert await stored(store, [own.ref]) == {own.ref}  # nothing goes within the grace period
    clock.days_pass(2.1)
    assert list(await store.garbage.sweeps_due(DAY_NS)) == [P]
    done = (await steps(store))[-1]
    assert (done.contents, done.nodes) == (2, 1)
    assert await stored(store, [own.ref, shared.ref]) == {shared.ref}
    assert [node.ref for node in await store.contents.thread(P, ref_of(two))] == [node.ref for node in two.nodes]
    with pytest.raises(ContentMissing):
        await store.contents.thread(P, ref_of(one))
    assert await store.contents.epoch(P) != epoch
    assert list(await store.garbage.sweeps_due(DAY_NS)) == []
    assert (await store.contents.get_many(2, [own.ref])).keys() == {own.ref}
    for table in ("gc_mark", "gc_news", "gc_doomed", "gc_sweep"):
        assert await sql.fetchval(f"select count(*) from {table}") == 0


@in_rows_and_packed
async def test_what_content_names_in_content_stays(store: PostgresStore, clock: Clock, packed: bool):
    """Parts of messages, the chain of a request's exact forms, what events of spans and log events name, states."""
    large = message_contents(text_message("user", "x" * (2 * LARGE_PART_BYTES)))
    first = json({"parent": None, "place": 0, "patch": []})
    second = json({"parent": first.ref, "place": 1, "patch": []})
    shape = json({"dialect": "openai.responses", "messages": second.ref})
    logged, text, quoted = content_of("state"), content_of('{"a": 1}'), content_of("in JSON in JSON")
    wrapped = json({"said": f'{{"ref": "{quoted.ref}"}}'})
    gone = content_of("nobody's")
    contents = [*large, first, second, shape, logged, text, quoted, wrapped]
    await store.contents.put(P, [*contents, gone])
    spans = [
        span(1, INPUT_REF=large[0].ref),
        span(2, INPUT_REF=shape.ref),
        span(3, INPUT_REF=ContentRef(f"{text.ref.plain}:text")),
        span(4, INPUT_REF=wrapped.ref),
    ]
    await store.spans.ingest(
        P, Batch(spans=spans, logs=[log(5, names.CHECKPOINT, **{names.CHECKPOINT + names.REF_SUFFIX: logged.ref})])
    )
    await pack(store, *([RUN] if packed else []))
    clock.days_pass(3)
    done = (await steps(store))[-1]
    assert done.contents == 1
    assert await stored(store, [each.ref.plain for each in contents]) == {each.ref.plain for each in contents}
    assert await stored(store, [gone.ref]) == set()


async def test_events_and_explanations_keep_what_they_name(store: PostgresStore, clock: Clock):
    made = events(40)
    named = [ref for event in made for ref in [getattr(event, "message", None)] if ref is not None]
    contents = [content_of(f"message {n}".encode()) for n in range(60)]
    kept = [each for each in contents if each.ref.plain in named]
    assert kept
    await store.spans.ingest(P, Batch(spans=[span(1)], contents=contents))
    async with store.projections.locked_run(P, RUN) as work:
        assert work is not None
        work.result = Projection(made, row(status="completed", ended_ns=START_NS), ())
    explained = json({"refs": [json("seen").ref]})
    await store.contents.put(P, [json("seen")])
    await store.contents.keep_explanation(P, RUN, json("subject").ref, "m", explained)
    clock.days_pass(3)
    await steps(store)
    assert await stored(store, [each.ref.plain for each in contents]) == {each.ref.plain for each in kept}
    assert await stored(store, [explained.ref, json("seen").ref]) == {explained.ref, json("seen").ref}
    await store.garbage.delete_run(P, RUN, forks=False)
    clock.days_pass(3)
    await steps(store)
    assert await stored(store, [*(each.ref.plain for each in kept), explained.ref]) == set()


@in_rows_and_packed
async def test_what_is_named_or_stored_during_a_sweep_stays_with_all_that_it_names(
    store: PostgresStore, other_store: PostgresStore, clock: Clock, packed: bool
):
    """Before each step of a sweep another piece of what it is to delete is used again, through another collector."""
    base = [f"{n}" for n in range(12)]
    part, holder = content_of("part"), json({"part": content_of("part").ref})
    made = thread(*base)
    await record(store, RUN, [part, holder, *texts_of(*base)], made)
    await pack(store, *([RUN] if packed else []))
    await store.garbage.delete_run(P, RUN, forks=False)
    clock.days_pass(3)
    count = 0
    while True:
        clock.days_pass(3)  # each round ends with nothing that is named
        step = await store.garbage.sweep_step(P, DAY_NS)
        phases = [step.phase]
        for at in range(count):
            assert phases[-1] is not None, at
            phases.append((await store.garbage.sweep_step(P, DAY_NS)).phase)
        if phases[-1] is None:
            break
        run = run_number(10 + count)
        longer = thread(*base, f"more {count}")
        new = message("user", f"more {count}")
        if await other_store.contents.missing(P, [holder.ref]):
            await other_store.contents.put(P, [holder, part])
        extension = whole(longer) if await other_store.contents.missing(P, [ref_of(made)]) else after(made, longer)
        texts = [each for each in texts_of(*base) if await other_store.contents.missing(P, [each.ref])]
        await other_store.contents.put(P, [new, *texts], [extension])
        await other_store.spans.ingest(
            P,
            Batch(spans=[span(1, run=run, INPUT_REF=holder.ref), span(2, run=run, INPUT_MESSAGES_REF=ref_of(longer))]),
        )
        while phases[-1] is not None:
            phases.append((await store.garbage.sweep_step(P, DAY_NS)).phase)
        assert await stored(store, [holder.ref, part.ref]) == {holder.ref, part.ref}, count
        nodes = await store.contents.thread(P, ref_of(longer))
        assert [node.ref for node in nodes] == [node.ref for node in longer.nodes], count
        assert len(await stored(store, [node.message for node in nodes])) == len(base) + 1, count
        await pack(store, *([run] if packed else []))
        await store.garbage.delete_run(P, run, forks=False)
        count += 1
    assert count > 8


@in_rows_and_packed
@pytest.mark.parametrize("seed", range(3))
async def test_random_uploads_against_sweeps_lose_nothing_that_was_acknowledged(  # noqa: C901 - three actors
    store: PostgresStore, other_store: PostgresStore, sql: asyncpg.Connection, clock: Clock, seed: int, packed: bool
):
    """Senders of equal contents and threads, some with a belief in what the collector said, while runs are deleted and
    sweeps go on: at the end every run has all that it names."""
    random_ = random.Random(seed)
    pool = [f"text {n}" for n in range(8)]
    alive: dict[str, tuple[Content, Content, Thread]] = {}
    numbers = iter(range(100, 10_000))
    over, open_, has_packed, sending = asyncio.Event(), asyncio.Event(), asyncio.Event(), set[PostgresStore]()
    open_.set()

    async def send(through: PostgresStore) -> None:
        for _ in range(25):
            await open_.wait()
            sending.add(through)
            await send_one(through)
            sending.discard(through)
            if random_.random() < 0.3:
                open_.clear()
                while sending:  # nobody believes anything for as long as the grace period
                    await asyncio.sleep(0)
                clock.days_pass(1.5)
                open_.set()

    async def send_one(through: PostgresStore) -> None:
        run = run_number(next(numbers))
        inner = content_of(random_.choice(pool) * 3)
        outer = json({"inner": inner.ref})
        texts = random_.sample(pool, random_.randint(1, 5))
        made = thread(*texts)
        wanted = await through.contents.missing(P, [inner.ref, outer.ref])
        await asyncio.sleep(0)
        await through.contents.put(P, [each for each in (inner, outer) if each.ref.plain in wanted])
        cut = thread(*texts[:1])
        await through.contents.put(P, texts_of(*texts), [whole(cut)])
        await asyncio.sleep(0)
        if len(texts) > 1:
            await through.contents.put(P, [], [after(cut, made)])
        named = [span(1, run=run, INPUT_REF=outer.ref), span(2, run=run, INPUT_MESSAGES_REF=ref_of(made))]
        await through.spans.ingest(P, Batch(spans=named))
        alive[run] = (outer, inner, made)
        if packed:
            with suppress(StoreUnavailable):  # a sweep is under way, or the other packs the same
                await pack(through, random_.choice(list(alive)))
                has_packed.set()
        if len(alive) > 3:
            victim = random_.choice([each for each in alive if each != run])
            del alive[victim]
            await through.garbage.delete_run(P, victim, forks=False)

    async def rest() -> None:
        """Runs are packed between sweeps only."""
        if packed and not over.is_set():
            has_packed.clear()
            await has_packed.wait()
        else:
            await asyncio.sleep(0)

    async def sweep() -> None:
        while not over.is_set():
            try:
                if (await store.garbage.sweep_step(P, DAY_NS)).phase is None:
                    await rest()
            except StoreUnavailable:
                await asyncio.sleep(0)

    sweeping = asyncio.create_task(sweep())
    try:
        await asyncio.gather(send(store), send(other_store))
    finally:
        over.set()
        has_packed.set()
        await sweeping
    clock.days_pass(3)
    await steps(store)
    await pack(store, *(alive if packed else ()))  # those that were packed may have been deleted
    deleted = (await steps(store))[-1]
    assert deleted.phase is None
    assert (await sql.fetchval("select count(*) from content_pack") > 0) is packed
    for run, (outer, inner, made) in alive.items():
        assert await stored(store, [outer.ref, inner.ref]) == {outer.ref, inner.ref}, run
        nodes = await store.contents.thread(P, ref_of(made))
        assert [node.ref for node in nodes] == [node.ref for node in made.nodes], run
        assert len(await stored(store, [node.message for node in nodes])) == len(set(nodes)), run


async def test_a_sweep_goes_on_in_another_collector_and_two_do_not_disturb_each_other(
    store: PostgresStore, other_store: PostgresStore, clock: Clock
):
    await record(store, RUN, [content_of(f"{n}") for n in range(20)], thread("a", "b"))
    await store.garbage.delete_run(P, RUN, forks=False)
    clock.days_pass(3)

    async def drive(each: PostgresStore) -> None:
        while await each.garbage.sweeps_due(DAY_NS):
            try:
                await each.garbage.sweep_step(P, DAY_NS)
            except StoreUnavailable:
                await asyncio.sleep(0)

    await store.garbage.sweep_step(P, DAY_NS)
    await asyncio.gather(drive(store), drive(other_store))
    assert await stored(store, [content_of(f"{n}").ref for n in range(20)]) == set()


@in_rows_and_packed
async def test_what_is_stored_again_after_a_sweep_is_whole(store: PostgresStore, clock: Clock, packed: bool):
    made = thread(*(f"{n}" for n in range(30)))
    texts = texts_of(*(f"{n}" for n in range(30)))
    await record(store, RUN, texts, made)
    await pack(store, *([RUN] if packed else []))
    await store.garbage.delete_run(P, RUN, forks=False)
    clock.days_pass(3)
    await steps(store)
    await record(store, OTHER, texts, made)
    assert [node.ref for node in await store.contents.thread(P, ref_of(made))] == [node.ref for node in made.nodes]
    assert len(await stored(store, [each.ref for each in texts])) == 30

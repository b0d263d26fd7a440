from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import pytest

from playhead_collector.store.ports.outbox import OutboxSettlement, Remaining
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres import statements
from playhead_collector.store.postgres.recipients import Recipient
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.forward.conftest import EAST
from tests.integration.store.making import RUN, Clock, P, events, log, projection, run_number, span, started

MINUTE = 60_000_000_000


async def test_what_arrives_is_due_once_for_each_destination(store: PostgresStore, clock: Clock):
    batch = Batch(spans=[span(1), span(2), span(3, ended=False)], logs=[log(1), started(4)])
    await store.spans.ingest(P, batch)
    await store.spans.ingest(P, batch)  # sent again: no news
    [entry] = await store.outbox.claim(EAST, 10, clock() + MINUTE)
    assert (entry.run, entry.attempts) == (RUN, 0)
    spans, logs = await store.outbox.items(entry)
    assert [each.name for each in spans] == ["span 1", "span 2"]
    assert logs == [log(1)]
    assert await store.outbox.claim("otlp-west", 10, clock() + MINUTE) == []


async def test_a_request_takes_no_statement_more_and_a_row_for_each_of_its_runs(
    database_url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    """What a destination costs ingest, as counts: benchmark I1F has the seconds."""
    counted: Counter[str] = Counter()
    for function in ("run", "rows", "row", "value", "column"):
        monkeypatch.setattr(statements, function, _counting(getattr(statements, function), counted))
    asked: list[Counter[str]] = []
    for recipients in ((), (Recipient(EAST), Recipient("phoenix", calls_in_logs=True))):
        base = 100 * len(recipients)
        store = await connect(database_url, pool_size=1, clock=clock, recipients=recipients)
        runs = [run_number(base + number) for number in range(25)]
        counted.clear()
        await store.spans.ingest(P, Batch(spans=[span(n, run=run) for run in runs for n in range(1, 22)]))
        asked.append(counted.copy())
        for recipient in recipients:
            assert len(await store.outbox.claim(recipient.name, 100, clock() + MINUTE)) == 25
        await store.close()
    plain, forwarding = asked
    assert forwarding - plain == Counter(mark_news_and_fill_outbox=1)
    assert plain - forwarding == Counter(mark_news=1)


def _counting(run: Callable[..., Awaitable[Any]], counted: Counter[str]) -> Callable[..., Awaitable[Any]]:
    async def counting(conn: Any, name: str, /, **parameters: Any) -> Any:
        if name != "ready":  # the store's own probe, twice a second
            counted[name] += 1
        return await run(conn, name, **parameters)

    return counting


async def test_an_entry_is_one_workers_until_its_time_is_over(store: PostgresStore, clock: Clock):
    await store.spans.ingest(P, Batch(spans=[span(1)]))
    assert len(await store.outbox.claim(EAST, 10, clock() + MINUTE)) == 1
    assert await store.outbox.claim(EAST, 10, clock() + MINUTE) == []
    clock.now_ns += MINUTE
    [again] = await store.outbox.claim(EAST, 10, clock() + MINUTE)
    assert again.attempts == 1
    await store.outbox.renew([again], clock() + 5 * MINUTE)
    clock.now_ns += MINUTE
    assert await store.outbox.claim(EAST, 10, clock() + MINUTE) == []


async def test_two_workers_never_take_the_same_entry(store: PostgresStore, sql: asyncpg.Connection, clock: Clock):
    for number in range(1, 5):
        await store.spans.ingest(P, Batch(spans=[span(number)]))
    async with sql.transaction():  # a collector that is just taking two
        held = await sql.fetch("select entry from forward_outbox order by entry limit 2 for update")
        taken = await store.outbox.claim(EAST, 10, clock() + MINUTE)
        assert len(taken) == 2
        assert not {each.number for each in taken} & {row["entry"] for row in held}


async def test_spans_are_found_after_their_page_was_rewritten(store: PostgresStore, clock: Clock):
    for number in range(1, 21):
        await store.spans.ingest(P, Batch(spans=[span(number)], logs=[log(number)]))
    async with store.projections.locked_run(P, RUN) as work:
        assert work is not None
        work.result = projection(events(3), ended_ns=1)  # an ended run's pages become one
    entries = await store.outbox.claim(EAST, 100, clock() + MINUTE)
    found = [await store.outbox.items(entry) for entry in entries]
    assert [[each.name for each in spans] for spans, _ in found] == [[f"span {n}"] for n in range(1, 21)]
    assert [logs for _, logs in found] == [[log(n)] for n in range(1, 21)]


async def test_what_was_deleted_is_not_forwarded(store: PostgresStore, clock: Clock):
    await store.spans.ingest(P, Batch(spans=[span(1)]))
    await store.garbage.delete_run(P, RUN, forks=False)
    [entry] = await store.outbox.claim(EAST, 10, clock() + MINUTE)
    assert await store.outbox.items(entry) == ([], [])


async def test_what_became_of_entries_is_kept(store: PostgresStore, clock: Clock):
    for number in range(1, 4):
        await store.spans.ingest(P, Batch(spans=[span(10 * number + n) for n in range(3)]))
    done, part, bad = await store.outbox.claim(EAST, 10, clock() + MINUTE)
    keys = sorted(part.spans or ())
    settlement = OutboxSettlement(
        [done, bad],
        [Remaining(part, keys[:1], (), due_ns=clock() + 2 * MINUTE)],
        [Remaining(bad, list(bad.spans or ()), (), reason="no \x00 good")],
    )
    await store.outbox.finish(settlement)
    [status] = await store.outbox.status()
    assert (status.waiting, status.waiting_items, status.dead, status.dead_items) == (1, 1, 1, 3)
    [letter] = await store.outbox.dead_letters(EAST, 10)
    assert letter.reason.startswith("no ")
    assert set(letter.spans) == {f"{30 + n:016x}" for n in range(3)}
    clock.now_ns += 2 * MINUTE
    assert await store.outbox.retry_dead(EAST, [letter.number]) == 1
    left = await store.outbox.claim(EAST, 10, clock() + MINUTE)
    assert sorted(len(each.spans or ()) for each in left) == [1, 3]
    assert await store.outbox.drop(EAST, None, waiting=False) == 0
    assert await store.outbox.drop(EAST, None, waiting=True) == 2
    assert await store.outbox.status() == []


async def test_what_is_stored_can_be_sent_again(store: PostgresStore, clock: Clock):
    for number in range(3):
        run = run_number(number)
        await store.spans.ingest(P, Batch(spans=[span(1, run=run), span(2, run=run)]))
    await store.outbox.drop(EAST, None, waiting=True)
    assert await store.outbox.backfill(P, Recipient(EAST, logs=True), run_number(1), 0) == 1
    [entry] = await store.outbox.claim(EAST, 10, clock() + MINUTE)
    assert len((await store.outbox.items(entry))[0]) == 2
    assert await store.outbox.backfill(P, Recipient(EAST), None, 0) == 3
    assert await store.outbox.backfill(P, Recipient(EAST), None, clock() + MINUTE) == 0


async def test_old_and_too_many_entries_are_given_up(store: PostgresStore, clock: Clock):
    await store.spans.ingest(P, Batch(spans=[span(1)]))
    clock.now_ns += MINUTE
    for number in range(2, 6):
        await store.spans.ingest(P, Batch(spans=[span(2 * number), span(2 * number + 1)]))
    assert await store.outbox.expire(EAST, clock(), 100) == 1
    assert await store.outbox.expire(EAST, clock(), 5) == 4
    assert await store.outbox.forget_destinations([EAST], clock() + 1) == 0
    assert await store.outbox.forget_destinations([], clock() + 1) == 2


async def test_sampling_takes_whole_runs(module_database_url: str, sql: asyncpg.Connection, clock: Clock):
    half = Recipient("half", sample=0.5)
    runs = [f"{number:04x}" + "0" * 14 + f"{number * 360_000_000_000_000:014x}" for number in range(1, 200)]
    store = await connect(module_database_url, clock=clock, recipients=[half])
    for run in runs[::10]:
        await store.spans.ingest(P, Batch(spans=[span(1, run=run)]))
        await store.spans.ingest(P, Batch(spans=[span(2, run=run)]))
    entries = await store.outbox.claim("half", 100, clock() + MINUTE)
    chosen = {entry.run for entry in entries}
    assert len(entries) == 2 * len(chosen)
    assert chosen == {run for run in runs[::10] if half.takes(run)}
    assert 5 < len(chosen) < 15
    await store.outbox.drop("half", None, waiting=True)
    await store.outbox.backfill(P, half, None, 0)
    assert {entry.run for entry in await store.outbox.claim("half", 100, clock() + MINUTE)} == chosen
    await store.close()

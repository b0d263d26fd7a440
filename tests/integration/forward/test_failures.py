import asyncio
from collections.abc import Callable

import pytest

from playhead_collector.forward.destination import ForwardLimits
from playhead_collector.forward.worker import ForwardWorker
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.forward.backend import Backend, Reply, Request, taken
from tests.integration.forward.conftest import EAST, Make
from tests.integration.store.making import Clock, P, json, span

SECOND = 1_000_000_000


async def drain(worker: ForwardWorker, store: PostgresStore, clock: Clock, *, seconds: float = 1_200) -> float:
    """Runs cycles until nothing waits any more. Returns the seconds that went by on the clock."""
    began = clock()
    while any(each.waiting for each in await store.outbox.status()):
        assert clock() - began < seconds * SECOND, "something still waits"
        wait_s = await worker.run_once()
        clock.now_ns += int(max(wait_s, 1.0) * SECOND)
    return (clock() - began) / SECOND


def status(code: int, **headers: str) -> Callable[[Request], Reply]:
    return lambda _: Reply(code, {name.replace("_", "-"): value for name, value in headers.items()})


def garbage(_: Request) -> Reply:
    return Reply(garbage=b"\x00\x01\x02 nothing that HTTP knows\r\n\r\n")


def odd_body(_: Request) -> Reply:
    return Reply(200, {"content-type": "application/x-protobuf"}, b"\xff\xff\xff")


@pytest.mark.parametrize("failing", [status(503), status(500), status(429), status(401), garbage, None])
async def test_ten_minutes_without_the_destination_lose_nothing_and_send_nothing_twice(
    store: PostgresStore, backend: Backend, make: Make, clock: Clock, failing: Callable[[Request], Reply] | None
):
    worker, number = make(), 0
    if failing is None:
        backend.stop()
    else:
        backend.answer = failing
    went = 0.0
    while went < 600:
        number += 1
        await store.spans.ingest(P, Batch(spans=[span(number)]))
        wait_s = max(await worker.run_once(), 10.0)
        clock.now_ns += int(wait_s * SECOND)
        went += wait_s
    assert backend.stored == {}
    assert len(backend.requests) < 60  # it is asked less and less often
    [entries] = await store.outbox.status()
    assert (entries.waiting_items, entries.dead) == (number, 0)
    assert worker.state.last_error
    backend.answer = taken
    if failing is None:
        backend.start()
    clock.now_ns += 300 * SECOND
    assert await drain(worker, store, clock) < 60
    assert backend.stored == {f"span {n}": 1 for n in range(1, number + 1)}
    assert worker.state.failures == 0


async def test_a_wait_that_is_asked_for_is_kept(store: PostgresStore, backend: Backend, make: Make, clock: Clock):
    await store.spans.ingest(P, Batch(spans=[span(1)]))
    backend.answer, worker = status(429, retry_after="120"), make()
    assert 120 <= await worker.run_once() < 121
    clock.now_ns += 100 * SECOND
    assert 20 <= await worker.run_once() < 21
    assert len(backend.requests) == 1


async def test_only_the_bad_spans_of_a_refused_batch_are_kept_aside(
    store: PostgresStore, backend: Backend, make: Make, clock: Clock
):
    bad = {"span 7", "span 100", "span 101"}
    backend.answer = lambda request: Reply(400, body=b"bad id") if bad & set(request.names) else Reply()
    for first in range(1, 129, 16):
        await store.spans.ingest(P, Batch(spans=[span(number) for number in range(first, first + 16)]))
    worker = make()
    await worker.run_once()
    assert backend.stored == {f"span {n}": 1 for n in range(1, 129) if f"span {n}" not in bad}
    assert len(backend.requests) < 45
    [entries] = await store.outbox.status()
    assert (entries.waiting, entries.dead_items) == (0, 3)
    letters = await store.outbox.dead_letters(EAST, 10)
    assert {int(each, 16) for letter in letters for each in letter.spans} == {7, 100, 101}
    assert {letter.reason for letter in letters} == {"answered 400: bad id"}
    backend.answer = taken  # it was mended
    await store.outbox.retry_dead(EAST)
    await worker.run_once()
    assert backend.stored == {f"span {n}": 1 for n in range(1, 129)}


async def test_a_span_at_which_the_destination_always_breaks_holds_up_no_other(
    store: PostgresStore, backend: Backend, make: Make, clock: Clock
):
    backend.answer = lambda request: Reply(500) if "span 5" in request.names else Reply()
    await store.spans.ingest(P, Batch(spans=[span(number) for number in range(1, 17)]))
    worker = make()
    assert await drain(worker, store, clock) < 600
    assert backend.stored == {f"span {n}": 1 for n in range(1, 17) if n != 5}
    [letter] = await store.outbox.dead_letters(EAST, 10)
    assert letter.spans == (f"{5:016x}",) or list(letter.spans) == [f"{5:016x}"]


async def test_redirects_are_not_followed(store: PostgresStore, backend: Backend, make: Make):
    other = Backend().start()
    try:
        backend.answer = status(307, location=f"{other.url}/v1/traces")
        await store.spans.ingest(P, Batch(spans=[span(1)]))
        worker = make(headers={"authorization": "Bearer very-secret"})
        await worker.run_once()
        assert other.requests == []
        assert "redirect" in (worker.state.last_error or "")
        assert (await store.outbox.status())[0].waiting == 1
    finally:
        other.stop()


async def test_an_answer_that_repeats_the_key_does_not_show_it(store: PostgresStore, backend: Backend, make: Make):
    backend.answer = lambda request: Reply(403, body=f"no {request.headers['authorization']}".encode())
    await store.spans.ingest(P, Batch(spans=[span(1)]))
    worker = make(headers={"authorization": "Bearer very-secret"})
    await worker.run_once()
    assert "403" in (worker.state.last_error or "")
    assert "very-secret" not in (worker.state.last_error or "")


async def test_accepted_is_accepted_whatever_the_body_says(store: PostgresStore, backend: Backend, make: Make):
    backend.answer = odd_body
    await store.spans.ingest(P, Batch(spans=[span(1)]))
    await make().run_once()
    assert await store.outbox.status() == []


async def test_spans_that_an_accepted_request_rejects_are_dead_letters(
    store: PostgresStore, backend: Backend, make: Make
):
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    said = ExportTraceServiceResponse()
    said.partial_success.rejected_spans, said.partial_success.error_message = 1, "too old"
    body = said.SerializeToString()
    backend.answer = lambda _: Reply(200, {"content-type": "application/x-protobuf"}, body)
    await store.spans.ingest(P, Batch(spans=[span(1)]))
    await make().run_once()
    [letter] = await store.outbox.dead_letters(EAST, 10)
    assert letter.reason == "1 of 1 were rejected: too old"


async def test_a_worker_that_dies_leaves_its_entries_to_others(
    store: PostgresStore, backend: Backend, make: Make, clock: Clock
):
    await store.spans.ingest(P, Batch(spans=[span(1), span(2)]))
    assert await store.outbox.claim(EAST, 10, clock() + 300 * SECOND)  # and then it died
    worker = make()
    await worker.run_once()
    assert backend.requests == []
    clock.now_ns += 300 * SECOND
    await worker.run_once()
    assert backend.stored == {"span 1": 1, "span 2": 1}


async def test_two_collectors_share_the_work(store: PostgresStore, backend: Backend, make: Make, clock: Clock):
    for number in range(1, 101):
        await store.spans.ingest(P, Batch(spans=[span(number)]))
    one, other = make(), make()
    for _ in range(4):
        await asyncio.gather(one.run_once(), other.run_once())
    assert backend.stored == {f"span {n}": 1 for n in range(1, 101)}
    assert one.counts["sent_spans"] + other.counts["sent_spans"] == 100


async def test_a_slow_destination_does_not_hold_the_database(store: PostgresStore, backend: Backend, make: Make):
    """While it answers, the store's connections are free."""
    free: list[int] = []

    async def ingest_meanwhile() -> None:
        for number in range(2, 12):
            await store.spans.ingest(P, Batch(spans=[span(number)]))
            free.append(number)

    arrived, go_on = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def slowly(_: Request) -> Reply:
        loop.call_soon_threadsafe(arrived.set)
        asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(60)
        return Reply()

    backend.answer = slowly
    await store.spans.ingest(P, Batch(spans=[span(1)]))
    sending = asyncio.create_task(make().run_once())
    await asyncio.wait_for(arrived.wait(), 60)
    await ingest_meanwhile()
    assert not sending.done()
    go_on.set()
    await sending
    assert len(free) == 10


async def test_what_is_too_old_is_given_up(store: PostgresStore, backend: Backend, make: Make, clock: Clock):
    backend.answer = status(503)
    await store.spans.ingest(P, Batch(spans=[span(1)]))
    worker = make(limits=ForwardLimits(max_age_s=3_600))
    await worker.run_once()
    clock.now_ns += 3_700 * SECOND
    await worker.run_once()
    assert await store.outbox.status() == []
    assert worker.counts["expired"] == 1


async def test_a_backlog_of_large_content_takes_little_memory(
    store: PostgresStore, backend: Backend, make: Make, clock: Clock
):
    """256 spans of 1 MB each are sent one request at a time."""
    import tracemalloc

    for number in range(1, 65):
        text = json(f"{number}" + "x" * 1_000_000)
        await store.spans.ingest(P, Batch(spans=[span(number, INPUT_REF=str(text.ref))], contents=[text]))
    backend.answer = lambda request: (request.spans.clear(), Reply())[1]
    worker = make()
    tracemalloc.start()
    try:
        await drain(worker, store, clock)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert worker.counts["sent_spans"] == 64
    assert peak < 64 * 1_000_000

import json as json_module

import httpx

from playhead.model import names
from playhead_collector.app import create_app
from playhead_collector.destination_settings import PhoenixSettings
from playhead_collector.forward.destination import ForwardLimits
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.forward.backend import Backend, attributes
from tests.integration.forward.conftest import Make
from tests.integration.read.recorded import conversation
from tests.integration.store.making import (
    RUN,
    Clock,
    P,
    events,
    json,
    log,
    projection,
    run_number,
    span,
    started,
    thread,
    whole,
)

SECOND = 1_000_000_000


async def test_spans_arrive_with_their_content_parents_first(store: PostgresStore, backend: Backend, make: Make):
    asked, given = thread("How is the weather?", "Fine"), json({"city": "Oslo"})
    spans = [
        span(2, KIND="llm", INPUT_MESSAGES_REF=str(asked.ref), REQUEST_MODEL="gpt-4o"),
        span(3, KIND="tool", TOOL_ARGUMENTS_REF=str(given.ref)),
    ]
    contents = [*asked.contents, given]
    await store.spans.ingest(P, Batch(spans=spans, contents=contents, threads=[whole(asked)], logs=[started(1)]))
    await store.spans.ingest(P, Batch(spans=[span(1, KIND="agent", RUN_NAME="shop", RUN_ROOT=True)], logs=[log(1)]))
    worker = make()
    await worker.run_once()
    assert [request.path for request in backend.requests] == ["/v1/traces", "/v1/logs"]
    assert backend.requests[0].names == ["span 1", "span 2", "span 3"]
    assert [each.event_name for each in backend.requests[1].logs] == [names.CHECKPOINT]
    model, tool = map(attributes, backend.requests[0].spans[1:])
    messages = json_module.loads(model[names.INPUT_MESSAGES])
    assert messages[0]["parts"][0]["content"] == "How is the weather?"
    assert json_module.loads(tool[names.TOOL_ARGUMENTS]) == {"city": "Oslo"}
    assert model[names.RUN_URL] == f"http://playhead.example/runs/{RUN}?at={2:016x}"
    assert await store.outbox.status() == []
    assert (worker.counts["sent_spans"], worker.counts["sent_logs"]) == (3, 1)
    await worker.run_once()
    assert len(backend.requests) == 2


async def test_content_that_is_late_is_waited_for_within_a_limit(
    store: PostgresStore, backend: Backend, make: Make, clock: Clock
):
    late, never = json("late"), json("never")
    await store.spans.ingest(
        P, Batch(spans=[span(1), span(2, INPUT_REF=str(late.ref)), span(3, INPUT_REF=str(never.ref))])
    )
    worker = make(limits=ForwardLimits(content_wait_s=30.0))
    await worker.run_once()
    assert backend.stored == {"span 1": 1}
    await store.contents.put(P, [late])
    clock.now_ns += 5 * SECOND
    await worker.run_once()
    assert backend.stored == {"span 1": 1, "span 2": 1}
    clock.now_ns += 30 * SECOND
    await worker.run_once()
    assert backend.stored == {"span 1": 1, "span 2": 1, "span 3": 1}
    assert "not stored" in attributes(backend.requests[-1].spans[0])["playhead.input"]


async def test_a_destination_gets_the_runs_that_it_asks_for(
    store: PostgresStore, backend: Backend, make: Make, clock: Clock
):
    runs = {"failed": run_number(1), "completed": run_number(2), "running": run_number(3)}
    for status, run in runs.items():
        await store.spans.ingest(P, Batch(spans=[span(1, run=run)]))
        await project(store, run, status)
    worker = make(statuses=("failed",), agents=("shop", "till"), tags=("eu",))
    await worker.run_once()
    [request] = backend.requests
    assert attributes(request.spans[0])[names.RUN_ID] == runs["failed"]
    [status] = await store.outbox.status()
    assert status.waiting == 1  # of the run that goes on
    await project(store, runs["running"], "failed", tags=("us",))
    clock.now_ns += 3 * SECOND
    await worker.run_once()
    assert await store.outbox.status() == []
    assert worker.counts["left_out"] == 2
    assert backend.stored == {"span 1": 1}


async def project(store: PostgresStore, run: str, status: str, tags: tuple[str, ...] = ("eu", "beta")) -> None:
    ended = None if status == "running" else 1
    async with store.projections.locked_run(P, run) as work:
        assert work is not None
        fields = {"status": status, "ended_ns": ended, "agents": ("shop",), "tags": tags}
        work.result = projection(events(1, run=run), run=run, **fields)


async def test_requests_are_no_larger_than_the_limit(store: PostgresStore, backend: Backend, make: Make):
    text = json("x" * 30_000)
    spans = [span(number, INPUT_REF=str(text.ref)) for number in range(1, 11)]
    await store.spans.ingest(P, Batch(spans=spans, contents=[text]))
    await make(max_request_bytes=65_536).run_once()
    assert [len(request.spans) for request in backend.requests] == [2, 2, 2, 2, 2]
    assert backend.stored == {f"span {number}": 1 for number in range(1, 11)}


async def test_what_is_to_be_masked_is_not_sent(store: PostgresStore, backend: Backend, make: Make):
    secret = json({"password": "hunter2", "text": "card 4111-1111"})
    await store.spans.ingest(P, Batch(spans=[span(1, INPUT_REF=str(secret.ref))], contents=[secret]))
    import re

    worker = make(mask_keys=("password",), mask_pattern=re.compile(r"\d{4}-\d{4}"))
    await worker.run_once()
    sent = json_module.loads(attributes(backend.requests[0].spans[0])["playhead.input"])
    assert sent == {"password": "[masked]", "text": "card [masked]"}


async def test_refs_only_when_so_asked(store: PostgresStore, backend: Backend, make: Make):
    given = json("secret plan")
    await store.spans.ingest(
        P, Batch(spans=[span(1, INPUT_REF=str(given.ref))])
    )  # not even stored: nothing to wait for
    await make(content="ref").run_once()
    assert attributes(backend.requests[0].spans[0])["playhead.input_ref"] == str(given.ref)


async def test_a_stored_run_is_sent_again(store: PostgresStore, backend: Backend, make: Make):
    await store.spans.ingest(P, Batch(spans=[span(1), span(2)], logs=[log(1)]))
    worker = make()
    await worker.run_once()
    await store.outbox.backfill(P, worker.destination.recipient, RUN, 0)
    await worker.run_once()
    assert backend.stored == {"span 1": 2, "span 2": 2, names.CHECKPOINT: 2}


async def test_keys_are_in_no_text(backend: Backend, make: Make):
    settings = PhoenixSettings(name="phoenix", url=backend.url, api_key="very-secret", headers={"x-own": "also-secret"})
    worker = make(settings)
    for shown in (repr(settings), repr(worker.destination), str(worker.destination)):
        assert "secret" not in shown


async def test_the_link_on_a_span_leads_to_its_moment(store: PostgresStore, backend: Backend, make: Make):
    run = "07" * 16
    await store.spans.ingest(P, conversation(run, 2).batch())
    worker = make()
    await worker.run_once()
    app = create_app(CollectorSettings(), store)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        events_of = (await client.get(f"/api/v1/runs/{run}/events")).json()["items"]
        for sent in backend.requests[0].spans:
            link = httpx.URL(attributes(sent)[names.RUN_URL])
            first = next(each["seq"] for each in events_of if each["span"] == sent.span_id.hex())
            found = await client.get(f"/api/v1{link.path}/state", params=dict(link.params))
            assert (found.status_code, found.json()["seq"]) == (200, first)

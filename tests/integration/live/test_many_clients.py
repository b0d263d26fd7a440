"""Many clients that follow one run cost the database what one costs."""

import asyncio
from collections import Counter
from typing import Any

import httpx
import pytest

from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.app import build_collector
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres import statements
from playhead_collector.store.postgres.store import connect
from tests.support.made_up_runs import MadeUpRun

PATIENCE = 60.0


async def _followed(url: str, clients: int, batches: int) -> tuple[Counter[str], list[int]]:
    """A run that grows, followed by so many clients: statements by name, and the events that each client received."""
    counts: Counter[str] = Counter()
    store = await connect(url, pool_size=6)
    app = build_collector(CollectorSettings(database_url=url, stream_heartbeat_seconds=60), store).app
    run = MadeUpRun(3, live=True)
    await store.contents.put(PROJECT, run.contents.values(), run.threads)
    await store.spans.ingest(PROJECT, Batch(run.spans))
    send_nothing = {"type": "http.request", "body": b"", "more_body": False}
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost", timeout=PATIENCE) as http,
    ):
        assert (await http.get(f"/api/v1/runs/{run.run}")).status_code == 200
        received = [bytearray() for _ in range(clients)]
        following: list[asyncio.Task[None]] = []
        path = f"/api/v1/runs/{run.run}/events"
        for start in range(0, clients, 25):  # more at once would be asked to come back
            group = received[start : start + 25]
            following += [asyncio.create_task(_ask(app, path, into, send_nothing)) for into in group]
            await _all(group, 1)
        await _all(received, (await http.get(f"/api/v1/runs/{run.run}")).json()["events"])
        before = Counter(_statements)
        for _ in range(batches):
            spans, _pack = run.step()
            await store.spans.ingest(PROJECT, Batch(spans))
            last = (await http.get(f"/api/v1/runs/{run.run}")).json()["events"]
            await _all(received, last)
        counts = Counter(_statements) - before
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)
    await store.close()
    return counts, [_events(data) for data in received]


_statements: Counter[str] = Counter()


def _events(data: bytearray) -> int:
    return data.count(b'"seq":')


async def _all(received: list[bytearray], events: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while any(_events(data) < events for data in received):
            await asyncio.sleep(0.005)


async def _ask(app: Any, path: str, into: bytearray, request: dict[str, Any]) -> None:
    """A client that reads a stream. httpx would give the answer only when it is over."""
    given = False

    async def receive() -> dict[str, Any]:
        nonlocal given
        if given:
            await asyncio.Event().wait()
        given = True
        return request

    async def send(message: dict[str, Any]) -> None:
        into.extend(message.get("body", b""))

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "path": path,
        "raw_path": path.encode(), "query_string": b"", "root_path": "", "scheme": "http", "server": ("localhost", 80),
        "client": ("127.0.0.1", 1), "headers": [(b"host", b"localhost"), (b"accept", b"text/event-stream")],
    }  # fmt: skip
    await app(scope, receive, send)


async def test_many_clients_of_a_run_cost_the_database_what_one_costs(
    database_url: str, monkeypatch: pytest.MonkeyPatch
):
    prepared = statements._prepared

    def counted(conn: statements.Conn, name: str, parameters: dict[str, Any]) -> Any:
        _statements[name] += 1
        return prepared(conn, name, parameters)

    monkeypatch.setattr(statements, "_prepared", counted)
    reading = ("run_head", "run_changes", "moves")
    one, _ = await _followed(database_url, 1, 10)
    many, events = await _followed(database_url, 100, 10)
    assert len(set(events)) == 1
    # How many projections and polls there are depends on the machine; every read is of some of them, never of a client.
    assert one["run_changes"] >= 10
    for name in reading:
        assert many[name] <= 3 * one[name] + 20, (name, one, many)
    assert many["read_event_pages"] <= 3 * one["read_event_pages"] + 20

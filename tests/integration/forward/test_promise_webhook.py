"""Open promises are announced to a webhook: signed as Standard Webhooks says, at least once, only while they wait."""

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from playhead_collector.app import create_app, open_collector
from playhead_collector.errors import BadSetting
from playhead_collector.forward.webhook import PromiseAnnouncer, announcer_of
from playhead_collector.settings import CollectorSettings, load
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.export.fake_collector import closed_port
from tests.integration.store.making import RUN, Clock, P

KEY = bytes(range(32))
SECRET = "whsec_" + base64.b64encode(KEY).decode()
SECOND = 1_000_000_000
APPROVED = {"outcome": "approved", "value": None, "by": "eve", "reason": None}
Announce = Callable[..., PromiseAnnouncer]


class Receiver:
    """A receiver of webhooks; `answer` gives the status and headers of the next answers."""

    def __init__(self, port: int = 0) -> None:
        """`port`: one that is reserved, for a receiver that is stopped and started again."""
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.answer: Callable[[dict[str, Any]], tuple[int, dict[str, str]]] = lambda _: (204, {})
        self._server: ThreadingHTTPServer | None = None
        self._port = port
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/hooks/token-of-the-path"

    @property
    def ids(self) -> list[str]:
        return [json.loads(body)["data"]["id"] for _, body in self.requests]

    def start(self) -> None:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.requests.append(({name.lower(): value for name, value in self.headers.items()}, body))
                status, headers = receiver.answer(json.loads(body))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002 - the name of the base class

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
        self._server = None


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with closed_port() as port:
        started = Receiver(port)
        yield started
        started.stop()


@pytest.fixture
async def announce(
    store: PostgresStore, receiver: Receiver, clock: Clock, sql: asyncpg.Connection
) -> AsyncIterator[Announce]:
    """Makes an announcer; the clock stands at the database's time."""
    clock.now_ns = int(await sql.fetchval("select extract(epoch from now()) * 1000000000"))
    made: list[PromiseAnnouncer] = []

    def announcer(**given: Any) -> PromiseAnnouncer:
        settings = CollectorSettings(
            promise_webhook=receiver.url,
            promise_webhook_secret=KEY,
            promise_webhook_seconds=20.0,
            public_url="https://playhead.example/",
            **given,
        )
        found = announcer_of(settings, store.promises, clock)
        assert found is not None
        made.append(found)
        return found

    yield announcer
    for each in made:
        await each.stop()


async def opened(store: PostgresStore, number: int, kind: str = "approval", seconds: float | None = None) -> str:
    promise = f"{number:032x}"
    body = {"key": "k", "name": None, "action": f"delete {number}", "risk": "high", "details": ["x"], "schema": None}
    await store.promises.open(P, promise, kind, RUN, body, seconds)
    return promise


async def test_an_open_promise_is_announced_once_with_a_signature_that_the_receiver_can_verify(
    store: PostgresStore, receiver: Receiver, announce: Announce, clock: Clock
):
    promise, announcer = await opened(store, 1), announce()
    await announcer.run_once()
    await opened(store, 1)
    await opened(store, 2, kind="interrupt")
    await announcer.run_once()
    [(headers, body)] = receiver.requests
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert (headers["webhook-id"], headers["content-type"]) == (f"opened_{promise}", "application/json")
    assert int(headers["webhook-timestamp"]) == clock.now_ns // SECOND
    message = json.loads(body)
    assert message["type"] == "promise.opened"
    assert message["data"] == {
        "id": promise,
        "project": "default",
        "run": RUN,
        "kind": "approval",
        "prompt": "delete 1",
        "name": None,
        "key": None,
        "risk": "high",
        "deadline": None,
        "answer_url": f"https://playhead.example/api/v1/promises/{promise}",
    }
    found = await store.promises.get(P, promise)
    assert found is not None
    assert abs(found.created_ns - clock.now_ns) < 600 * SECOND
    assert announcer.counts == {"sent": 1}


async def test_a_receiver_that_was_down_gets_it_later_with_the_same_id(
    store: PostgresStore,
    receiver: Receiver,
    announce: Announce,
    clock: Clock,
    caplog: pytest.LogCaptureFixture,
):
    caplog.set_level(logging.INFO)
    first, announcer = await opened(store, 1), announce()
    receiver.stop()
    pauses: list[float] = []
    for _ in range(4):
        pauses.append(await announcer.run_once())
        assert await announcer.run_once() == pytest.approx(pauses[-1])  # nothing is sent in a pause
        clock.now_ns += int(pauses[-1] * SECOND) + 1
    assert pauses[3] > pauses[0] > 0
    receiver.start()
    receiver.answer = lambda _: (503, {"retry-after": "120"})
    assert await announcer.run_once() >= 120
    clock.now_ns += 3600 * SECOND
    receiver.answer = lambda _: (204, {})
    second = await opened(store, 2)
    await announcer.run_once()
    assert receiver.ids == [first, second, first]
    tried, _, again = receiver.requests
    assert tried[0]["webhook-id"] == again[0]["webhook-id"]
    assert int(again[0]["webhook-timestamp"]) - int(tried[0]["webhook-timestamp"]) >= 3600
    assert (announcer.counts["sent"], announcer.counts["failed"]) == (2, 5)
    logged = "".join(each.getMessage() for each in caplog.records if each.name.startswith("playhead"))
    assert "trying again in" in logged
    assert "token-of-the-path" not in logged
    assert SECRET not in caplog.text


async def test_what_was_answered_or_timed_out_before_it_was_sent_is_not_announced(
    store: PostgresStore, receiver: Receiver, announce: Announce, clock: Clock
):
    answered, waits, announcer = await opened(store, 1), await opened(store, 2), announce()
    await opened(store, 3, seconds=0)
    assert await store.promises.answer(P, answered, APPROVED, late=False)
    await announcer.run_once()
    assert receiver.ids == [waits]
    failing = await opened(store, 4)
    receiver.answer = lambda _: (500, {})
    await announcer.run_once()
    assert await store.promises.answer(P, failing, APPROVED, late=False)
    clock.now_ns += 3600 * SECOND
    await announcer.run_once()
    assert receiver.ids == [waits, failing]


async def test_a_refused_one_holds_up_no_other_and_is_given_up_when_it_is_too_old(
    store: PostgresStore, receiver: Receiver, announce: Announce, clock: Clock
):
    bad, announcer = await opened(store, 1), announce(promise_webhook_max_age_seconds=600)
    good = await opened(store, 2)
    receiver.answer = lambda message: (400 if message["data"]["id"] == bad else 200, {})
    await announcer.run_once()
    assert receiver.ids == [bad, good]
    for _ in range(20):
        clock.now_ns += 100 * SECOND
        await announcer.run_once()
    assert receiver.ids.count(good) == 1
    assert 2 <= receiver.ids.count(bad) <= 7
    assert announcer.counts["sent"] == 1


async def test_what_becomes_too_old_or_passes_its_deadline_unannounced_is_counted_and_logged(
    store: PostgresStore, receiver: Receiver, announce: Announce, clock: Clock, caplog: pytest.LogCaptureFixture
):
    too_old, announcer = await opened(store, 1), announce(promise_webhook_max_age_seconds=600)
    past_deadline = await opened(store, 2, seconds=0)
    await opened(store, 3, kind="interrupt")
    receiver.answer = lambda _: (503, {})
    await announcer.run_once()
    assert (receiver.ids, announcer.counts) == ([too_old], {"failed": 1, "given_up": 1})
    assert f"deadline: 1 ({past_deadline})" in caplog.text
    receiver.stop()
    clock.now_ns += 700 * SECOND  # counted from when the database has opened it
    for _ in range(2):
        await announcer.run_once()
    assert announcer.counts == {"failed": 1, "given_up": 2}
    assert caplog.text.count("are not announced any more") == 2
    assert f"deadline: 1 ({too_old})" in caplog.text


async def test_redirects_are_not_followed(store: PostgresStore, receiver: Receiver, announce: Announce):
    elsewhere = Receiver()
    try:
        await opened(store, 1)
        receiver.answer = lambda _: (307, {"location": elsewhere.url})
        assert await announce().run_once() >= 30
        assert (len(receiver.requests), elsewhere.requests) == (1, [])
    finally:
        elsewhere.stop()


async def test_what_an_announcer_took_and_left_is_announced_by_another_one(
    store: PostgresStore, receiver: Receiver, announce: Announce, clock: Clock
):
    promise, announcer = await opened(store, 1), announce()
    taken = await store.promises.take_announcement(clock.now_ns, clock.now_ns + 60 * SECOND, 3600)
    assert taken is not None
    await announcer.run_once()
    assert receiver.requests == []
    clock.now_ns += 61 * SECOND
    await announcer.run_once()
    assert receiver.ids == [promise]


async def test_a_collector_answers_programs_while_the_webhook_hangs(store: PostgresStore, receiver: Receiver):
    arrived, released = threading.Event(), threading.Event()

    def hang(_: Any) -> tuple[int, dict[str, str]]:
        arrived.set()
        released.wait(60)
        return 204, {}

    receiver.answer = hang
    settings = CollectorSettings(promise_webhook=receiver.url, promise_webhook_secret=KEY, promise_webhook_seconds=60)
    app = create_app(settings, store, clock=time.time_ns)
    try:
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client,
        ):
            asked = {"id": f"{7:032x}", "kind": "approval", "key": "k", "action": "deploy"}
            assert (await client.post("/api/v1/promises", json=asked)).status_code == 200
            assert await asyncio.to_thread(arrived.wait, 60)
            assert (await client.get("/api/v1/promises")).json()["items"][0]["id"] == asked["id"]
            figures = (await client.get("/metrics")).text
            assert "playhead_promise_webhooks_sent 0.0" in figures
            released.set()
    finally:
        released.set()


@pytest.mark.parametrize("text", ["s3cret", "whsec_", "whsec_c2hvcnQ=", "whsec_" + "!" * 44, "whsec_é"])
def test_a_secret_that_cannot_be_used_is_refused_without_showing_it(text: str):
    with pytest.raises(BadSetting, match="PLAYHEAD_PROMISE_WEBHOOK_SECRET cannot be the value that it has") as refused:
        load({"PLAYHEAD_PROMISE_WEBHOOK_SECRET": text})
    assert text == "whsec_" or text not in str(refused.value)


async def test_a_webhook_without_a_secret_ends_the_start_before_there_is_a_database(tmp_path: Path):
    assert load({"PLAYHEAD_PROMISE_WEBHOOK_SECRET": SECRET}).promise_webhook_secret == KEY
    settings = CollectorSettings(promise_webhook="https://example.com/hook", data_dir=tmp_path)
    with pytest.raises(BadSetting, match="belong together"):
        async with open_collector(settings):
            raise AssertionError("it has started")
    assert list(tmp_path.iterdir()) == []

"""`playhead watch`, and clients of a collector that stops, comes back, or has as many streams as it may."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import pytest

from playhead.client import AsyncClient, Client
from playhead_collector.process import CollectorProcess
from tests.integration.export.fake_collector import closed_port
from tests.integration.live.growing import end, grow, grow_and_end
from tests.support.made_up_runs import MadeUpRun, send

PATIENCE = 60.0
STREAMS = 2
ENV = {"PLAYHEAD_STREAM_HEARTBEAT_SECONDS": "0.2", "PLAYHEAD_MAX_STREAMS": str(STREAMS)}
# Ends of a stream that lasts as long as by default, in more than an hour.
ENDS_IN_AN_HOUR = 5
STREAMED = {"accept": "text/event-stream"}


@pytest.fixture(scope="module")
def collector(module_database_url: str) -> Iterator[CollectorProcess]:
    """One that comes back at the same port when it is started again."""
    with (
        closed_port() as port,
        CollectorProcess(database_url=module_database_url, env=ENV, port=port) as running,
    ):
        yield running


@contextmanager
def watching(url: str, *args: str) -> Iterator["subprocess.Popen[str]"]:
    """`playhead watch` as its own process, which has ended afterwards."""
    env = {**os.environ, "PLAYHEAD_COLLECTOR_URL": url}
    command = [sys.executable, "-c", "from playhead.cli import main; main()", "watch", *args]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    with process:
        try:
            yield process
        finally:
            process.kill()


def next_events(watch: "subprocess.Popen[str]", count: int) -> list[dict[str, Any]]:
    """So many further events, read as they come."""
    assert watch.stdout is not None
    return [json.loads(watch.stdout.readline()) for _ in range(count)]


def rest(watch: "subprocess.Popen[str]") -> list[dict[str, Any]]:
    """The events up to the end, which is without an error."""
    assert watch.stdout is not None
    assert watch.stderr is not None
    found = [json.loads(line) for line in watch.stdout]
    assert (watch.wait(PATIENCE), watch.stderr.read()) == (0, "")
    return found


@contextmanager
def stream(http: httpx.Client, path: str) -> Iterator[httpx.Response]:
    """A stream.  The collector may not have noticed yet that clients of earlier tests have gone."""
    until = time.monotonic() + PATIENCE
    while True:
        with http.stream("GET", path) as response:
            if response.status_code != 503 or time.monotonic() > until:
                assert response.status_code == 200
                yield response
                return


@pytest.fixture(scope="module")
def ending(module_database_url: str) -> Iterator[CollectorProcess]:
    """One that ends its streams after a fraction of a second in place of 15 minutes."""
    env = {"PLAYHEAD_STREAM_HEARTBEAT_SECONDS": "0.1", "PLAYHEAD_STREAM_SECONDS": "0.3"}
    with CollectorProcess(database_url=module_database_url, env=env) as running:
        yield running


class Counting(httpx.HTTPTransport):
    """Calls `connected(n)` before the n-th connection to a stream is made."""

    def __init__(self, connected: Callable[[int], None]) -> None:
        super().__init__()
        self._connected, self._count = connected, 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.headers.get("accept") == "text/event-stream":
            self._count += 1
            self._connected(self._count)
        return super().handle_request(request)


class CountingAsync(httpx.AsyncHTTPTransport):
    """`Counting`, for a client whose answers are awaited."""

    def __init__(self, connected: Callable[[int], None]) -> None:
        super().__init__()
        self._connected, self._count = connected, 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.headers.get("accept") == "text/event-stream":
            self._count += 1
            await asyncio.to_thread(self._connected, self._count)
        return await super().handle_async_request(request)


def live_run(collector: CollectorProcess) -> MadeUpRun:
    run = MadeUpRun(3, live=True)
    send(collector.url, [run])
    return run


def test_watch_shows_each_event_as_it_happens_until_the_run_has_ended(collector: CollectorProcess):
    run = live_run(collector)
    with Client(collector.url) as client, watching(collector.url, run.run[-9:], "--json") as watch:
        there = client.run(run.run)["events"]
        shown = next_events(watch, there)
        grow(collector.url, run, 2)
        shown += next_events(watch, 1)  # while the run goes on, and through a pipe
        end(collector.url, run)
        shown += rest(watch)
        assert [event["id"] for event in shown] == [event["id"] for event in client.events(run.run)]


def test_ctrl_c_ends_watch_and_not_the_run(collector: CollectorProcess):
    run = live_run(collector)
    with watching(collector.url, run.run) as watch:
        assert watch.stdout is not None
        assert watch.stdout.readline().split("\t")[0] == "seq"
        assert watch.stdout.readline().split("\t")[0] == "1"
        watch.send_signal(signal.SIGINT)
        _, errors = watch.communicate(timeout=PATIENCE)
    assert (watch.returncode, errors) == (130, "")
    with Client(collector.url) as client:
        assert client.run(run.run)["status"] == "running"


def test_watch_of_an_unknown_run_says_how_to_find_one(collector: CollectorProcess):
    with watching(collector.url, "f" * 32) as watch:
        shown, errors = watch.communicate(timeout=PATIENCE)
    assert (watch.returncode, shown) == (1, "")
    assert "playhead runs" in errors
    assert "Traceback" not in errors


def test_more_streams_than_allowed_are_asked_to_come_back_and_get_in_when_one_ends(collector: CollectorProcess):
    run = live_run(collector)
    path = f"/api/v1/runs/{run.run}/events"
    with (
        httpx.Client(base_url=collector.url, headers=STREAMED, timeout=PATIENCE, trust_env=False) as http,
        Client(collector.url) as client,
        ThreadPoolExecutor(1) as thread,
        ExitStack() as streams,
    ):
        for _ in range(STREAMS):
            streams.enter_context(stream(http, path))
        for refused in (http.get(path), http.get("/api/v1/runs/stream")):
            assert refused.status_code == 503
            assert int(refused.headers["retry-after"]) > 0
            assert "PLAYHEAD_MAX_STREAMS" in refused.text
        assert http.get(path, headers={"accept": "application/json"}).status_code == 200
        waiting = thread.submit(lambda: next(iter(client.watch(run.run, limit=1))))
        with pytest.raises(TimeoutError):
            waiting.result(0.5)
        streams.close()
        assert waiting.result(PATIENCE)["seq"] == 1


def test_a_collector_that_stops_ends_its_streams_and_clients_go_on_when_it_is_back(collector: CollectorProcess):
    run = live_run(collector)
    with (
        httpx.Client(base_url=collector.url, headers=STREAMED, timeout=PATIENCE, trust_env=False) as http,
        watching(collector.url, run.run, "--json") as watch,
        stream(http, "/api/v1/runs/stream") as response,
    ):
        shown = next_events(watch, 1)
        assert collector.stop() == 0
        # The stream has said its end: it was not cut off when the time for requests under way was over.
        *_, last = response.read().decode().strip().split("\n\n")
        assert last == 'event: end\ndata: {"reason":"stopping","reconnect":true,"status":null}'
        assert "Traceback" not in collector.log()
        collector.start()
        grow_and_end(collector.url, run, 2)
        shown += rest(watch)
    with Client(collector.url) as client:
        assert [event["id"] for event in shown] == [event["id"] for event in client.events(run.run)]


def growing_with_each_connection(url: str, run: MadeUpRun) -> Callable[[int], None]:
    """Before each connection of a client the run grows, so that the client has missed something; then it ends."""

    def connected(number: int) -> None:
        if number <= ENDS_IN_AN_HOUR:
            grow(url, run, 1)
        elif number == ENDS_IN_AN_HOUR + 1:
            end(url, run)

    return connected


def test_a_client_follows_a_run_over_all_ends_of_its_stream_in_an_hour(ending: CollectorProcess):
    run = live_run(ending)
    transport = Counting(growing_with_each_connection(ending.url, run))
    with Client(ending.url, transport=transport) as watcher, Client(ending.url) as client:
        seen = [event["id"] for event in watcher.watch(run.run)]
        assert seen == [event["id"] for event in client.events(run.run)]


async def test_a_client_that_awaits_answers_follows_a_run_as_long(ending: CollectorProcess):
    run = live_run(ending)
    transport = CountingAsync(growing_with_each_connection(ending.url, run))
    async with AsyncClient(ending.url, transport=transport) as watcher:
        seen = [event["id"] async for event in watcher.watch(run.run)]
        assert seen == [event["id"] async for event in watcher.events(run.run)]


def test_a_client_follows_all_runs_as_long(ending: CollectorProcess):
    run = MadeUpRun(3, live=True)

    def connected(number: int) -> None:
        if number == 2:
            send(ending.url, [run])
        elif 2 < number <= ENDS_IN_AN_HOUR:
            grow(ending.url, run, 1)
        elif number == ENDS_IN_AN_HOUR + 1:
            end(ending.url, run)

    with Client(ending.url, transport=Counting(connected)) as watcher, Client(ending.url) as client:
        seen: list[str] = []
        for event in watcher.watch():
            if event["run"] == run.run:
                seen.append(event["id"])
                if event["kind"] == "run_completed":
                    break
        assert seen == [event["id"] for event in client.events(run.run)]


def test_the_command_follows_a_run_as_long(ending: CollectorProcess):
    run = live_run(ending)
    with (
        httpx.Client(base_url=ending.url, timeout=PATIENCE, trust_env=False) as http,
        Client(ending.url) as client,
        watching(ending.url, run.run, "--json") as watch,
    ):
        shown = next_events(watch, client.run(run.run)["events"])
        before = answered_streams(http)
        until = time.monotonic() + PATIENCE
        while answered_streams(http) < before + ENDS_IN_AN_HOUR:
            assert time.monotonic() < until
        grow(ending.url, run, 1)
        end(ending.url, run)
        shown += rest(watch)
        assert [event["id"] for event in shown] == [event["id"] for event in client.events(run.run)]


def answered_streams(http: httpx.Client) -> int:
    """How many streams of one run have ended so far, as /metrics says."""
    lines = http.get("/metrics").text.splitlines()
    found = [line for line in lines if line.startswith("playhead_requests_total") and "/runs/{run}/events" in line]
    return sum(int(float(line.rpartition(" ")[2])) for line in found)

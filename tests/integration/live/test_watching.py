"""`playhead watch`, and clients of a collector that stops, comes back, or has as many streams as it may."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import httpx
import pytest

from playhead.client import Client
from playhead_collector.process import CollectorProcess
from tests.benchmarks.made_up import MadeUpRun, send
from tests.integration.live.growing import end, grow, grow_and_end

PATIENCE = 60.0
STREAMS = 2
# A collector finishes what is under way within 10 s; streams that did not end would take all of them.
DRAIN_SECONDS = 10
ENV = {"PLAYHEAD_STREAM_HEARTBEAT_SECONDS": "0.2", "PLAYHEAD_MAX_STREAMS": str(STREAMS)}
STREAMED = {"accept": "text/event-stream"}


@pytest.fixture(scope="module")
def collector(module_database_url: str) -> Iterator[CollectorProcess]:
    """One that comes back at the same port when it is started again."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    with CollectorProcess(database_url=module_database_url, env=ENV, port=port) as running:
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
            assert streams.enter_context(http.stream("GET", path)).status_code == 200
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
        http.stream("GET", "/api/v1/runs/stream") as response,
    ):
        shown = next_events(watch, 1)
        began = time.monotonic()
        assert collector.stop() == 0
        assert time.monotonic() - began < DRAIN_SECONDS
        *_, last = response.read().decode().strip().split("\n\n")
        assert last == 'event: end\ndata: {"reason":"stopping","reconnect":true,"status":null}'
        assert "Traceback" not in collector.log()
        collector.start()
        grow_and_end(collector.url, run, 2)
        shown += rest(watch)
    with Client(collector.url) as client:
        assert [event["id"] for event in shown] == [event["id"] for event in client.events(run.run)]

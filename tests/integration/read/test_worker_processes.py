"""Analysis questions in processes of their own: hostile texts hold up nobody, and a killed process is one refusal."""

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import psutil
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from playhead.model.canonical import content_of
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.process import CollectorProcess
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import connect
from playhead_collector.workers.process import BACKGROUND_NICE, QUESTIONS_NICE
from tests.integration.read.recorded import conversation
from tests.support.adversarial import SIZE, TEXTS
from tests.support.recorded_hostile_run import hostile

T = TypeVar("T")
# Of a question; enough for the first one in a worker process on a busy machine, which imports what it needs.
SECONDS = 2.0
# What a question may take besides its time: the start of a process on a machine that does other things.
MARGIN_SECONDS = 20.0
# For what happens in the end.
PATIENCE = 60.0
# Others use the machine, too; a question that held up the collector would cost the whole of its time.
SLACK_SECONDS = 0.3
# Refusals that say to ask again: on a busy machine, a process starts for longer than a question waits.
_ASK_AGAIN = {"analysis_not_started", "too_many_questions"}
# What looks too slow is asked again: others use the machine.
_MOST_ATTEMPTS = 10
WORKER = "playhead_collector.workers.worker"
# PLAYHEAD_LONG_TEXTS=all asks about all of them, which takes a minute.
HARDEST = "JSON in JSON"
ASKED = TEXTS if os.environ.get("PLAYHEAD_LONG_TEXTS") == "all" else (HARDEST, "truncated JSON of HTML")
RUNS = {name: uuid4().hex for name in ASKED}
PLAIN = uuid4().hex
QUESTIONS = ("decisions", "attributions", "causes/{last}", "compressions", "tokens", "reasoning/{last}", "diff")
# They take the same texts apart, so the text that costs most stands for the others.
ON_ONE_TEXT = ("tokens?split=true", "suspects", "tree", "compare/{plain}")


def ingest(url: str, batches: list[Batch]) -> None:
    async def all_of_them() -> None:
        store = await connect(url, pool_size=1)
        for batch in batches:
            await store.spans.ingest(PROJECT, batch)
        await store.close()

    asyncio.run(all_of_them())


@pytest.fixture(scope="module")
def database(module_database_url: str) -> str:
    """The URL of a database that holds the run `PLAIN`."""
    ingest(module_database_url, [conversation(PLAIN, 3).batch()])
    return module_database_url


@pytest.fixture(scope="module")
def collector(database: str) -> Iterator[CollectorProcess]:
    ingest(database, [hostile(run, TEXTS[name](SIZE)).batch() for name, run in RUNS.items()])
    env = {"PLAYHEAD_ANALYSIS_SECONDS": str(SECONDS)}
    with CollectorProcess(database_url=database, env=env) as collector:
        yield collector
        assert "Traceback" not in collector.log()


@pytest.fixture(scope="module")
def patient(database: str) -> Iterator[CollectorProcess]:
    """A collector whose questions have so much time that other ends of them come first."""
    with CollectorProcess(database_url=database, env={"PLAYHEAD_ANALYSIS_SECONDS": str(PATIENCE)}) as collector:
        yield collector
        assert "Traceback" not in collector.log()


@pytest.fixture
def http(collector: CollectorProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=collector.url, timeout=120, trust_env=False) as http:
        yield http


@pytest.fixture
def patient_http(patient: CollectorProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=patient.url, timeout=120, trust_env=False) as http:
        yield http


def workers_of(pid: int, nice: int = QUESTIONS_NICE) -> list[psutil.Process]:
    """The worker processes of a collector that answer questions; or those that are nicer than it by `nice`."""
    wanted = min(19, psutil.Process(pid).nice() + nice)
    return [child for child in psutil.Process(pid).children() if is_worker(child, wanted)]


def is_worker(process: psutil.Process, nice: int) -> bool:
    try:
        return WORKER in process.cmdline() and process.nice() == nice
    except psutil.NoSuchProcess:  # it has just ended
        return False


def spans() -> bytes:
    request = ExportTraceServiceRequest()
    scope_spans = request.resource_spans.add().scope_spans.add()
    trace = uuid4().bytes
    for number in range(1, 51):
        span = scope_spans.spans.add(name="x", start_time_unix_nano=number, end_time_unix_nano=number + 1)
        span.trace_id, span.span_id = trace, number.to_bytes(8, "big")
    return request.SerializeToString()


@dataclass
class Watched:
    """How long others waited meanwhile, in seconds."""

    probes: list[float] = field(default_factory=list[float])
    batches: list[float] = field(default_factory=list[float])


@contextmanager
def watched(url: str) -> Generator[Watched]:
    """Sends spans and asks for `/healthz`, one after the other, as long as the block takes."""
    seen, over = Watched(), threading.Event()

    def go_on() -> None:
        with httpx.Client(base_url=url, timeout=60, trust_env=False) as http:
            while not over.wait(0.01):
                began = time.perf_counter()
                http.get("/healthz").raise_for_status()
                probed = time.perf_counter()
                body = spans()
                sent = time.perf_counter()
                headers = {"content-type": "application/x-protobuf"}
                http.post("/v1/traces", content=body, headers=headers).raise_for_status()
                seen.probes.append(probed - began)
                seen.batches.append(time.perf_counter() - sent)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def p99(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]


def ask(http: httpx.Client, path: str, **options: Any) -> httpx.Response:
    """The answer.  Asks again while no process is ready or free, as clients are told to."""
    until = time.monotonic() + PATIENCE
    while True:
        answer = http.get(path, **options)
        if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE or answer.json()["error"]["code"] not in _ASK_AGAIN:
            return answer
        assert time.monotonic() < until, f"no process has answered {path}: {answer.text}"


def in_time(http: httpx.Client, path: str) -> None:
    """Raises AssertionError unless the question is answered, or refused because it takes too long."""
    taken: list[float] = []
    for _ in range(3):
        answer = ask(http, path)
        if answer.status_code != httpx.codes.OK:
            error = answer.json()["error"]
            assert (answer.status_code, error["code"]) == (503, "took_too_long"), (path, error)
        taken.append(answer.elapsed.total_seconds())
        if taken[-1] < SECONDS + MARGIN_SECONDS:
            return
    raise AssertionError(f"{path} took {taken} s")


def assert_holds_up_nobody(http: httpx.Client, collector: CollectorProcess, path: str, without: Watched) -> None:
    """Raises AssertionError unless others wait about as long as without the question, at least once."""
    waits: list[tuple[float, float]] = []
    for _ in range(_MOST_ATTEMPTS):
        with watched(collector.url) as meanwhile:
            in_time(http, path)
        waits.append((max(meanwhile.batches, default=0), max(meanwhile.probes, default=0)))
        if all(
            most <= 1.2 * p99(usual) + SLACK_SECONDS
            for most, usual in zip(waits[-1], (without.batches, without.probes), strict=True)
        ):
            return
    raise AssertionError(f"during {path}, others waited up to {waits} s")


@pytest.mark.slow
def test_hostile_texts_are_answered_or_refused_in_time_while_spans_are_taken(
    collector: CollectorProcess, http: httpx.Client
):
    last = {run: http.get(f"/api/v1/runs/{run}").json()["events"] for run in RUNS.values()}  # projected, too
    with watched(collector.url) as without:
        time.sleep(1)  # how long others wait while nothing is asked: that has to be measured for a while
        until(lambda: len(without.batches) >= 10)
    for run in RUNS.values():
        for question in QUESTIONS:
            path = f"/api/v1/runs/{run}/{question.format(last=last[run] - 2)}"
            assert_holds_up_nobody(http, collector, path, without)


@pytest.mark.slow
def test_questions_that_share_their_readers_answer_or_refuse_hostile_texts_in_time(http: httpx.Client):
    run = RUNS[HARDEST]
    for question in ON_ONE_TEXT:
        in_time(http, f"/api/v1/runs/{run}/{question.format(plain=PLAIN)}")
    in_time(http, f"/api/v1/content/{content_of(TEXTS[HARDEST](SIZE)).ref}/about")


def test_answers_and_refusals_are_those_of_the_questions(patient_http: httpx.Client):
    path = f"/api/v1/runs/{PLAIN}"
    found = ask(patient_http, f"{path}/attributions", params={"limit": 2})
    assert found.headers["content-type"] == "application/json"
    assert [item["name"] for item in found.json()["items"]] == ["search", "search"]
    assert ask(patient_http, f"{path}/decisions/999999").status_code == httpx.codes.NOT_FOUND
    assert ask(patient_http, f"{path}/causes/1").json().keys() >= {"nodes", "edges"}
    nobody = ask(patient_http, f"/api/v1/runs/{'0' * 32}/tokens")
    assert (nobody.status_code, nobody.json()["error"]["code"]) == (404, "no_such_run")


def test_what_has_just_arrived_is_in_the_answer(module_database_url: str, patient_http: httpx.Client):
    run = uuid4().hex
    for turns in (1, 2):
        ingest(module_database_url, [conversation(run, turns).batch()])
        assert len(ask(patient_http, f"/api/v1/runs/{run}/attributions").json()["items"]) == turns


def test_a_process_that_is_killed_amid_a_question_is_one_clear_refusal(patient: CollectorProcess):
    with stopped(patient) as (http, worker, ask_it):
        answer = ask_it()
        worker.kill()
        refused = answer.result()
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "analysis_ended")
        assert refused.headers["retry-after"] == "1"
        assert ask(http, f"/api/v1/runs/{PLAIN}/tokens").status_code == httpx.codes.OK
    assert [each.pid for each in workers_of(patient.pid)] != [worker.pid]


def test_a_client_that_goes_away_gives_its_question_up(patient: CollectorProcess):
    address = urlsplit(patient.url)
    with stopped(patient) as (http, worker, _):
        failed = figure(http, "failed")
        with socket.create_connection((address.hostname, address.port)) as client:
            client.sendall(f"GET /api/v1/runs/{PLAIN}/decisions HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode())
            until(lambda: figure(http, "running") == 1)
        wait_gone(worker.pid)
        until(lambda: figure(http, "failed") > failed)
        assert ask(http, f"/api/v1/runs/{PLAIN}/tokens").status_code == httpx.codes.OK


def test_nothing_is_left_of_a_collector_that_is_killed_or_stopped(database: str):
    for end in (CollectorProcess.kill, CollectorProcess.stop):
        with CollectorProcess(database_url=database) as collector:
            with httpx.Client(base_url=collector.url, timeout=120, trust_env=False) as http:
                ask(http, f"/api/v1/runs/{PLAIN}/tokens").raise_for_status()
            (worker,) = workers_of(collector.pid)
            end(collector)
            wait_gone(worker.pid)
            assert "Traceback" not in collector.log()


def test_without_processes_the_collector_answers_itself(database: str):
    env = {"PLAYHEAD_ANALYSIS_PROCESSES": "0"}
    with CollectorProcess(database_url=database, env=env) as collector:
        httpx.get(f"{collector.url}/api/v1/runs/{PLAIN}/attributions", timeout=60).raise_for_status()
        assert workers_of(collector.pid) == []


def test_background_work_keeps_no_question_waiting(database: str):
    env = {"PLAYHEAD_SEAL_AFTER_SECONDS": "0.1", "PLAYHEAD_ANALYSIS_SECONDS": str(PATIENCE)}
    with CollectorProcess(database_url=database, env=env) as collector:
        found = until(lambda: workers_of(collector.pid, BACKGROUND_NICE))  # which indexes the run
        found[0].suspend()
        try:
            with httpx.Client(base_url=collector.url, timeout=120, trust_env=False) as http:
                assert ask(http, f"/api/v1/runs/{PLAIN}/tokens").status_code == httpx.codes.OK
            assert found[0].status() == psutil.STATUS_STOPPED
        finally:
            found[0].kill()


Ask = Callable[[], "Future[httpx.Response]"]


@contextmanager
def stopped(collector: CollectorProcess) -> Generator[tuple[httpx.Client, psutil.Process, Ask]]:
    """A client, the worker process, which stands still, and what asks it and returns once the question is with it."""

    def ask_it() -> "Future[httpx.Response]":
        answer = thread.submit(http.get, f"/api/v1/runs/{PLAIN}/decisions")
        while figure(http, "running") == 0 and not answer.done():
            pass
        return answer

    with (
        httpx.Client(base_url=collector.url, timeout=120, trust_env=False) as http,
        ThreadPoolExecutor(1) as thread,
    ):
        ask(http, f"/api/v1/runs/{PLAIN}/tokens").raise_for_status()
        (worker,) = workers_of(collector.pid)
        worker.suspend()
        try:
            yield http, worker, ask_it
        finally:
            if worker.is_running():
                worker.kill()


def figure(http: httpx.Client, name: str) -> float:
    lines = http.get("/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"playhead_analysis_{name} "))


def wait_gone(pid: int) -> None:

    def has_ended() -> bool:
        try:
            return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    until(has_ended)


def until(found: Callable[[], T]) -> T:
    deadline = time.monotonic() + PATIENCE
    while not (it := found()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return it

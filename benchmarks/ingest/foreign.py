"""I2: how many spans of somebody else's instrumentation a collector takes, with 20 kB of inline messages in each.

The same requests go to a real Phoenix in the same run, where `make peers PEERS=install` has installed one.
"""

import os
import random
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import tempfile
import time
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import httpx

from benchmarks.collector import BenchCollector, collector
from benchmarks.ingest.taken import wait_projected
from playhead.model.span import Span
from playhead.outbound.otlp import traces_request
from tests.support.bar import Row, at_least, not_measured, told

_PHOENIX = Path(os.environ.get("PLAYHEAD_PEERS", ".venv-peers")) / "bin" / "phoenix"
_SENDERS, _ROUNDS = 4, 3
_CALLS = 10
# 24 kB at most, 16 kB at least, 20 kB on average: a prompt that all share, and a conversation that grows.
_SYSTEM_BYTES, _MESSAGE_BYTES, _FIRST = 4_000, 800, 14
_RUNS, _PHOENIX_RUNS = 400, 60
_RUNS_PER_REQUEST = 10
_WITHIN_SECONDS = 300.0


def measure() -> Iterator[Row]:
    """Requests are made beforehand; clients and receivers share the machine."""
    with collector() as at:
        rounds = [_round(at, seed) for seed in range(_ROUNDS)]
    spans = _RUNS * _CALLS
    taken = statistics.median(spans / seconds for seconds, _, _ in rounds)
    readable = statistics.median(spans / seconds for _, seconds, _ in rounds)
    size = rounds[0][2] / spans / 1_000
    against = f"{spans:,} spans of {size:.1f} kB, {_SENDERS} senders, {_RUNS_PER_REQUEST * _CALLS} in a request"
    yield at_least("I2", "foreign spans taken", taken, 1_640, unit="spans/s", against=against)
    yield told("I2", "taken and projected", readable, unit="spans/s", against="until the last run's events can be read")
    if not _PHOENIX.exists():
        yield not_measured("I2", "the same in Phoenix", "make peers PEERS=install installs it")
        return
    theirs = _phoenix()
    yield told(
        "I2", "the same in Phoenix", theirs, unit="spans/s", against=f"{_PHOENIX_RUNS * _CALLS:,} of these spans"
    )
    yield at_least("I2", "foreign spans, against Phoenix", taken / theirs, 10, unit="x", against="in the same run")


def _round(at: BenchCollector, seed: int) -> tuple[float, float, int]:
    """Seconds until all is acknowledged, and until all is projected; and the size of all requests in bytes."""
    bodies = _bodies(_RUNS, seed)
    with httpx.Client(base_url=at.url, timeout=120, trust_env=False) as http:
        began = time.perf_counter()
        _send(http, bodies)
        taken = time.perf_counter() - began
        wait_projected(http)
        return taken, time.perf_counter() - began, sum(map(len, bodies))


def _send(http: httpx.Client, bodies: list[bytes]) -> None:
    def post(body: bytes) -> None:
        http.post("/v1/traces", content=body, headers={"content-type": "application/x-protobuf"}).raise_for_status()

    with ThreadPoolExecutor(_SENDERS) as threads:
        list(threads.map(post, bodies))


def _bodies(runs: int, seed: int) -> list[bytes]:
    """Requests as an exporter without compression sends them."""
    chance = random.Random(seed)
    system = _text(chance, _SYSTEM_BYTES)
    groups = [range(start, min(start + _RUNS_PER_REQUEST, runs)) for start in range(0, runs, _RUNS_PER_REQUEST)]
    return [traces_request([span for _ in group for span in _run(chance, system)]) for group in groups]


def _run(chance: random.Random, system: str) -> list[Span]:
    """Model calls of one conversation, as OpenInference's instrumentations write them."""
    trace, start_ns = f"{chance.getrandbits(128):032x}", time.time_ns()
    said = [_text(chance, _MESSAGE_BYTES) for _ in range(_FIRST + 2 * _CALLS)]
    ids = [f"{chance.getrandbits(64):016x}" for _ in range(_CALLS + 1)]
    root = {"openinference.span.kind": "AGENT", "session.id": f"session-{trace[:6]}"}
    spans = [Span(trace, ids[0], None, "agent", start_ns, start_ns + 10**9, root, scope="openinference")]
    for call in range(_CALLS - 1):
        given = [system, *said[: _FIRST + 2 * call]]
        attributes = {"openinference.span.kind": "LLM", "llm.model_name": "gpt-4o", "llm.token_count.prompt": 5_000}
        for number, text in enumerate(given):
            role = "system" if number == 0 else ("user", "assistant")[(number - 1) % 2]
            attributes[f"llm.input_messages.{number}.message.role"] = role
            attributes[f"llm.input_messages.{number}.message.content"] = text
        attributes["llm.output_messages.0.message.role"] = "assistant"
        attributes["llm.output_messages.0.message.content"] = said[_FIRST + 2 * call]
        at_ns = start_ns + (call + 1) * 10**7
        named = (trace, ids[call + 1], ids[0], "ChatOpenAI", at_ns, at_ns + 10**6, attributes)
        spans.append(Span(*named, scope="openinference"))
    return spans


_WORDS = ("order", "parcel", "weather", "refund", "ticket", "account", "delivery", "invoice", "customer", "question")


def _text(chance: random.Random, size: int) -> str:
    words: list[str] = []
    while size > 0:
        words.append(f"{chance.choice(_WORDS)}{chance.randrange(1000)}")
        size -= len(words[-1]) + 1
    return " ".join(words)


# --- Phoenix ---------------------------------------------------------------------------------------------------------


def _phoenix() -> float:
    """Spans per second of a Phoenix on SQLite, its default, until all are in its database."""
    bodies = _bodies(_PHOENIX_RUNS, 99)
    with _running_phoenix() as (http, database):
        _send(http, bodies[:1])
        _wait_stored(database, _RUNS_PER_REQUEST * _CALLS)
        began = time.perf_counter()
        for body in bodies[1:]:
            while http.post("/v1/traces", content=body, headers={"content-type": "application/x-protobuf"}).is_error:
                time.sleep(0.1)  # its queue is full
        _wait_stored(database, _PHOENIX_RUNS * _CALLS)
        return (_PHOENIX_RUNS - _RUNS_PER_REQUEST) * _CALLS / (time.perf_counter() - began)


def _wait_stored(database: Path, spans: int) -> None:
    deadline = time.monotonic() + _WITHIN_SECONDS
    while True:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            stored = connection.execute("select count(*) from spans").fetchone()[0]
        if stored >= spans:
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"Phoenix has stored {stored} of {spans} spans")
        time.sleep(0.05)


@contextmanager
def _running_phoenix() -> Generator[tuple[httpx.Client, Path]]:
    folder = Path(tempfile.mkdtemp(prefix="playhead-phoenix-"))
    port, grpc_port = _free_port(), _free_port()
    env = {
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(grpc_port),
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_DISABLE_AGENT_ASSISTANT": "true",
    }
    log = (folder / "log").open("wb")
    process = subprocess.Popen([_PHOENIX, "serve"], env={**os.environ, **env}, stdout=log, stderr=log)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120, trust_env=False) as http:
            deadline = time.monotonic() + _WITHIN_SECONDS
            while not _answers(http):
                if time.monotonic() > deadline or process.poll() is not None:
                    raise TimeoutError("Phoenix does not start: " + (folder / "log").read_text(errors="replace")[-500:])
                time.sleep(0.25)
            yield http, folder / "phoenix.db"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        log.close()
        shutil.rmtree(folder, ignore_errors=True)


def _answers(http: httpx.Client) -> bool:
    try:
        return http.get("/healthz").is_success
    except httpx.TransportError:
        return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]

"""I1: how many spans of our own a collector takes, each durable when it is acknowledged."""

import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx

from playhead.outbound.otlp import traces_request
from tests.benchmarks.bar import ROUNDS, Row, at_least, told
from tests.benchmarks.collector import BenchCollector, collector
from tests.benchmarks.made_up import PROTOBUF, MadeUpRun, packed, post_packed, send_content

_SENDERS = 4
_RUNS, _STEPS = 1_000, 10
_RUNS_PER_REQUEST = 25


def measure() -> Iterator[Row]:
    """Requests are made beforehand; clients and collector share the machine."""
    with collector() as at:
        rounds = [_round(at) for _ in range(ROUNDS)]
    spans = _RUNS * (2 * _STEPS + 1)
    taken = statistics.median(spans / seconds for seconds, _ in rounds)
    readable = statistics.median(spans / seconds for _, seconds in rounds)
    together = _RUNS_PER_REQUEST * (2 * _STEPS + 1)
    against = f"{spans:,} spans of {_RUNS} runs, {_SENDERS} senders, {together} in a request"
    yield at_least("I1", "own spans taken", taken, 5_000, unit="spans/s", against=against)
    yield told("I1", "taken and projected", readable, unit="spans/s", against="until the last run's events can be read")


def _round(at: BenchCollector) -> tuple[float, float]:
    """Seconds until all is acknowledged, and until all is projected."""
    runs = [MadeUpRun(_STEPS) for _ in range(_RUNS)]
    send_content(at.url, runs)
    groups = [runs[start : start + _RUNS_PER_REQUEST] for start in range(0, len(runs), _RUNS_PER_REQUEST)]
    bodies = [packed(traces_request([span for run in group for span in run.spans])) for group in groups]
    with httpx.Client(base_url=at.url, timeout=120, trust_env=False) as http, ThreadPoolExecutor(_SENDERS) as threads:
        began = time.perf_counter()
        list(threads.map(lambda body: post_packed(http, "/v1/traces", body, PROTOBUF), bodies))
        taken = time.perf_counter() - began
        wait_projected(http)
        return taken, time.perf_counter() - began


def wait_projected(http: httpx.Client) -> None:
    """Returns when all that has arrived is projected."""
    while _waiting(http):
        time.sleep(0.05)


def _waiting(http: httpx.Client) -> float:
    lines = http.get("/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("playhead_runs_waiting "))

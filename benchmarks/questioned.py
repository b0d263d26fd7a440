"""Q5: what senders of spans notice of an analysis question, on the longest run stored and on hostile texts."""

import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import cycle
from statistics import median
from uuid import uuid4

import httpx

from benchmarks.collector import BenchCollector, collector
from benchmarks.ingest.taken import wait_projected
from playhead.outbound.otlp import traces_request
from playhead.wire.pack import PACK, Pack, encode_pack
from tests.support.adversarial import SIZE, TEXTS
from tests.support.bar import Row, at_most, percentile, told
from tests.support.made_up_runs import PROTOBUF, MadeUpRun, packed, post_packed, send, send_content
from tests.support.recorded_hostile_run import hostile

_LONGEST_EVENTS, _EVENTS_PER_STEP = 20_000, 6
_SENDERS, _RUNS, _STEPS, _RUNS_PER_REQUEST = 2, 500, 10, 5
_SECONDS = 6.0
# A thousand requests of each kind: the slowest hundredth is ten of them.
_PAIRS = 10
_QUESTIONS = ("attributions", "compressions", "tokens")
# Of answers that come at once: what the way through a process costs.
_SMALL = 200


def measure() -> Iterator[Row]:
    """Rounds with and without questions in turn, since machines change their minds."""
    with collector() as at, httpx.Client(base_url=at.url, timeout=120, trust_env=False) as http:
        longest = MadeUpRun(_LONGEST_EVENTS // _EVENTS_PER_STEP)
        send(at.url, [longest])
        hostiles = [_stored_hostile(at, text(SIZE)) for text in TEXTS.values()]
        events = at.client.run(longest.run)["events"]
        for about, runs in ((f"a run of {events:,} events", [longest.run]), ("texts of 1 MB", hostiles)):
            paths = [f"/api/v1/runs/{run}/{question}" for run in runs for question in _QUESTIONS]
            alone, asked = _rounds(at, http, paths)
            yield from _rows(about, alone, asked)
        yield told("Q5", "a small question", _small(at, http), unit="ms", against="attribution of a 2-step run, p50")


def _rows(about: str, alone: list[float], asked: list[float]) -> Iterator[Row]:
    against = f"{', '.join(_QUESTIONS)} on {about}, one after the other; {_SENDERS} senders at full speed"
    ratio = percentile(asked, 0.99) / percentile(alone, 0.99)
    yield at_most("Q5", f"ingest p99 while asked about {about} ÷ without", ratio, 1.2, unit="", against=against)
    yield told(
        "Q5",
        "ingest p99 without",
        percentile(alone, 0.99) * 1e3,
        unit="ms",
        against=f"p50 {median(alone) * 1e3:.1f} ms",
    )
    yield told(
        "Q5",
        "ingest p99 while asked",
        percentile(asked, 0.99) * 1e3,
        unit="ms",
        against=f"p50 {median(asked) * 1e3:.1f} ms",
    )


def _rounds(at: BenchCollector, http: httpx.Client, paths: list[str]) -> tuple[list[float], list[float]]:
    """Seconds that requests took, without and with questions.

    Either comes first in turn, and each begins when what was sent before is projected: neither has the larger database,
    or the other's work to finish.
    """
    alone: list[float] = []
    asked: list[float] = []
    next_path = cycle(paths).__next__
    for pair in range(_PAIRS):
        for with_questions in (True, False) if pair % 2 else (False, True):
            wait_projected(http)
            if with_questions:
                with _asking(at, next_path):
                    asked += _sent(at, http)
            else:
                alone += _sent(at, http)
    return alone, asked


@contextmanager
def _asking(at: BenchCollector, next_path: Callable[[], str]) -> Generator[None]:
    over = threading.Event()

    def go_on() -> None:
        with httpx.Client(base_url=at.url, timeout=120, trust_env=False) as http:
            while not over.is_set():
                http.get(next_path())

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _sent(at: BenchCollector, http: httpx.Client) -> list[float]:
    """Requests of some hundred spans, for some seconds."""
    runs = [MadeUpRun(_STEPS) for _ in range(_RUNS)]
    send_content(at.url, runs)
    groups = [runs[start : start + _RUNS_PER_REQUEST] for start in range(0, len(runs), _RUNS_PER_REQUEST)]
    bodies = [packed(traces_request([span for run in group for span in run.spans])) for group in groups]
    over = time.perf_counter() + _SECONDS

    def post(body: bytes) -> float | None:
        began = time.perf_counter()
        if began > over:
            return None
        post_packed(http, "/v1/traces", body, PROTOBUF)
        return time.perf_counter() - began

    with ThreadPoolExecutor(_SENDERS) as threads:
        return [seconds for seconds in threads.map(post, bodies) if seconds is not None]


def _stored_hostile(at: BenchCollector, text: str) -> str:
    run = uuid4().hex
    batch = hostile(run, text).batch()
    pack = Pack(tuple(batch.contents), tuple(batch.threads))
    with httpx.Client(base_url=at.url, timeout=120, trust_env=False) as http:
        post_packed(http, "/v1/content", packed(encode_pack(pack)), PACK)
        post_packed(http, "/v1/traces", packed(traces_request(batch.spans)), PROTOBUF)
    return run


def _small(at: BenchCollector, http: httpx.Client) -> float:
    run = MadeUpRun(2)
    send(at.url, [run])
    at.wait_sealed([run.run])
    times: list[float] = []
    for _ in range(_SMALL):
        began = time.perf_counter()
        http.get(f"/api/v1/runs/{run.run}/attributions").raise_for_status()
        times.append(time.perf_counter() - began)
    return median(times) * 1e3

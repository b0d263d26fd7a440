"""I1p, L1: how many spans become events, and how soon.

`PLAYHEAD_BENCH_SECONDS` and `PLAYHEAD_BENCH_EVENTS` make shorter variants for development.
"""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median

import httpx

from benchmarks.collector import BenchCollector, collector
from playhead.export.shipment import announcement
from playhead.outbound.otlp import logs_request, traces_request
from playhead.wire.pack import PACK, encode_pack
from tests.support.bar import Row, at_least, at_most, percentile, told
from tests.support.cpu_of import cpu_seconds
from tests.support.made_up_runs import PROTOBUF, MadeUpRun, packed, post_packed, send_content

_SECONDS = float(os.environ.get("PLAYHEAD_BENCH_SECONDS", "60"))
_EVENTS = int(os.environ.get("PLAYHEAD_BENCH_EVENTS", "50000"))
_FEW_EVENTS, _EVENTS_PER_STEP = 500, 6

# I1p: what is prepared is more than can become readable; a sender waits while so many runs are waiting.
_SENDERS, _STEPS, _RUNS_PER_REQUEST = 2, 10, 25
_SPANS = 2 * _STEPS + 1
_PREPARED_PER_SECOND = 8_000
_MOST_WAITING = 500
_WATCH_SECONDS, _WATCH_END_SECONDS = 0.1, 0.02

# L1: a span each 100 ms, announced 50 ms before it ends.
_TICK_S = 0.1


# --- I1p --------------------------------------------------------------------------------------------------------------


@dataclass
class _Load:
    """Senders that stop for a backlog, and what was seen of it."""

    at: BenchCollector
    bodies: list[bytes]
    sent: int = 0
    most_waiting: int = 0
    _room: threading.Event = field(default_factory=threading.Event)
    _all_sent: threading.Event = field(default_factory=threading.Event)

    def run(self, seconds: float) -> float:
        """Sends for so long, or until nothing is left; spans per second until the last of them can be read."""
        began = time.perf_counter()
        with ThreadPoolExecutor(1) as thread:
            watching = thread.submit(self._watch)
            try:
                self._send_all(began + seconds)
            finally:
                self._all_sent.set()
            watching.result()
        return self.sent * _RUNS_PER_REQUEST * _SPANS / (time.perf_counter() - began)

    def _send_all(self, until: float) -> None:
        with (
            httpx.Client(base_url=self.at.url, timeout=120, trust_env=False) as http,
            ThreadPoolExecutor(_SENDERS) as threads,
        ):
            sending = [
                threads.submit(self._send, http, self.bodies[sender::_SENDERS], until) for sender in range(_SENDERS)
            ]
        for each in sending:
            each.result()

    def _send(self, http: httpx.Client, bodies: Sequence[bytes], until: float) -> None:
        for body in bodies:
            self._room.wait()
            if time.perf_counter() >= until:
                break
            post_packed(http, "/v1/traces", body, PROTOBUF)
            self.sent += 1

    def _watch(self) -> None:
        """Lets senders send while few runs are waiting. Returns when all is sent and no run is waiting any more."""
        try:
            with self.at.asking() as number:
                while True:
                    is_all_sent = self._all_sent.is_set()  # before the question: nothing comes after its answer then
                    waiting = number(_WAITING)
                    if is_all_sent and not waiting:
                        return
                    self.most_waiting = max(self.most_waiting, waiting)
                    if waiting < _MOST_WAITING:
                        self._room.set()
                    else:
                        self._room.clear()
                    if self._all_sent.wait(_WATCH_SECONDS):
                        time.sleep(_WATCH_END_SECONDS)
        finally:
            self._room.set()  # senders do not wait for a watcher that has failed


_WAITING = "select count(*) from run_news where dirty_since_ns is not null"


def measure_sustained() -> Iterator[Row]:
    """Senders go as fast as the backlog lets them; contents are there already, as in I1."""
    with collector() as at:
        load = _Load(at, list(_bodies(at, int(_SECONDS * _PREPARED_PER_SECOND / _SPANS))))
        readable = load.run(_SECONDS)
    against = f"{load.sent * _RUNS_PER_REQUEST * _SPANS:,} spans in {_SECONDS:.0f} s, runs of {_SPANS}"
    yield at_least("I1P", "own spans taken and readable as events", readable, 5_000, unit="spans/s", against=against)
    yield told("I1P", "most runs waiting", load.most_waiting, unit="runs", against=f"senders wait at {_MOST_WAITING}")


def _bodies(at: BenchCollector, runs: int) -> Iterator[bytes]:
    for _ in range(0, runs, _RUNS_PER_REQUEST):
        made = [MadeUpRun(_STEPS) for _ in range(_RUNS_PER_REQUEST)]
        send_content(at.url, made)
        yield packed(traces_request([span for run in made for span in run.spans]))


# --- L1 ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Lived:
    """A live run that grew for a while: times from acknowledgement to readable event, in ms, and CPU per span."""

    events: int
    readable_ms: Sequence[float]
    cpu_ms: float

    @property
    def p95(self) -> float:
        return percentile(self.readable_ms, 0.95)


_POSTMASTER = r"select split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int"


def measure_live() -> Iterator[Row]:
    """A reader asks for the events behind the last one that it has as soon as a span is acknowledged."""
    with collector() as at:
        short, long = (_lived(at, events) for events in (_FEW_EVENTS, _EVENTS))
    grown = f"{len(long.readable_ms)} spans, 10/s"
    what = f"acknowledged to readable, {_EVENTS:,} events, p95"
    against = f"p50 {median(long.readable_ms):.1f} ms; {grown}"
    yield at_most("L1", what, long.p95, 300, unit="ms", against=against)
    yield at_most("L1", "the same ÷ a short run's", long.p95 / short.p95, 3, unit="x", against=_short(short))
    cpu = f"{long.cpu_ms:.1f} ÷ {short.cpu_ms:.1f} ms of collector and Postgres, a reader's questions included"
    yield at_most("L1", "CPU per added span ÷ a short run's", long.cpu_ms / short.cpu_ms, 2, unit="x", against=cpu)


def _short(run: _Lived) -> str:
    return f"{run.p95:.1f} ms, p50 {median(run.readable_ms):.1f} ms at {run.events:,} events"


def _lived(at: BenchCollector, events: int) -> _Lived:
    run = MadeUpRun(events // _EVENTS_PER_STEP, live=True)
    send_content(at.url, [run])
    with httpx.Client(base_url=at.url, timeout=120, trust_env=False) as http:
        post_packed(http, "/v1/logs", packed(logs_request([announcement(run.spans[0])])), PROTOBUF)
        spans = run.spans[1:]
        for start in range(0, len(spans), 1_000):
            post_packed(http, "/v1/traces", packed(traces_request(spans[start : start + 1_000])), PROTOBUF)
        last = at.client.run(run.run)["events"]
        processes = at.pid, at.number(_POSTMASTER)
        with _at_rest(at, run.run):
            before = cpu_seconds(*processes)
            times = list(_grow(http, run, last))
            used = cpu_seconds(*processes) - before
        return _Lived(last, [seconds * 1e3 for seconds in times], used / len(times) * 1e3)


@contextmanager
def _at_rest(at: BenchCollector, run: str) -> Iterator[None]:
    """What the first look at a long run has left to do is not what is measured."""
    while at.number(_WAITING):
        at.client.run(run)
        time.sleep(0.1)
    yield


def _grow(http: httpx.Client, run: MadeUpRun, last: int) -> Iterator[float]:
    until = next_tick = time.perf_counter()
    until += _SECONDS
    while time.perf_counter() < until:
        spans, content = run.step()
        post_packed(http, "/v1/content", packed(encode_pack(content)), PACK)
        for span in spans:
            post_packed(http, "/v1/logs", packed(logs_request([announcement(span)])), PROTOBUF)
            time.sleep(max(0.0, next_tick + _TICK_S / 2 - time.perf_counter()))
            post_packed(http, "/v1/traces", packed(traces_request([span])), PROTOBUF)
            began, readable = time.perf_counter(), False
            while not readable:
                page = http.get(f"/api/v1/runs/{run.run}/events", params={"after": last, "limit": 100})
                items = page.raise_for_status().json()["items"]
                last = max([last, *(item["seq"] for item in items)])
                readable = any(item["span"] == span.span_id and "completed" in item["kind"] for item in items)
            yield time.perf_counter() - began
            next_tick = max(next_tick + _TICK_S, time.perf_counter() - _TICK_S)
            time.sleep(max(0.0, next_tick - time.perf_counter()))

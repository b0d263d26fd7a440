"""I3: a collector that is offered three times what it can take, for ten minutes.

It has to refuse what is too much (503 with Retry-After) in bounded memory, answer probes meanwhile, and lose nothing
that it acknowledged.  `PLAYHEAD_BENCH_SECONDS` makes it shorter for development.
"""

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import MappingProxyType
from uuid import uuid4

import httpx
import psutil

from playhead.client import Client
from playhead.outbound.otlp import traces_request
from playhead_collector.process import CollectorProcess
from tests.support.bar import Row, at_least, at_most, percentile, told
from tests.support.made_up_runs import PROTOBUF, MadeUpRun, send_content

# As of the other collectors that are measured.
_ENV = {"PLAYHEAD_SEAL_AFTER_SECONDS": "1", "PLAYHEAD_ADMIN_KEY": "", "PLAYHEAD_LOG_LEVEL": "warning"}
_SECONDS = float(os.environ.get("PLAYHEAD_BENCH_SECONDS", "600"))
_TIMES, _FIND_OUT_SECONDS = 3, 10.0
_STEPS, _RUNS_PER_REQUEST = 10, 25
_SPANS = SPANS_PER_REQUEST = (2 * _STEPS + 1) * _RUNS_PER_REQUEST
_SENDERS, _CHECKED_RUNS = 64, 400
_MEGABYTE = 1 << 20


class Template:
    """A request of many runs, made once; each copy is of runs of its own, since only their ids differ."""

    def __init__(self, url: str, headers: Mapping[str, str] = MappingProxyType({})) -> None:
        """Sends the contents that the runs name.  `headers`: a key, where one is needed."""
        runs = [MadeUpRun(_STEPS) for _ in range(_RUNS_PER_REQUEST)]
        send_content(url, runs, headers)
        self._body = traces_request([span for run in runs for span in run.spans])
        self._ids = [run.run for run in runs]

    def copy(self) -> tuple[list[str], bytes]:
        """The ids of the runs, and the request.  Trace ids stand in it as bytes, run ids as text, and the last eight
        digits of span ids are the first of the run's."""
        body, ids = self._body, [uuid4().hex for _ in self._ids]
        for old, new in zip(self._ids, ids, strict=True):
            body = body.replace(bytes.fromhex(old), bytes.fromhex(new)).replace(old.encode(), new.encode())
            body = body.replace(bytes.fromhex(old[:8]), bytes.fromhex(new[:8]))
        return ids, body


@dataclass
class _Offers:
    """Senders that do not wait for each other, and what they were answered."""

    collector: CollectorProcess
    template: Template
    statuses: Counter[int] = field(default_factory=Counter[int])
    without_retry_after: int = 0
    acknowledged: list[str] = field(default_factory=list[str])
    probe_ms: list[float] = field(default_factory=list[float])
    most_bytes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _over: threading.Event = field(default_factory=threading.Event)

    def taken_per_second(self) -> float:
        """Requests a second that four senders get acknowledged, each waiting for its answers."""
        began = time.perf_counter()
        self._send_all(4, began + _FIND_OUT_SECONDS, pause=0)
        return self.statuses[200] / (time.perf_counter() - began)

    def offer(self, requests_per_second: float, seconds: float) -> None:
        """Sends so many requests a second, however they are answered."""
        self.statuses.clear()
        watching = [threading.Thread(target=each) for each in (self._watch_memory, self._probe)]
        for thread in watching:
            thread.start()
        try:
            self._send_all(_SENDERS, time.perf_counter() + seconds, pause=_SENDERS / requests_per_second)
        finally:
            self._over.set()
            for thread in watching:
                thread.join()

    def _send_all(self, senders: int, until: float, pause: float) -> None:
        with ThreadPoolExecutor(senders) as threads:
            for sending in [threads.submit(self._send, until, pause) for _ in range(senders)]:
                sending.result()

    def _send(self, until: float, pause: float) -> None:
        due = time.perf_counter() + random.random() * pause
        with httpx.Client(base_url=self.collector.url, timeout=60, trust_env=False) as http:
            while (now := time.perf_counter()) < until:
                if now < due:
                    time.sleep(min(due, until) - now)
                due = max(due + pause, time.perf_counter() - pause)
                runs, body = self.template.copy()
                self._note(http.post("/v1/traces", content=body, headers={"content-type": PROTOBUF}), runs)

    def _note(self, answer: httpx.Response, runs: list[str]) -> None:
        with self._lock:
            self.statuses[answer.status_code] += 1
            if answer.status_code == httpx.codes.OK:
                self.acknowledged += runs
            elif "retry-after" not in answer.headers:
                self.without_retry_after += 1

    def _watch_memory(self) -> None:
        process = psutil.Process(self.collector.pid)
        while not self._over.wait(0.25):
            self.most_bytes = max(self.most_bytes, process.memory_info().rss)

    def _probe(self) -> None:
        with httpx.Client(base_url=self.collector.url, timeout=60, trust_env=False) as http:
            while not self._over.wait(0.1):
                began = time.perf_counter()
                http.get("/healthz").raise_for_status()
                self.probe_ms.append((time.perf_counter() - began) * 1e3)


def measure() -> Iterator[Row]:
    """Senders and collector share the machine, so what is offered is what the senders manage."""
    with CollectorProcess(env=_ENV) as collector:
        offers = _Offers(collector, Template(collector.url))
        capacity = offers.taken_per_second()
        offers.offer(_TIMES * capacity, _SECONDS)
        lost = _lost(collector.url, offers.acknowledged)
    answers = sum(offers.statuses.values())
    taken, refused = offers.statuses[200], offers.statuses[503]
    offered = f"{answers / _SECONDS * _SPANS:,.0f} spans/s offered for {_SECONDS:.0f} s; alone {capacity * _SPANS:,.0f}"
    yield at_most("I3", "most memory", offers.most_bytes / _MEGABYTE, 600, unit="MB", against=offered)
    yield at_most("I3", "acknowledged runs that are not whole", lost, 0, unit="runs", against=_checked(offers))
    kinds = f"{taken:,} taken, {refused:,} x 503, statuses {dict(offers.statuses)}"
    yield at_most("I3", "neither taken nor 503", answers - taken - refused, 0, unit="requests", against=kinds)
    yield at_most("I3", "503 without Retry-After", offers.without_retry_after, 0, unit="requests", against="")
    yield at_least("I3", "spans taken meanwhile", taken * _SPANS / _SECONDS, 5_000, unit="spans/s", against="")
    yield told("I3", "GET /healthz, p99", percentile(offers.probe_ms, 0.99), unit="ms", against="")


def _checked(offers: _Offers) -> str:
    return f"{min(_CHECKED_RUNS, len(offers.acknowledged))} of {len(offers.acknowledged):,}, drawn at random"


def _lost(url: str, acknowledged: list[str]) -> int:
    """Of runs drawn at random, those that do not have all their spans.

    Spans can be read as soon as they are acknowledged. What waits for its projection is not waited for: after ten
    minutes of overload that takes longer than the overload did (I1P measures it).
    """
    runs = random.sample(acknowledged, min(_CHECKED_RUNS, len(acknowledged)))
    with Client(url) as client:
        return sum(len(list(client.spans(run))) != 2 * _STEPS + 1 for run in runs)

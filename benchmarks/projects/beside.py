"""P1: what a loud project costs a quiet one on the same collector.

The quiet project has a run that grows by ten spans per second. How soon each can be seen is measured alone, and beside
a project that offers three times what the collector can take. `PLAYHEAD_BENCH_SECONDS` makes it shorter.
"""

import json
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

import httpx

from benchmarks.projects.loud import SPANS_PER_REQUEST, Loud, capacity, offering
from benchmarks.projects.tenants import Tenants, tenants
from playhead.outbound.otlp import traces_request
from playhead.wire.pack import PACK, encode_pack
from tests.support.bar import Row, at_most, percentile, told
from tests.support.made_up_runs import PROTOBUF, MadeUpRun, packed, send_content

_SECONDS = float(os.environ.get("PLAYHEAD_BENCH_SECONDS", "30"))
_FIND_OUT_SECONDS = 10.0
_TIMES = 3
_TICK_S = 0.1
_PATIENCE_S = 60.0
_STEPS = 80
_REFUSED = (429, 503)


@dataclass
class _Seen:
    """Times from when a span was recorded until it was seen, in ms, and how often the quiet project was refused."""

    listed_ms: list[float] = field(default_factory=list[float])
    live_ms: list[float] = field(default_factory=list[float])
    refused: int = 0


def measure() -> Iterator[Row]:
    """Alone, then beside the loud project, and alone again: alone is what both give together."""
    with tenants("quiet", "loud") as at:
        alone = _Seen()
        _watch(at, alone, _SECONDS / 2)
        most = capacity(at.url, at.keys["loud"], _FIND_OUT_SECONDS)
        beside = _Seen()
        with offering(at.url, at.keys["loud"], _TIMES * most, _SECONDS + 5) as loud:
            _watch(at, beside, _SECONDS)
        _wait_until_quiet(at)
        _watch(at, alone, _SECONDS / 2)
    against = f"{_offered(loud, most)}; the quiet project was refused {beside.refused} times"
    for what, times, times_alone in (
        ("in the list", beside.listed_ms, alone.listed_ms),
        ("in a live stream", beside.live_ms, alone.live_ms),
    ):
        yield at_most(
            "P1",
            f"recorded to {what} beside a loud project ÷ alone, p95",
            percentile(times, 0.95) / percentile(times_alone, 0.95),
            2,
            unit="x",
            against=f"{_figures(times)} ÷ {_figures(times_alone)}",
        )
    taken = loud.per_second("200") * SPANS_PER_REQUEST
    yield told("P1", "taken of the loud project", taken, unit="spans/s", against=against)


def _figures(times: Sequence[float]) -> str:
    return f"{percentile(times, 0.95):.0f} ms (p50 {median(times):.0f} ms, {len(times)} spans)"


def _offered(loud: Loud, most: float) -> str:
    offered, alone = loud.per_second() * SPANS_PER_REQUEST, most * SPANS_PER_REQUEST
    return f"{offered:,.0f} spans/s offered, {alone:,.0f} is what the collector takes"


def _wait_until_quiet(at: Tenants) -> None:
    """Until what the loud project sent is projected."""
    with at.http("loud") as http:
        deadline = time.perf_counter() + 10 * _PATIENCE_S
        while time.perf_counter() < deadline:
            began = time.perf_counter()
            runs = http.get("/api/v1/runs", params={"limit": 100}).raise_for_status().json()["items"]
            if all(run["status"] != "running" for run in runs) and time.perf_counter() - began < 1:
                return
            time.sleep(1)


def _watch(at: Tenants, seen: _Seen, seconds: float) -> None:
    run = MadeUpRun(_STEPS, live=True)
    send_content(at.url, [run], at.headers("quiet"))
    with at.http("quiet") as http:
        _post(http, "/v1/traces", packed(traces_request(run.spans)), PROTOBUF, seen)
        http.get(f"/api/v1/runs/{run.run}").raise_for_status()
        follower = _Follower(at, run.run)
        follower.start()
        try:
            _grow(http, run, follower, seen, time.perf_counter() + seconds)
        finally:
            follower.stop()


def _grow(http: httpx.Client, run: MadeUpRun, follower: "_Follower", seen: _Seen, until: float) -> None:
    due = time.perf_counter()
    while due < until:
        spans, content = run.step()
        _post(http, "/v1/content", packed(encode_pack(content)), PACK, seen)
        for span in spans:
            time.sleep(max(0.0, due - time.perf_counter()))
            known, recorded = _events(http, run.run), time.perf_counter()
            _post(http, "/v1/traces", packed(traces_request([span])), PROTOBUF, seen)
            while _events(http, run.run) <= known:
                if time.perf_counter() > recorded + _PATIENCE_S:
                    raise TimeoutError(f"a span is not in the list after {_PATIENCE_S:.0f} s")
            seen.listed_ms.append((time.perf_counter() - recorded) * 1e3)
            seen.live_ms.append((follower.when(span.span_id) - recorded) * 1e3)
            due = max(due + _TICK_S, time.perf_counter())


def _events(http: httpx.Client, run: str) -> int:
    """How many events a run has, as the list of runs says."""
    listed = http.get("/api/v1/runs", params={"limit": 20}).raise_for_status().json()["items"]
    return next(row["events"] for row in listed if row["run"] == run)


def _post(http: httpx.Client, path: str, body: bytes, media_type: str, seen: _Seen) -> None:
    """Sends until it is acknowledged; a refusal says how long to wait."""
    while True:
        answer = http.post(path, content=body, headers={"content-type": media_type, "content-encoding": "zstd"})
        if answer.status_code not in _REFUSED:
            answer.raise_for_status()
            return
        seen.refused += 1
        time.sleep(float(answer.headers["retry-after"]))


class _Follower(threading.Thread):
    """A live client of a run: when it got the events of each span."""

    def __init__(self, at: Tenants, run: str) -> None:
        super().__init__(daemon=True)
        self._http, self._path = at.http("quiet"), f"/api/v1/runs/{run}/events"
        self._when: dict[str, float] = {}
        self._came = threading.Condition()
        self._over = False

    def run(self) -> None:
        """Reads the stream until `stop`."""
        headers = {"accept": "text/event-stream"}
        try:
            with self._http.stream("GET", self._path, headers=headers, timeout=_PATIENCE_S) as stream:
                for line in stream.iter_lines():
                    if line.startswith("data:"):
                        self._note(line.removeprefix("data:"))
        except httpx.HTTPError:
            if not self._over:
                raise

    def _note(self, data: str) -> None:
        event = json.loads(data)
        if isinstance(event, dict) and "span" in event:
            with self._came:
                self._when.setdefault(str(event["span"]), time.perf_counter())
                self._came.notify_all()

    def when(self, span: str) -> float:
        """The time when the first event of a span came; waits for it."""
        with self._came:
            if not self._came.wait_for(lambda: span in self._when, _PATIENCE_S):
                raise TimeoutError(f"a span is not in the live stream after {_PATIENCE_S:.0f} s")
            return self._when[span]

    def stop(self) -> None:
        """Ends the stream."""
        self._over = True
        self._http.close()
        self.join(_PATIENCE_S)

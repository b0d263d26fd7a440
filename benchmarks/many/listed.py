"""Q3: how fast a collector lists runs while it holds 100,000: one page with filters."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import httpx

from benchmarks.collector import BenchCollector
from tests.support.bar import Row, at_most, percentile, told
from tests.support.many_runs.varied import MODELS, TOOLS, code_of

# How many runs; fewer are for a try.
RUNS = int(os.environ.get("PLAYHEAD_BENCH_RUNS", "100000"))
_ROUNDS, _WARM_UP = 60, 3
Filters = Mapping[str, Any]


def measured(at: BenchCollector, sent: Sequence[str]) -> Iterator[Row]:
    """Of a collector that holds these runs and many copies of them."""
    times: list[float] = []
    worst: tuple[float, str] = (0.0, "")
    with httpx.Client(base_url=at.url, timeout=60, trust_env=False) as http:
        for name, pages in _questions(sent).items():
            taken = [_asked(http, {**filters, "limit": 50}) for filters in pages][_WARM_UP:]
            times += taken
            p99 = percentile(taken, 0.99)
            worst = max(worst, (p99, name))
            yield told("Q3", f"p99 by {name}", p99 * 1e3, unit="ms", against=f"{len(taken)} questions")
    against = f"{len(times)} pages of 50 of {RUNS:,} runs, over HTTP; slowest by {worst[1]}"
    yield at_most("Q3", "runs list, p99", percentile(times, 0.99) * 1e3, 50, unit="ms", against=against)


def _questions(sent: Sequence[str]) -> Mapping[str, list[Filters]]:
    """Filters by a name: common and rare ones, some that nothing meets, and together."""
    numbers = [n * 7919 % RUNS for n in range(_ROUNDS + _WARM_UP)]
    return {
        "nothing": [{} for _ in numbers],
        "agent and status": [{"agent": "support", "status": "failed"} for _ in numbers],
        "tool and model": [{"tool": TOOLS[n % 16], "model": MODELS[n % 4]} for n in numbers],
        "tag and user": [{"tag": "visa", "user": f"user-{n % 97}"} for n in numbers],
        "session": [{"session": f"conv-{code_of(n)}"} for n in numbers],
        "text, common": [{"text": "billing"} for _ in numbers],
        "text, rare": [{"text": code_of(n)[2:]} for n in numbers],
        "text, nowhere": [{"text": f"nowhere {n}"} for n in numbers],
        "part of an id": [{"id": sent[n % len(sent)][-8:]} for n in numbers],
        "time and agent": [{"until": _time(n), "agent": "ops"} for n in numbers],
    }


def _time(minutes_ago: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 60 * minutes_ago))


def _asked(http: httpx.Client, filters: Filters) -> float:
    began = time.perf_counter()
    http.get("/api/v1/runs", params=dict(filters)).raise_for_status()
    return time.perf_counter() - began

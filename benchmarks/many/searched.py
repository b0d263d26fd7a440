"""Q4: how fast decisions and texts are searched for in 100,000 runs: the first page."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from benchmarks.collector import BenchCollector, collector
from benchmarks.many.filling import fill
from benchmarks.many.listed import RUNS, measured
from tests.support.bar import Row, at_most, percentile, told
from tests.support.many_runs.varied import TOOLS, code_of

_ROUNDS, _WARM_UP = 40, 2
_NOUNS = ("parcel", "visa", "battery", "hotel", "router", "refund", "budget")
Filters = Mapping[str, Any]


def measure() -> Iterator[Row]:
    """Q3 and Q4: storing the runs takes longer than asking about them."""
    with collector() as at:
        began = time.perf_counter()
        sent = fill(at, RUNS)
        yield told("Q3", "time to store the runs", time.perf_counter() - began, unit="s", against=f"{RUNS:,} runs")
        yield from measured(at, sent)
        yield from _searched(at, "decisions", _decisions())
        yield from _searched(at, "content", _texts())
        for table in at.table_sizes():
            if table.name.startswith("search_"):
                yield told("Q4", f"table {table.name}", table.total, unit="bytes", against=str(table))


def _searched(at: BenchCollector, what: str, questions: Mapping[str, list[Filters]]) -> Iterator[Row]:
    times: list[float] = []
    worst: tuple[float, str] = (0.0, "")
    with httpx.Client(base_url=at.url, timeout=60, trust_env=False) as http:
        for name, pages in questions.items():
            answers = [_asked(http, what, filters) for filters in pages][_WARM_UP:]
            taken = [seconds for seconds, _ in answers]
            p99 = percentile(taken, 0.99)
            times += taken
            worst = max(worst, (p99, name))
            found = f"{len(taken)} questions, {sum(items for _, items in answers) / len(answers):.1f} items each"
            yield told("Q4", f"{what}: p99 by {name}", p99 * 1e3, unit="ms", against=found)
    against = f"{len(times)} first pages of 20 of {RUNS:,} runs, over HTTP; slowest by {worst[1]}"
    yield at_most("Q4", f"search of {what}, p99", percentile(times, 0.99) * 1e3, 200, unit="ms", against=against)


def _numbers() -> list[int]:
    return [n * 7919 % RUNS for n in range(_ROUNDS + _WARM_UP)]


def _decisions() -> Mapping[str, list[Filters]]:
    """Common and rare ones, some that nobody made, and conditions that rarely come together."""
    numbers = _numbers()
    return {
        "tool": [{"tool": TOOLS[n % 16]} for n in numbers],
        "tool after an error": [{"tool": TOOLS[n % 16], "after": "error"} for n in numbers],
        "value of one run": [{"argument": f"case={code_of(n)}"} for n in numbers],
        "any value, of one run": [{"value": code_of(n)} for n in numbers],
        "common value and tool": [{"argument": f"about={_NOUNS[n % 7]}", "tool": TOOLS[n % 16]} for n in numbers],
        "tool with value after an error": [
            {"tool": TOOLS[n % 16], "argument": f"about={_NOUNS[n % 7]}", "after": "error"} for n in numbers
        ],
        "attribution and result": [{"attribution": "user_request", "result": "empty"} for _ in numbers],
        "invented value": [{"source": "invented", "argument": f"page={1 + n % 9}"} for n in numbers],
        "agent, status, failed call": [{"agent": "ops", "status": "failed", "result": "error"} for _ in numbers],
        "what does not come together": [{"agent": "ops", "tool": TOOLS[n % 16], "suspect": True} for n in numbers],
        "old runs only": [{"tool": TOOLS[n % 16], "until": _minutes_ago(RUNS * 9 // 10)} for n in numbers],
        "what nobody did": [{"tool": f"none_{n}"} for n in numbers],
    }


def _texts() -> Mapping[str, list[Filters]]:
    numbers = _numbers()
    return {
        "common word": [{"q": "customer"} for _ in numbers],
        "two common words": [{"q": f"{_NOUNS[n % 7]} cancelled"} for n in numbers],
        "word of one run": [{"q": code_of(n)} for n in numbers],
        "phrase": [{"q": f'"my {_NOUNS[n % 7]} of case"'} for n in numbers],
        "word and not": [{"q": f"{_NOUNS[n % 7]} -customer", "role": "user"} for n in numbers],
        "either": [{"q": f"{code_of(n)} or {code_of(n + 1)}"} for n in numbers],
        "what nobody said": [{"q": f"nobody {n}"} for n in numbers],
        "text of many runs": [{"q": "error locked", "role": "tool"} for _ in numbers],
    }


def _minutes_ago(minutes: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 60 * minutes))


def _asked(http: httpx.Client, what: str, filters: Filters) -> tuple[float, int]:
    began = time.perf_counter()
    answer = http.get(f"/api/v1/search/{what}", params={**filters, "limit": 20}).raise_for_status()
    return time.perf_counter() - began, len(answer.json()["items"])

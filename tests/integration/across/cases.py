"""Runs to ask questions across: what each of them did and how it was rewarded, stored as the SDK sends it; and the same
questions answered by a plain scan of the source."""

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from playhead.model import names
from playhead.model.message import Message, text_message
from playhead.model.span import STATUS_ERROR
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.store.ports.scores import ScoreToAdd
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.read.recorded import START_NS, Recorder

DATA = Path(os.environ.get("PLAYHEAD_TRAJECTORIES", Path(__file__).parents[4] / "shared" / "data"))
RECORDED = DATA / "tau-airline-gpt-4o.json"
AT_ONCE = 20
Move = tuple[str, str | None, str]


@dataclass(frozen=True)
class Call:
    tool: str
    arguments: Any
    failed: bool = False
    result: str = "done"

    @property
    def outcome(self) -> str:
        if self.failed:
            return "failed"
        return "returned_error" if self.result.startswith("Error") else "completed"


@dataclass(frozen=True)
class Case:
    number: int
    task: str
    reward: float
    calls: tuple[Call, ...]
    prompt: str = "You are of help."

    @property
    def run(self) -> str:
        return f"{self.number + 1:08x}" * 4

    @property
    def succeeded(self) -> bool:
        return self.reward >= 1

    def moves(self) -> Iterator[Move]:
        """(tool, its result, what was called then), from the beginning to the end."""
        tool, result = "(begin)", None
        for call in self.calls:
            yield tool, result, call.tool
            tool, result = call.tool, call.outcome
        yield tool, result, "(end)"


def airline() -> list[Case]:
    """The recorded airline runs."""
    cases: list[Case] = []
    for number, entry in enumerate(orjson.loads(RECORDED.read_bytes())):
        asked = [call["function"] for message in entry["traj"] for call in message.get("tool_calls") or ()]
        results = [message["content"] for message in entry["traj"] if message["role"] == "tool"]
        calls = [
            Call(call["name"], orjson.loads(call["arguments"]), result=result)
            for call, result in zip(asked, results, strict=True)
        ]
        prompt = entry["traj"][0]["content"]
        cases.append(Case(number, f"task:{entry['task_id']}", entry["reward"], tuple(calls), prompt))
    return cases


async def store_cases(store: PostgresStore, cases: Sequence[Case]) -> None:
    """Stores the runs and their rewards."""
    for at in range(0, len(cases), AT_ONCE):
        batches = [_recorded(case).batch() for case in cases[at : at + AT_ONCE]]
        parts = zip(*((each.spans, each.logs, each.contents, each.threads) for each in batches), strict=True)
        spans, logs, contents, threads = ([item for some in part for item in some] for part in parts)
        await store.spans.ingest(PROJECT, Batch(spans, logs, contents, threads))
    for case in cases:
        await store.scores.add(PROJECT, case.run, ScoreToAdd("reward", "reward", case.reward))


def _recorded(case: Case) -> Recorder:
    recorder = Recorder(case.run, start_ns=START_NS + case.number * 10**9)
    recorder.root.attributes[names.RUN_TAGS] = [case.task]
    messages: list[Message] = [text_message("system", case.prompt), text_message("user", case.task)]
    recorder.model(messages, text_message("assistant", "I look."))
    for call in case.calls:
        recorder.tool(call.tool, call.arguments, call.result)
        if call.failed:
            span = recorder.spans[-1]
            span.status, span.status_message = STATUS_ERROR, "too slow"
            span.attributes[names.ERROR_TYPE] = "TimeoutError"
    return recorder


# --- the same questions, by a plain scan ------------------------------------------------------------------------------


def success_of(cases: Iterable[Case]) -> dict[str, Any]:
    outcomes = [case.succeeded for case in cases]
    n, hits, z = len(outcomes), sum(outcomes), 1.959963984540054
    if not n:
        return {"succeeded": 0, "failed": 0, "rate": None, "low": None, "high": None}
    p = hits / n
    middle, below = (p + z * z / (2 * n)) / (1 + z * z / n), 1 + z * z / n
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / below
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    bounds = {"low": round(low, 6), "high": round(high, 6)}
    return {"succeeded": hits, "failed": n - hits, "rate": round(p, 6)} | bounds


def transitions_in(cases: Sequence[Case]) -> dict[tuple[str, str], tuple[int, float, dict[str, Any]]]:
    times = Counter((tool, to) for case in cases for tool, _, to in case.moves())
    left = Counter(tool for case in cases for tool, _, _ in case.moves())
    return {
        (tool, to): (
            count,
            round(count / left[tool], 6),
            success_of(case for case in cases if (tool, to) in {(move[0], move[2]) for move in case.moves()}),
        )
        for (tool, to), count in times.items()
    }


def patterns_in(cases: Sequence[Case]) -> dict[Move, tuple[int, dict[str, Any], dict[str, Any]]]:
    found: dict[Move, tuple[int, dict[str, Any], dict[str, Any]]] = {}
    for move, times in Counter(move for case in cases for move in case.moves()).items():
        having = [case for case in cases if move in set(case.moves())]
        others = [case for case in cases if move not in set(case.moves()) and move[:2] in {m[:2] for m in case.moves()}]
        if len(having) >= 5:
            found[move] = times, success_of(having), success_of(others)
    return found


def _key(call: Call) -> str:
    """A call as far as it is compared: a text of 8 words or more is any such text."""

    def short(value: Any) -> Any:
        if isinstance(value, dict | list):
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            return {str(name): short(each) for name, each in pairs}
        return "..." if isinstance(value, str) and len(value.split()) > 7 else value

    return f"{call.tool} {orjson.dumps(short(call.arguments), option=orjson.OPT_SORT_KEYS)}"


def first_partings(cases: Sequence[Case]) -> set[tuple[str, tuple[str, ...]]]:
    """(task, tools so far) where runs of a task that did the same so far do different things, with different shares of
    success."""
    found: set[tuple[str, tuple[str, ...]]] = set()
    for task in {case.task for case in cases}:
        paths = [([*map(_key, case.calls), ""], case) for case in cases if case.task == task]
        for path, case in paths:
            for depth in range(len(path)):
                alike = [(other, its) for other, its in paths if other[:depth] == path[:depth] and len(other) > depth]
                nexts = {other[depth] for other, _ in alike}
                rates = {
                    sum(its.succeeded for other, its in alike if other[depth] == choice)
                    / sum(other[depth] == choice for other, _ in alike)
                    for choice in nexts
                }
                if len(nexts) > 1 and len(rates) > 1:
                    found.add((task, tuple(call.tool for call in case.calls[:depth])))
    return found

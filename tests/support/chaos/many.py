"""Many chains, some at a time, against one collector and one model; then the collector is asked about each run."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import playhead
from playhead_collector.process import CollectorProcess
from tests.support.chaos.chain import Chain, CheckResult, World
from tests.support.chaos.model import model

_SETTLED_SECONDS = 120.0
# What a run that was killed has in common with one that was not; the rest (resumed, in doubt) is its own story.
_SAME_EVENTS = (
    "run_started",
    "run_completed",
    "run_failed",
    "tool_completed",
    "tool_failed",
    "llm_completed",
    "step_started",
    "step_completed",
)


@dataclass
class Total:
    """What came of all chains."""

    chains: list[CheckResult] = field(default_factory=list[CheckResult])
    running: int = 0
    """Runs that the collector does not have as completed and complete."""
    wrong: list[str] = field(default_factory=list[str])
    seconds: float = 0.0

    def sum(self, name: str) -> int:
        """Over all chains."""
        return sum(getattr(chain, name) for chain in self.chains)


def kill_at_random(
    kills: int, folder: Path, *, seed: int = 0, at_a_time: int = 3, told: Callable[[CheckResult], None] = lambda _: None
) -> Total:
    """Chains until so many processes were killed.  `told` gets each chain when it is done."""
    total, numbers, mutex = Total(), count(), threading.Lock()
    began = time.monotonic()
    with _world(folder, seed) as world, ThreadPoolExecutor(at_a_time) as threads:

        def work() -> None:
            while total.sum("kills") < kills:
                done = Chain(world, f"{seed}-{next(numbers)}").run()
                with mutex:
                    total.chains.append(done)
                    told(done)

        for each in [threads.submit(work) for _ in range(at_a_time)]:
            each.result()
        total.wrong += [sentence for chain in total.chains for sentence in chain.wrong]
        _ask_collector(world, total)
    total.seconds = time.monotonic() - began
    return total


@contextmanager
def _world(folder: Path, seed: int) -> Generator[World]:
    with CollectorProcess() as collector, model(seed) as says:
        world = World(says, collector.url, folder)
        Chain(world, "first").whole()  # what is done for the first time takes longer
        whole = Chain(world, "whole").whole()
        yield replace(world, whole=whole)


def _ask_collector(world: World, total: Total) -> None:
    assert world.whole is not None
    until = time.monotonic() + _SETTLED_SECONDS
    with playhead.Client(world.collector) as client:
        expected = _events(client, world.whole.run_id)
        for chain in total.chains:
            if chain.wrong or not chain.run_id:
                continue
            run: Any = client.run(chain.run_id)
            while not _is_over(run) and time.monotonic() < until:
                time.sleep(0.1)
                run = client.run(chain.run_id)
            found = _events(client, chain.run_id)
            if not _is_over(run):
                total.running += 1
                total.wrong.append(f"{chain.name}: {run['status']}, {run['completeness']}")
            if found["run_diverged"]:
                chain.diverged += 1
                total.wrong.append(f"{chain.name} ({chain.run_id}): run_diverged")
            # An attempt that was stopped cancels what its other branches were at, and that is told.
            if not chain.stopped and any(found[kind] != expected[kind] for kind in _SAME_EVENTS):
                total.wrong.append(f"{chain.name} ({chain.run_id}): {found}, and unkilled {expected}")


def _is_over(run: Any) -> bool:
    return run["status"] == "completed" and run["completeness"]["complete"]


def _events(client: Any, run_id: str) -> Counter[str]:
    """How many events of each kind the run has, without steps that were cancelled: an attempt that stops cancels what
    its other branches were at, the next one does it again, and both are told."""
    events: list[Any] = list(client.events(run_id))
    cancelled = {each["span"] for each in events if each["data"].get("outcome") == "cancelled"}
    steps = ("step_started", "step_completed")
    return Counter(each["kind"] for each in events if each["kind"] not in steps or each["span"] not in cancelled)

"""H1: how often the first suspects of a failed run have the step that a reader of the run named.

Measured on labelled runs that are set aside (`tests/fixtures/suspects/airline.json`), against chance and against the
best published figure for models that read the log of a failed run: 14.2 % of steps exactly right (Zhang et al., "Which
agent causes task failures and when?", 2025, on other runs).
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import mean

from benchmarks.collector import collector
from playhead.testing import Trajectory
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.store.ports.scores import ScoreToAdd
from playhead_collector.store.postgres.store import connect
from tests.support.bar import Row, at_least, not_measured, told
from tests.support.replayed_runs import recorded_runs
from tests.support.suspects.airline import Label, labels, measure, trial

_PUBLISHED = 0.142
_FIRST = 3


def measure_hits() -> Iterator[Row]:
    """The rate of hits on all labelled runs that are set aside, on the blind ones of them, and beside siblings."""
    runs = {run.key: run for run in recorded_runs()}
    aside = [label for label in labels() if label.set_aside]
    if not all(label.run in runs for label in aside):
        yield not_measured("H1", "first suspect is the labelled step", "no recorded runs: set PLAYHEAD_TRAJECTORIES")
        return
    found = measure(aside, runs)
    against = f"{found.runs} labelled runs that are set aside; chance {found.chance_first:.3f}"
    yield at_least("H1", "first suspect is the labelled step", found.first, _PUBLISHED, unit="", against=against)
    against = f"the same runs; chance {found.chance_first_three:.3f}"
    three = "labelled step is among the first three"
    yield at_least("H1", three, found.first_three, found.chance_first_three, unit="", against=against)
    blind = measure([label for label in aside if label.blind], runs)
    yield told("H1", "first suspect, blind labels", blind.first, unit="", against=f"{blind.runs} runs")
    yield told("H1", "first three, blind labels", blind.first_three, unit="", against=f"{blind.runs} runs")
    yield from _beside_siblings(aside, runs)


def _beside_siblings(aside: Sequence[Label], runs: Mapping[str, Trajectory]) -> Iterator[Row]:
    """All recorded runs in a collector, with tasks as tags and rewards as scores: it finds the siblings by itself."""
    with collector() as at:
        asyncio.run(_store(at.database, runs.values()))
        numbers = {key: number for number, key in enumerate(runs)}
        for run in numbers.values():
            at.client.run(_id(run))  # projects it
        ranks: list[int | None] = []
        compared: list[int] = []
        for label in aside:
            answer = at.client.suspects(_id(numbers[label.run]), limit=1_000)
            wanted = runs[label.run].turns.index(label.step) + 1
            ranks.append(next((each["rank"] for each in answer["items"] if each["turn"] == wanted), None))
            compared.append(len(answer["siblings"]["runs"]))
    some = sum(map(bool, compared))
    against = f"{some} of {len(aside)} runs have siblings, {sum(compared) / (some or 1):.1f} each"
    yield told("H1", "first suspect, siblings found", mean(rank == 1 for rank in ranks), unit="", against=against)
    three = mean(rank is not None and rank <= _FIRST for rank in ranks)
    yield told("H1", "first three, siblings found", three, unit="", against="the same")


async def _store(database: str, runs: Iterable[Trajectory]) -> None:
    store = await connect(database, pool_size=2)
    for number, run in enumerate(runs):
        await store.spans.ingest(PROJECT, trial(run, number).batch())
        await store.scores.add(PROJECT, _id(number), ScoreToAdd("reward", "reward", run.record["reward"]))
    await store.close()


def _id(number: int) -> str:
    return f"{number + 1:08x}" * 4

"""H1: how often the first suspects of a failed run have the step that a reader of the run named.

Measured on labelled runs that are set aside (`tests/fixtures/suspects/airline.json`), against chance and against the
best published figure for models that read the log of a failed run: 14.2 % of steps exactly right (Zhang et al., "Which
agent causes task failures and when?", 2025, on other runs).
"""

from collections.abc import Iterator

from tests.benchmarks.bar import Row, at_least, not_measured, told
from tests.benchmarks.recorded import recorded_runs
from tests.support.suspects.airline import labels, measure

_PUBLISHED = 0.142


def measure_hits() -> Iterator[Row]:
    """The rate of hits on all labelled runs that are set aside, on the blind ones of them, and with siblings."""
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
    beside = measure(aside, runs, with_siblings=True)
    yield told("H1", "first suspect, with siblings", beside.first, unit="", against="succeeded trials of the task")
    yield told("H1", "first three, with siblings", beside.first_three, unit="", against="the same")

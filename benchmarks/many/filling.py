"""Fills a collector: some hundred runs are sent to it, the others are copies of them."""

import asyncio

from benchmarks.collector import BenchCollector
from tests.support.made_up_runs import send
from tests.support.many_runs.filling import fill_with_copies
from tests.support.many_runs.varied import varied_runs

TEMPLATES = 200


def fill(at: BenchCollector, runs: int, templates: int = TEMPLATES) -> list[str]:
    """Stores so many runs, a minute apart, the newest a minute ago. Returns the ids of those that were sent."""
    made = varied_runs(min(runs, templates))
    send(at.url, made)
    at.wait_sealed(each.run for each in made)
    at.wait_packed()
    at.wait_indexed()
    asyncio.run(fill_with_copies(at.database, made, runs - len(made)))
    return [each.run for each in made]

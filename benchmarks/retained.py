"""K1: made-up runs through all tiers: bytes of Postgres and of objects in each, and whether answers are equal."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from playhead_collector import embedded
from playhead_collector.app import bring_to_newest_schema
from playhead_collector.store.ports.tiers import Tier
from tests.support.bar import Row, at_least, at_most, told
from tests.support.many_runs.tiers import SAMPLED, TierFigures, through_all_tiers
from tests.support.temporary_folder import temporary_folder

RUNS = int(os.environ.get("PLAYHEAD_BENCH_RUNS", "100000"))
_COLD_BYTES = 2_000


def measure() -> Iterator[Row]:
    """So many runs as PLAYHEAD_BENCH_RUNS says, in a Postgres of their own: a collector beside would work on them by
    another clock."""
    with temporary_folder() as folder, embedded.start(folder / "database") as postgres:
        asyncio.run(bring_to_newest_schema(postgres.dsn))
        figures = asyncio.run(_all_tiers(postgres.dsn, folder / "objects", RUNS))
    yield from rows_of(figures)


async def _all_tiers(database: str, folder: Path, runs: int) -> list[TierFigures]:
    return [each async for each in through_all_tiers(database, folder, runs)]


def rows_of(figures: Sequence[TierFigures]) -> Iterator[Row]:
    """The bars, and the figures of each tier."""
    empty = figures[-1].postgres
    for each in figures:
        name, number = each.tier.name.lower(), max(1, figures[0].runs)
        per_run = (each.postgres - empty) / number if each.tier is not Tier.DELETED else each.postgres / number
        against = f"{number:,} runs; {each.seconds:.0f} s; {_largest(each)}"
        yield told("K1", f"{name}: Postgres per run", per_run, unit="bytes", against=against)
        against = f"{each.object_bytes:,} bytes in {each.objects:,} objects"
        yield told("K1", f"{name}: objects per run", each.object_bytes / number, unit="bytes", against=against)
        if each.tier is Tier.COLD:
            against = f"{number:,} sealed runs, with an object store; {each.postgres:,} bytes"
            yield at_most("K1", "Postgres per cold run", per_run, _COLD_BYTES, unit="bytes", against=against)
    wrong = [sentence for each in figures for sentence in each.different]
    against = wrong[0] if wrong else f"{SAMPLED} runs in each tier: events, spans, summaries, contents"
    yield at_least("K1", "answers that differ and must not", -len(wrong), 0, unit="", against=against)


def _largest(figures: TierFigures) -> str:
    largest = sorted(figures.tables.items(), key=lambda item: -item[1])[:6]
    return ", ".join(f"{name} {size / max(1, figures.runs):,.0f}" for name, size in largest)

"""Races of writers, forks, deletion and forgetting against sweeps, on an embedded Postgres (`tests/support/races`)."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import asyncpg

from playhead_collector.app import bring_to_newest_schema
from playhead_collector.embedded import start
from playhead_collector.store.postgres.store import connect
from tests.integration.emptied import emptied_afterwards
from tests.soak.conditions import Conditions
from tests.support.bar import Row, at_least, at_most, told
from tests.support.races.race import Race, RaceClock

_RACES = 1_000
_SHOWN = 20


def measure(conditions: Conditions) -> Iterator[Row]:
    """Makes the races one after another; each has two collectors on one database."""
    races = conditions.count(_RACES)
    with tempfile.TemporaryDirectory(prefix="playhead-races-") as folder:
        Path(folder).chmod(0o711)
        # Nothing is to survive a crash of this machine: commits do not wait for the disk.
        with start(Path(folder) / "data", options={"fsync": "off", "synchronous_commit": "off"}) as postgres:
            asyncio.run(bring_to_newest_schema(postgres.dsn))
            wrong, counts = asyncio.run(_race(postgres.dsn, races, conditions.seed))
    for sentence in wrong[:_SHOWN]:
        print(sentence)
    what = ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items()))
    yield at_least("RACES", "races", counts["races"], races, unit="", against=what)
    yield at_most("RACES", "contents lost or left", len(wrong), 0, unit="", against=f"{counts['sent']:,} runs sent")
    yield told("RACES", "sweeps per race", counts["sweeps"] / races, unit="", against="steps of both collectors")


async def _race(dsn: str, races: int, seed: int) -> tuple[list[str], Counter[str]]:
    wrong: list[str] = []
    counts: Counter[str] = Counter()
    for number in range(races):
        clock = RaceClock()
        async with emptied_afterwards(dsn):
            stores = [await connect(dsn, pool_size=6, clock=clock) for _ in range(2)]
            race = Race(stores, clock, seed * 1_000_000 + number)
            try:
                wrong += await race.run()
            except (asyncpg.PostgresError, AssertionError) as error:
                wrong.append(f"race {number}: {type(error).__name__}: {error}")
            finally:
                for store in stores:
                    await store.close()
        counts.update(race.counts)
        counts["races"] += 1
        if number % 50 == 49:
            print(f"{number + 1} races, {len(wrong)} wrong: {dict(counts)}", flush=True)
    return wrong, counts

"""R3: an agent with parallel branches is killed at random moments, in chains of attempts, until it is done.

`python -m benchmarks.chaos --kills 1000 --seed 1` shows each chain as it goes, and then the rows.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.support.bar import Row, at_least, at_most, show, told
from tests.support.chaos.chain import CheckResult
from tests.support.chaos.many import Total, kill_at_random

_KILLS = 1000
_AT_A_TIME = 4
_ZERO = {
    "different": "runs with another answer than the unkilled one's",
    "models_again": "completed model calls asked again",
    "tools_again": "completed tools executed again",
    "effects_wrong": "effects lost or doubled",
    "diverged": "false divergences",
    "unnamed": "attempts that did not name what was in doubt",
}


def measure() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        yield from _rows(kill_at_random(_KILLS, Path(folder), seed=1, at_a_time=_AT_A_TIME), _KILLS)


def _rows(total: Total, wanted: int) -> Iterator[Row]:
    kills, attempts = total.sum("kills"), total.sum("attempts")
    against = (
        f"{len(total.chains):,} runs in {attempts:,} attempts; asyncio, threads, nested agents, generators, streams"
    )
    yield at_least("R3", "random kills", kills, wanted, unit="", against=against)
    facts = {name: f"{total.sum('completed'):,} calls were completed when processes were killed" for name in _ZERO}
    stopped = total.sum("stopped")
    facts["unnamed"] = f"{total.sum('doubts'):,} calls were in doubt; {stopped} attempts stopped for a person to look"
    for name, what in _ZERO.items():
        yield at_most("R3", what, total.sum(name), 0, unit="", against=facts.get(name, ""))
    against = "in the collector: completed, complete, each event as often as in the unkilled run"
    yield at_most("R3", "runs left running or incomplete", total.running, 0, unit="", against=against)
    first = total.wrong[0][:300] if total.wrong else ""
    yield at_most("R3", "anything amiss, these included", len(total.wrong), 0, unit="", against=first)
    yield told("R3", "time for each kill", total.seconds / max(kills, 1), unit="s", against="two cores")


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks.chaos", description=__doc__)
    options.add_argument("--kills", type=int, default=_KILLS)
    options.add_argument("--seed", type=int, default=1, help="another one: other moments, other schedules")
    options.add_argument("--at-a-time", type=int, default=_AT_A_TIME, help="runs at a time")
    options.add_argument("--folder", type=Path, help="keeps journals and databases here; must be empty")
    given = options.parse_args()
    seen = [0]

    def say(chain: CheckResult) -> None:
        seen[0] += chain.kills
        print(
            f"{seen[0]:6} kills; {chain.name}: {chain.kills} in {chain.attempts} attempts", file=sys.stderr, flush=True
        )
        for sentence in chain.wrong:
            print(sentence, file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        total = kill_at_random(given.kills, folder, seed=given.seed, at_a_time=given.at_a_time, told=say)
    rows = list(_rows(total, given.kills))
    show(rows)
    for sentence in total.wrong:
        print(sentence, file=sys.stderr)
    return 0 if all(row.holds is not False for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

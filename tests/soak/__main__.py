"""`make soak`: long checks of the product in conditions that a test suite has no time for. Not part of CI.

`python -m tests.soak --only journal,terminal --seed 7 --scale 0.1` runs some of them, at a tenth of their length, and
writes `soak.json`. Each figure has a bar; the exit code is 1 when one does not hold or a check could not be made.
"""

import argparse
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path

from tests.soak.conditions import Conditions
from tests.support.bar import Row, failed, keep, show, told

CHECKS = {
    "hostile": "hostile:measure",
    "overload": "hostile:measure_overload",
    "uploads": "uploads:measure",
    "requests-forgery": "request_forgery:measure",
    "slowloris": "slowloris:measure",
    "journal": "journal_trouble:measure",
    "collector": "collector_trouble:measure",
    "clock": "clock_jumps:measure",
    "processes": "short_processes:measure",
    "programs": "programs:measure",
    "calls": "many_calls:measure",
    "terminal": "terminal:measure",
    "races": "races:measure",
}
"""Name → module of this package and its function, which yields rows."""


def main() -> int:
    """Runs the checks and shows their figures."""
    options = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    options.add_argument("--only", default="", help=f"with commas between them: {', '.join(CHECKS)}; default: all")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--scale", type=float, default=1.0, help="of the counts and times of each check")
    options.add_argument("--output", type=Path, default=Path("soak.json"))
    given = options.parse_args()
    wanted = [name for name in given.only.split(",") if name] or [*CHECKS]
    if unknown := set(wanted) - CHECKS.keys():
        options.error(f"there is no check {', '.join(sorted(unknown))}: choose from {', '.join(CHECKS)}")
    conditions = Conditions(seed=given.seed, scale=given.scale)
    rows = [row for name in wanted for row in _measured(name, conditions)]
    show(rows)
    keep(rows, given.output)
    return 1 if any(row.holds is False for row in rows) else 0


def _measured(name: str, conditions: Conditions) -> Iterator[Row]:
    print(f"{name} ...", file=sys.stderr, flush=True)
    module, _, function = CHECKS[name].partition(":")
    began = time.monotonic()
    try:
        measure: Callable[[Conditions], Iterable[Row]] = getattr(import_module(f"tests.soak.{module}"), function)
        yield from measure(conditions)
    except Exception as error:  # noqa: BLE001 - the other checks are made all the same
        traceback.print_exc()
        yield failed(name, f"{type(error).__name__}: {error}"[:300])
    against = f"seed {conditions.seed}, scale {conditions.scale}"
    yield told(name, "duration", time.monotonic() - began, unit="s", against=against)


if __name__ == "__main__":
    sys.exit(main())

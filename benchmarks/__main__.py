"""`python -m benchmarks [--only C1,S3]`: measures, prints a table, writes bench.json."""

import argparse
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path

from tests.support.bar import Row, failed, keep, not_measured, show

FAMILIES = {
    "sdk.hot_path:measure": ("C1", "C2", "C3"),
    "sdk.hot_path:measure_anthropic": ("C2A",),
    "sdk.journaled:measure": ("J1", "J3"),
    "sdk.replayed:measure": ("R2", "J2"),
    "sdk.local_read:measure": ("J4",),
    "sdk.command_start:measure": ("B1",),
    "sdk.short_lived:measure": ("J5",),
    "sdk.whole_cpu:measure": ("C4",),
    "sdk.start_time:measure": ("C5",),
    "sdk.observed_values:measure": ("V1",),
    "sdk.agent_turns:measure": ("AG1",),
    "sdk.cached:measure": ("PC1",),
    "stored:measure_recorded": ("S1", "S5", "F1", "F2"),
    "stored:measure_made_up": ("S2", "S4"),
    "sdk.sent:measure": ("S3",),
    "ingest.taken:measure": ("I1",),
    "ingest.taken:measure_grpc": ("I1G",),
    "ingest.encrypted:measure": ("I1E",),
    "ingest.forwarded:measure": ("I1F",),
    "ingest.foreign:measure": ("I2",),
    "ingest.readable:measure_sustained": ("I1P",),
    "ingest.readable:measure_live": ("L1",),
    "followed:measure": ("L2",),
    "asked:measure": ("Q1", "Q2"),
    "asked:measure_across": ("A1",),
    "questioned:measure": ("Q5",),
    "suspected:measure_hits": ("H1",),
    "sdk.killed:measure": ("R1",),
    "sdk.killed_examples:measure": ("R1A",),
    "sdk.long_context:measure": ("M1",),
    "conversations:measure_saves": ("CV4",),
    "conversations:measure_histories": ("CV5", "CV6"),
    "durable.matrix:measure": ("MATRIX",),
    "graph_threads.measuring:measure": ("G1",),
}
# These take many minutes or need a browser, and are measured only when they are named.
ON_REQUEST = {
    "many.searched:measure": ("Q3", "Q4"),
    "looked:measure": ("U1", "U2", "U3"),
    "looked:measure_list": ("U4",),
    "sweep:measure": ("SWEEP",),
    "chaos:measure": ("R3",),
    "sdk.long_context:measure_killed": ("M2",),
    "ingest.overloaded:measure": ("I3",),
    "conversations:measure_long": ("CV1",),
    "conversations:measure_kills": ("CV2",),
    "conversations:measure_outages": ("CV3",),
    "retained:measure": ("K1",),
}
# What of these has a bar that a whole measurement shows as not measured.
_ONLY_NAMED = {
    "Q3": ("runs list", "100,000 runs are stored first"),
    "Q4": ("search", "100,000 runs are stored first"),
    "U1": ("web UI", "a browser is needed"),
}


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    options.add_argument("--only", default="", help="bars to measure, with commas between them; default: all")
    options.add_argument("--output", type=Path, default=Path("bench.json"))
    given = options.parse_args()
    wanted = {word.strip().upper() for word in given.only.split(",") if word.strip()}
    rows = list(_rows(wanted))
    if not wanted:
        named = _ONLY_NAMED.items()
        rows += [not_measured(bar_id, what, f"only where it is named: {why}") for bar_id, (what, why) in named]
    show(rows)
    keep(rows, given.output)
    # A bar that does not hold is a finding; one that cannot be measured is a fault.
    return 1 if any(row.value is None and row.holds is False for row in rows) else 0


def _rows(wanted: set[str]) -> Iterable[Row]:
    for place, ids in (FAMILIES | (ON_REQUEST if wanted else {})).items():
        if not wanted or wanted & set(ids):
            print(f"measuring {', '.join(ids)} ...", file=sys.stderr, flush=True)
            yield from (row for row in _measured(place, ids) if not wanted or row.id in wanted)


def _measured(place: str, ids: tuple[str, ...]) -> Iterator[Row]:
    module, _, name = place.partition(":")
    try:
        measure: Callable[[], Iterable[Row]] = getattr(import_module(f"benchmarks.{module}"), name)
        yield from measure()
    except Exception as error:  # noqa: BLE001 - the others are to be measured all the same
        traceback.print_exc()
        yield from (failed(bar_id, repr(error)) for bar_id in ids)


if __name__ == "__main__":
    sys.exit(main())

"""U1 to U4: how fast the web UI opens and scrubs a long run, what it loads, and how fast it lists 100,000 runs.

Needs a browser: `make ui tests/ui/node_modules/.installed`. `PLAYHEAD_BENCH_RUNS` makes a shorter variant of U4.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.collector import BenchCollector, collector
from benchmarks.many.filling import fill
from benchmarks.many.listed import RUNS
from tests.support.bar import Row, at_least, at_most, told
from tests.support.made_up_runs import MadeUpRun, send
from tests.ui.node import FOLDER, run_node

_EVENTS, _EVENTS_PER_STEP = 23_000, 6
# Where a link leads into the run.
_AT = 20_000
# A display of 60 frames per second shows a little fewer, since its clock and ours differ.
_FRAMES = 57.0
# Above the API's answer: the files, and drawing 200 rows.
_DRAWING_MS = 500.0


def measure() -> Iterator[Row]:
    """U1, U2, U3: a long run that is at rest."""
    with collector() as at:
        run = MadeUpRun(_EVENTS // _EVENTS_PER_STEP)
        send(at.url, [run])
        at.wait_sealed([run.run])
        events = at.client.run(run.run)["events"]
        found = _in_the_browser(at, run.run)
    against = f"Chromium; a run of {events:,} events"
    yield at_most("U1", "first turns of a run", found["first_turns_ms"], 1_000, unit="ms", against=against)
    yield at_most("U1", "the turn that it opens at", found["turn_ms"], 1_000, unit="ms", against=against)
    yield at_most("U1", f"the turn at event {_AT:,}", found["late_turn_ms"], 1_000, unit="ms", against=against)
    yield told("U1", "all of its turns", found["whole_ms"] / 1e3, unit="s", against="read on in the background")
    rows = f"{against}; {found['moves']:.0f} moves; {found['rows']:.0f} lines in the page"
    yield at_least("U2", "scrubbing", found["frames_per_s"], _FRAMES, unit="frames/s", against=rows)
    yield told("U2", "longest frame", found["longest_frame_ms"], unit="ms", against=against)
    yield at_most("U3", "first load", found["bytes"] / 1e3, 250, unit="kB", against="as transferred, gzipped")


def measure_list() -> Iterator[Row]:
    """U4: the first page of the list."""
    with collector() as at:
        fill(at, RUNS)
        found = _in_the_browser(at, "")
    against = f"Chromium, {RUNS:,} runs; the API alone {found['list_api_ms']:.0f} ms"
    limit = found["list_api_ms"] + _DRAWING_MS
    yield at_most("U4", "list of runs", found["list_ms"], limit, unit="ms", against=against)


def _in_the_browser(at: BenchCollector, run: str) -> Mapping[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "measured.json"
        env = {"PLAYHEAD_UI_URL": at.url, "PLAYHEAD_UI_RUN": run, "PLAYHEAD_UI_AT": str(_AT)}
        env["PLAYHEAD_UI_MEASURED"] = str(figures)
        run_node("--test", FOLDER / "browser/support/measured.ts", cwd=FOLDER, env=env)
        return json.loads(figures.read_text(encoding="utf-8"))

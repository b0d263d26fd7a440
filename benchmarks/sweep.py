"""SWEEP: every question about every event of the recorded runs, over HTTP; how many answers are not as they must be."""

import sys
from collections.abc import Iterator

import httpx

import playhead
from benchmarks.collector import collector
from benchmarks.recording import record_all, recording
from tests.support.bar import Row, at_most, not_measured, percentile, told
from tests.support.replayed_runs import recorded_runs
from tests.support.sweep import Findings, sweep

_SHOWN = 20
_ONE_IN = 8


def measure() -> Iterator[Row]:
    """The recorded runs on the real path, then everything that can be asked about them."""
    runs = recorded_runs()
    if not runs:
        yield not_measured("SWEEP", "answers that are wrong", "there are no recorded runs")
        return
    with collector() as at:
        with recording(at.url):
            known = [each.run for each in record_all(runs)]
            playhead.flush(120)
        at.wait_sealed(known)
        with httpx.Client(base_url=at.url, timeout=120, trust_env=False) as http:
            found = sweep(http, known, one_in=_ONE_IN, tell=_tell)
    for wrong in found.wrong[:_SHOWN]:
        print(wrong, file=sys.stderr)
    events = f"{found.asked:,} questions about {len(known)} runs"
    yield at_most("SWEEP", "answers that are wrong", len(found.wrong), 0, unit="", against=events)
    for operation, times in found.times.items():
        about = f"{len(times):,} answers; p50 {percentile(times, 0.5):.1f} ms, longest {max(times):.0f} ms"
        yield told("SWEEP", f"{operation}, p99", percentile(times, 0.99), unit="ms", against=about)


def _tell(done: int, found: Findings) -> None:
    if done % 10 == 0:
        print(f"{done} runs swept: {found.asked:,} answers, {len(found.wrong)} wrong", file=sys.stderr, flush=True)

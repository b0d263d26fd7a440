"""A collector under hostile requests, shortly: `python -m benchmarks.hostile` is the same a million times."""

import os

from tests.support.hostile.attacked_collector import MOST_BYTES, MOST_PROBE_SECONDS, run


def test_hostile_requests_are_answered_and_nothing_fails():
    seen = run(int(os.environ.get("PLAYHEAD_HOSTILE_REQUESTS", "1500")), seed=7)
    assert [(request.kind, request.data[:500]) for request in [*seen.failed, *seen.unanswered]] == []
    assert seen.grpc.failed == []
    assert seen.grpc.statuses.total() > 0
    assert seen.peak_bytes < MOST_BYTES
    # Others load the machine that tests run on: the bar's 250 ms for the 99th are measured by the benchmark.
    assert seen.probe(0.5) < MOST_PROBE_SECONDS
    assert {"200", "400", "403", "413", "415", "431"} <= set(seen.statuses)

"""A collector under a million hostile requests over all routes, and under three times the load that it can take."""

from collections.abc import Iterator

from tests.soak.conditions import Conditions
from tests.support import overload
from tests.support.bar import Row, at_least, at_most, told
from tests.support.hostile.attacked_collector import MOST_BYTES, MOST_PROBE_SECONDS, run

_REQUESTS = 1_000_000


def measure(conditions: Conditions) -> Iterator[Row]:
    """No request may be answered with 500 or left without an answer, nor the process grow or stop."""
    wanted = conditions.count(_REQUESTS)
    seen = run(wanted, conditions.seed)
    answers = ", ".join(f"{status}: {count:,}" for status, count in seen.statuses.most_common(8))
    yield at_least("hostile", "requests", seen.sent, wanted, unit="", against=answers)
    first = f"{seen.failed[0].data[:200]!r}" if seen.failed else ""
    yield at_most("hostile", "answered with 500", len(seen.failed), 0, unit="", against=first)
    yield at_most("hostile", "without an answer", len(seen.unanswered), 0, unit="", against="")
    calls = f"{seen.grpc.statuses.total():,} calls"
    yield at_most("hostile", "calls over gRPC that failed inside", len(seen.grpc.failed), 0, unit="", against=calls)
    yield at_most("hostile", "memory", seen.peak_bytes / 1e6, MOST_BYTES / 1e6, unit="MB", against="")
    limit = MOST_PROBE_SECONDS * 1e3
    yield at_most("hostile", "/healthz, p99", seen.probe(0.99) * 1e3, limit, unit="ms", against=f"{len(seen.probes):,}")


def measure_overload(conditions: Conditions) -> Iterator[Row]:
    """Ten minutes at three times the capacity."""
    yield from overload.measure()
    yield told("overload", "scale does not shorten this check", conditions.scale, unit="", against="")

"""`python -m benchmarks.hostile --requests 1000000 --seed 1`: a collector under a million hostile requests.

Holds when none was answered with 500, none was left without an answer, the process lives, took less than 600 MB
throughout, and /healthz had its p99 below 250 ms. Meanwhile calls are sent to its port for gRPC, one at a time.
tests/integration/receive/test_hostile.py is the same, and short.
"""

import argparse
import math
import sys

from tests.support.hostile.attacked_collector import holds, run


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks.hostile", description=__doc__)
    options.add_argument("--requests", type=int, default=1_000_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--connections", type=int, default=16)
    options.add_argument(
        "--seconds", type=float, default=math.inf, help="stop after this long, and say how many it was"
    )
    given = options.parse_args()
    seen = run(given.requests, given.seed, given.connections, given.seconds)
    print(f"{seen.sent:,} requests, answers {dict(seen.statuses.most_common())}")
    print(f"{seen.grpc.statuses.total():,} calls over gRPC, answers {dict(seen.grpc.statuses.most_common())}")
    print(f"memory {seen.peak_bytes / 1e6:.0f} MB at most; /healthz p50 {seen.probe(0.5) * 1e3:.0f} ms, p99 ", end="")
    print(f"{seen.probe(0.99) * 1e3:.0f} ms, worst {seen.probe(1) * 1e3:.0f} ms of {len(seen.probes):,}")
    for request in [*seen.failed, *seen.unanswered][:20]:
        print(f"{request.kind}: {request.data[:2_000]!r}")
    for call in seen.grpc.failed[:20]:
        print(call)
    return 0 if holds(seen) else 1


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.benchmarks.hostile --requests 1000000 --seed 1`: a collector under a million hostile requests.

Holds when none was answered with 500, none was left without an answer, the process lives, took less than 600 MB
throughout, and /healthz had its p99 below 250 ms. Meanwhile calls are sent to its port for gRPC, one at a time.
tests/integration/receive/test_hostile.py is the same, and short.
"""

import argparse
import asyncio
import math
import random
import sys
from collections.abc import Coroutine
from typing import Any
from urllib.parse import urlsplit

from playhead_collector.process import CollectorProcess
from tests.benchmarks.made_up import MadeUpRun, send
from tests.support.attack import Observed, attack
from tests.support.hostile import RequestMaker, requests
from tests.support.hostile.grpc_calls import attack_grpc

MOST_BYTES, MOST_PROBE_SECONDS = 600_000_000, 0.25


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.benchmarks.hostile", description=__doc__)
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


def run(count: int, seed: int, connections: int = 16, seconds: float = math.inf) -> Observed:
    """A collector of its own, with a few runs to ask about."""
    with CollectorProcess(env={"PLAYHEAD_SEAL_AFTER_SECONDS": "1"}) as collector:
        runs = [MadeUpRun(5) for _ in range(5)]
        send(collector.url, runs)
        port = urlsplit(collector.url).port or 0
        ids = [run.run for run in runs]
        attacked = attack(port, collector.pid, requests(seed, ids), count, connections=connections, seconds=seconds)
        seen = asyncio.run(_both(attacked, collector.grpc_url or "", seed, RequestMaker(random.Random(seed), ids)))
        if "Traceback" in collector.log():
            print(collector.log()[-10_000:], file=sys.stderr)
    return seen


async def _both(attacked: Coroutine[Any, Any, Observed], grpc_url: str, seed: int, maker: RequestMaker) -> Observed:
    """Hostile requests over HTTP, and calls over gRPC until these are done."""
    over_http = asyncio.create_task(attacked)
    calls = await attack_grpc(grpc_url, seed, maker.damaged_spans, maker.protobuf_bombs(), over_http.done)
    seen = await over_http
    seen.grpc = calls
    return seen


def holds(seen: Observed) -> bool:
    """Whether all of it holds."""
    is_well = not seen.failed and not seen.unanswered and not seen.grpc.failed
    return is_well and seen.peak_bytes < MOST_BYTES and seen.probe(0.99) < MOST_PROBE_SECONDS


if __name__ == "__main__":
    sys.exit(main())

"""A collector of its own that is sent hostile requests, and what was seen of it."""

import asyncio
import math
import random
import sys
from collections.abc import Coroutine
from typing import Any
from urllib.parse import urlsplit

from playhead_collector.process import CollectorProcess
from tests.support.attack import Observed, attack
from tests.support.hostile import RequestMaker, requests
from tests.support.hostile.grpc_calls import attack_grpc
from tests.support.made_up_runs import MadeUpRun, send

MOST_BYTES, MOST_PROBE_SECONDS = 600_000_000, 0.25


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
            sys.stderr.write(collector.log()[-10_000:])
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

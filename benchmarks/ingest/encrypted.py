"""I1E: what encryption at rest costs ingest: runs are sent to a project that is encrypted and to one that is not, in
turn."""

import base64
import os
import statistics
import time
from collections.abc import Iterator

import httpx

from benchmarks.ingest.taken import wait_projected
from playhead.client import Client
from playhead.outbound.otlp import traces_request
from playhead.wire.pack import PACK, Pack, encode_pack
from playhead_collector.process import CollectorProcess
from tests.support.bar import ROUNDS, Row, at_least, told
from tests.support.made_up_runs import PROTOBUF, MadeUpRun, packed, post_packed

_KEY = "the operator's key"
_RUNS, _STEPS, _RUNS_PER_REQUEST = 200, 10, 25
_PROJECTS = {"plain": False, "encrypted": True}


def measure() -> Iterator[Row]:
    """Seconds until contents and spans are acknowledged, and until all is projected, of both projects."""
    env = {
        "PLAYHEAD_ADMIN_KEY": _KEY,
        "PLAYHEAD_ENCRYPTION_KEY": base64.b64encode(os.urandom(32)).decode(),
        "PLAYHEAD_LOG_LEVEL": "warning",
    }
    taken: dict[str, list[float]] = {name: [] for name in _PROJECTS}
    projected: dict[str, list[float]] = {name: [] for name in _PROJECTS}
    with CollectorProcess(env=env) as collector:
        with Client(collector.url, _KEY) as operator:
            for name, encrypted in _PROJECTS.items():
                operator.create_project(name, encrypted=encrypted)
        for number in range(2 * ROUNDS):  # each is first in turn, since others may load the machine
            for name in list(_PROJECTS) if number % 2 else list(_PROJECTS)[::-1]:
                first, second = _round(collector.url, name)
                taken[name].append(first)
                projected[name].append(second)
    spans = _RUNS * (2 * _STEPS + 1)
    ratio = statistics.median(one / other for one, other in zip(taken["plain"], taken["encrypted"], strict=True))
    one, other = (spans / statistics.median(taken[name]) for name in ("encrypted", "plain"))
    against = f"{one:,.0f} ÷ {other:,.0f} spans/s with their contents, {_RUNS} runs in a round"
    yield at_least("I1E", "spans taken encrypted ÷ not", ratio, 0.85, unit="x", against=against)
    pairs = zip(projected["plain"], projected["encrypted"], strict=True)
    ratio = statistics.median(one / other for one, other in pairs)
    yield told("I1E", "taken and projected encrypted ÷ not", ratio, unit="x", against="until the last run is projected")


def _round(url: str, project: str) -> tuple[float, float]:
    runs = [MadeUpRun(_STEPS) for _ in range(_RUNS)]
    groups = [runs[start : start + _RUNS_PER_REQUEST] for start in range(0, _RUNS, _RUNS_PER_REQUEST)]
    contents = [packed(_contents_of(group)) for group in groups]
    spans = [packed(traces_request([span for run in group for span in run.spans])) for group in groups]
    headers = {"authorization": f"Bearer {_KEY}", "playhead-project": project}
    with httpx.Client(base_url=url, timeout=120, trust_env=False, headers=headers) as http:
        began = time.perf_counter()
        for body in contents:
            post_packed(http, "/v1/content", body, PACK)
        for body in spans:
            post_packed(http, "/v1/traces", body, PROTOBUF)
        taken = time.perf_counter() - began
        with httpx.Client(base_url=url, timeout=120, trust_env=False, headers={"x-api-key": _KEY}) as operator:
            wait_projected(operator)
        return taken, time.perf_counter() - began


def _contents_of(runs: list[MadeUpRun]) -> bytes:
    contents = {ref: content for run in runs for ref, content in run.contents.items()}
    return encode_pack(Pack(tuple(contents.values()), tuple(thread for run in runs for thread in run.threads)))

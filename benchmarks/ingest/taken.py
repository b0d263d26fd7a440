"""I1, I1G: how many spans of our own a collector takes, each durable when it is acknowledged; over HTTP and gRPC."""

import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import httpx

from benchmarks.collector import BenchCollector, collector
from playhead.outbound.otlp import traces_request
from tests.support.bar import ROUNDS, Row, at_least, told
from tests.support.made_up_runs import PROTOBUF, MadeUpRun, packed, post_packed, send_content

_SENDERS = 4
_RUNS, _STEPS = 1_000, 10
_GRPC_RUNS = 250  # in each of more rounds: what is wanted is a ratio
_RUNS_PER_REQUEST = 25
_EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def measure() -> Iterator[Row]:
    """Requests are made beforehand; clients and collector share the machine."""
    with collector() as at:
        rounds = [_round(at) for _ in range(ROUNDS)]
    spans = _RUNS * (2 * _STEPS + 1)
    taken = statistics.median(spans / seconds for seconds, _ in rounds)
    readable = statistics.median(spans / seconds for _, seconds in rounds)
    together = _RUNS_PER_REQUEST * (2 * _STEPS + 1)
    against = f"{spans:,} spans of {_RUNS} runs, {_SENDERS} senders, {together} in a request"
    yield at_least("I1", "own spans taken", taken, 5_000, unit="spans/s", against=against)
    yield told("I1", "taken and projected", readable, unit="spans/s", against="until the last run's events can be read")


def measure_grpc() -> Iterator[Row]:
    """The same requests, neither compressed, in turn over HTTP and over gRPC, each to runs of its own."""
    with collector() as at, grpc.insecure_channel(at.grpc_url.removeprefix("http://")) as channel:
        export = channel.unary_unary(_EXPORT)
        with httpx.Client(base_url=at.url, timeout=120, trust_env=False) as http:

            def post(body: bytes) -> None:
                http.post("/v1/traces", content=body, headers={"content-type": PROTOBUF}).raise_for_status()

            def call(body: bytes) -> None:
                export(body, timeout=120)

            over_http, over_grpc = list[float](), list[float]()
            for number in range(2 * ROUNDS):  # each is first in turn, since others may load the machine
                ways = [(post, over_http), (call, over_grpc)]
                for send, seconds in ways if number % 2 else reversed(ways):
                    seconds.append(_sent(at, http, send))
    spans = _GRPC_RUNS * (2 * _STEPS + 1)
    first, second = (spans / statistics.median(each) for each in (over_grpc, over_http))
    against = f"{first:,.0f} ÷ {second:,.0f} spans/s, {_SENDERS} senders, not compressed"
    ratio = statistics.median(one / other for one, other in zip(over_http, over_grpc, strict=True))
    yield at_least("I1G", "spans taken over gRPC ÷ over HTTP", ratio, 0.8, unit="x", against=against)


def _round(at: BenchCollector) -> tuple[float, float]:
    """Seconds until all is acknowledged, and until all is projected."""
    with httpx.Client(base_url=at.url, timeout=120, trust_env=False) as http:
        taken = sent_in(at, _RUNS)
        began = time.perf_counter() - taken
        wait_projected(http)
        return taken, time.perf_counter() - began


def sent_in(at: BenchCollector, runs: int) -> float:
    """Seconds until so many new runs, whose contents are stored, are acknowledged."""
    bodies = [packed(body) for body in _bodies(at, runs)]
    with httpx.Client(base_url=at.url, timeout=120, trust_env=False) as http, ThreadPoolExecutor(_SENDERS) as threads:
        began = time.perf_counter()
        list(threads.map(lambda body: post_packed(http, "/v1/traces", body, PROTOBUF), bodies))
        return time.perf_counter() - began


def _sent(at: BenchCollector, http: httpx.Client, send: Callable[[bytes], None]) -> float:
    """Seconds until all is acknowledged. Returns when all is projected."""
    bodies = _bodies(at, _GRPC_RUNS)
    with ThreadPoolExecutor(_SENDERS) as threads:
        began = time.perf_counter()
        list(threads.map(send, bodies))
        seconds = time.perf_counter() - began
    wait_projected(http)
    return seconds


def _bodies(at: BenchCollector, count: int) -> list[bytes]:
    """Requests with new runs, whose contents are sent already."""
    runs = [MadeUpRun(_STEPS) for _ in range(count)]
    send_content(at.url, runs)
    groups = [runs[start : start + _RUNS_PER_REQUEST] for start in range(0, len(runs), _RUNS_PER_REQUEST)]
    return [traces_request([span for run in group for span in run.spans]) for group in groups]


def wait_projected(http: httpx.Client) -> None:
    """Returns when all that has arrived is projected."""
    while _waiting(http):
        time.sleep(0.05)


def _waiting(http: httpx.Client) -> float:
    lines = http.get("/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("playhead_runs_waiting "))

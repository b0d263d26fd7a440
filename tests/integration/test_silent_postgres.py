"""A Postgres that is stopped and says nothing: probes and senders are told in time, and all goes on when it is back."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, cast

import grpc
import grpc.aio
import httpx
import psutil
import pytest

from playhead_collector import embedded
from playhead_collector.embedded import EmbeddedPostgres
from playhead_collector.process import CollectorProcess
from playhead_collector.receive.otlp_grpc import SERVICES
from tests.conftest import NOT_DURABLE
from tests.integration.receive.test_serving import PROTOBUF, batch

# After this, exporters give up.
EXPORTERS_SECONDS = 10.0
# Others use this machine, too: Postgres is stopped again when an answer came late, and the least of each counts.
MOST_ATTEMPTS = 5
TRACE = "57" * 16


@pytest.fixture(scope="module")
def postgres() -> Iterator[EmbeddedPostgres]:
    folder = Path(tempfile.mkdtemp(prefix="playhead-tests-"))
    with embedded.start(folder, options=NOT_DURABLE) as running:
        yield running
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def collector(postgres: EmbeddedPostgres) -> Iterator[CollectorProcess]:
    with CollectorProcess(database_url=postgres.dsn) as running:
        yield running
        assert "Traceback" not in running.log()


@pytest.fixture
async def http(collector: CollectorProcess) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=collector.url, timeout=60, trust_env=False) as http:
        yield http


@contextmanager
def stopped(postgres: EmbeddedPostgres) -> Iterator[None]:
    """All its processes are stopped until the block ends: connections are taken by the kernel, and nothing is said."""
    first = psutil.Process(postgres.pid)
    processes = [first, *first.children(recursive=True)]
    for process in processes:
        process.suspend()
    try:
        yield
    finally:
        for process in processes:
            process.resume()


async def send(http: httpx.AsyncClient, number: int) -> httpx.Response:
    return await http.post("/v1/traces", content=batch(TRACE, range(number, number + 1)), headers=PROTOBUF)


async def stored(http: httpx.AsyncClient, number: int) -> None:
    """Sends again, as senders do, while Postgres is said to be silent: on a busy machine, also when it is not."""
    async with asyncio.timeout(60):
        while (answer := await send(http, number)).status_code == 503:
            await asyncio.sleep(0.05)
    assert answer.status_code == 200


async def until_ready(http: httpx.AsyncClient, status: int) -> float:
    """Seconds until /readyz says so."""
    began = time.monotonic()
    async with asyncio.timeout(60):
        while (await http.get("/readyz")).status_code != status:
            pass
    return time.monotonic() - began


@dataclass(frozen=True, slots=True)
class AnswerTimes:
    """Seconds until /readyz says 503, until all that had asked are refused, for a request after that, and until
    /readyz says 200 when Postgres is back."""

    not_ready: float
    refused: float
    at_once: float
    ready: float

    @property
    def is_in_time(self) -> bool:
        """Not ready after about one second."""
        return self.not_ready < 3 and self.refused < EXPORTERS_SECONDS - 2 and self.at_once < 1 and self.ready < 10

    def least(self, other: "AnswerTimes | None") -> "AnswerTimes":
        return self if other is None else AnswerTimes(*map(min, astuple(self), astuple(other)))


async def test_probes_and_senders_are_told_before_they_give_up_and_all_goes_on_afterwards(
    postgres: EmbeddedPostgres, collector: CollectorProcess, http: httpx.AsyncClient
):
    assert collector.grpc_url is not None
    await stored(http, 1)
    async with grpc.aio.insecure_channel(collector.grpc_url.removeprefix("http://")) as opened:
        export = cast(Any, opened.unary_unary(f"/{SERVICES['traces']}/Export"))
        times: AnswerTimes | None = None
        for _ in range(MOST_ATTEMPTS):
            times = (await while_stopped(postgres, http, export)).least(times)
            if times.is_in_time:
                break
        assert times is not None
        assert times.is_in_time, times
        await stored(http, 2)
        async with asyncio.timeout(60):
            while await _outcome(export, 4) is grpc.StatusCode.UNAVAILABLE:
                await asyncio.sleep(0.05)
            while (answer := await http.get(f"/api/v1/runs/{TRACE}/spans")).status_code == 503:
                await asyncio.sleep(0.05)
    assert {span["start"][-4:] for span in answer.json()["items"]} >= {"002Z", "004Z"}


async def while_stopped(postgres: EmbeddedPostgres, http: httpx.AsyncClient, export: Any) -> AnswerTimes:
    """What is answered while Postgres says nothing, and until all goes on."""
    with stopped(postgres):
        began = time.monotonic()
        waiting = [
            asyncio.create_task(http.post("/v1/content/missing", json={"refs": [f"sha256:{'0' * 64}"]})),
            asyncio.create_task(send(http, 2)),
            asyncio.create_task(http.get("/api/v1/runs")),
            asyncio.create_task(http.get(f"/api/v1/runs/{TRACE}/decisions")),
        ]
        refused_call = asyncio.create_task(_outcome(export, 5))
        not_ready = await until_ready(http, 503)
        answers = await asyncio.gather(*waiting)
        assert await refused_call is grpc.StatusCode.UNAVAILABLE
        refused = time.monotonic() - began
        assert [answer.status_code for answer in answers] == [503] * 4
        assert all(int(answer.headers["retry-after"]) > 0 for answer in answers)
        began = time.monotonic()
        assert (await send(http, 3)).status_code == 503  # from now on at once
        at_once = time.monotonic() - began
        assert (await http.get("/healthz")).status_code == 200
        assert (await http.get("/metrics")).status_code == 200
    return AnswerTimes(not_ready, refused, at_once, ready=await until_ready(http, 200))


async def _outcome(export: Any, number: int) -> Any:
    try:
        await export(batch(TRACE, range(number, number + 1)), timeout=60)
    except grpc.RpcError as error:
        return cast(Any, error).code()
    return grpc.StatusCode.OK

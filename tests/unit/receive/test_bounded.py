"""Bodies and answers of all routes but those of spans and content."""

import asyncio
import tempfile
from contextlib import suppress
from typing import Any, BinaryIO

import httpx
import pytest
from fastapi import Body, FastAPI, Request, Response

from playhead_collector.errors import Refused
from playhead_collector.receive.bounded import BoundAnswers, BoundBodies
from playhead_collector.receive.transfer_budget import TransferBudget
from playhead_collector.serve import errors
from playhead_collector.serve.responses import FileDownload
from tests.unit.receive.http_app import client_of

KIB, MIB = 2**10, 2**20
downloads: list[BinaryIO] = []


def refusal(request: Request, error: Refused) -> Response:
    return errors.answer(request, error.status, error.code, str(error), error.headers)


def make_app(reading: TransferBudget, sending: TransferBudget) -> FastAPI:
    app = FastAPI()

    @app.post("/length")
    @app.post("/v1/traces")
    async def length(request: Request) -> int:
        return len(await request.body())

    @app.post("/json")
    async def json(refs: list[str] = Body(embed=True)) -> int:  # noqa: B008 - FastAPI's way
        return len(refs)

    @app.get("/answer/{size}")
    async def answer(size: int) -> Response:
        return Response(bytes(size))

    @app.get("/file/{size}")
    async def file(size: int) -> Response:
        made = tempfile.TemporaryFile()  # noqa: SIM115 - the response closes it
        made.write(bytes(size))
        downloads.append(made)
        return FileDownload(made, "file.bin", "application/octet-stream")

    app.add_middleware(
        BoundBodies,
        reading=reading,
        limit=KIB,
        body_seconds=60,
        is_other=lambda path: path.startswith("/v1/"),
        answer=refusal,
    )
    app.add_middleware(BoundAnswers, sending=sending, answer=refusal)
    return app


async def post(path: str, **given: Any) -> httpx.Response:
    reading = TransferBudget(MIB)
    async with client_of(make_app(reading, TransferBudget(MIB))) as client:
        answer = await client.post(path, **given)
    assert (reading.bytes, reading.count) == (0, 0)
    return answer


async def test_a_body_of_the_largest_size_is_given_whole_and_a_byte_more_is_refused():
    assert (await post("/length", content=bytes(KIB))).json() == KIB
    answer = await post("/length", content=bytes(KIB + 1))
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    assert answer.headers["connection"] == "close"  # the rest of it is not waited for
    assert (await post("/json", json={"refs": ["a"]})).json() == 1


async def test_a_body_of_unknown_length_is_bounded_too():
    async def endless() -> Any:
        while True:
            yield bytes(100)

    assert (await post("/length", content=endless())).status_code == 413


async def test_a_body_that_is_compressed_is_refused():
    answer = await post("/length", content=b"x", headers={"content-encoding": "gzip"})
    assert answer.status_code == 415


async def test_bodies_that_have_bounds_of_their_own_pass():
    assert (await post("/v1/traces", content=bytes(10 * KIB))).json() == 10 * KIB


async def test_an_answer_is_whole():
    async with client_of(make_app(TransferBudget(MIB), TransferBudget(MIB))) as client:
        for size in (0, 1, 64 * KIB, 64 * KIB + 1, 300 * KIB):
            assert len((await client.get(f"/answer/{size}")).content) == size


class Client:
    """Takes pieces of an answer when it is told to."""

    def __init__(self, app: FastAPI, size: int, kind: str = "answer") -> None:
        self.sent: list[Any] = []
        self.takes, self.is_gone = asyncio.Event(), asyncio.Event()
        scope = {"type": "http", "method": "GET", "path": f"/{kind}/{size}", "headers": [], "query_string": b""}
        self.task = asyncio.create_task(app(scope, self.receive, self.send))
        self._requests = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive(self) -> Any:
        if (request := next(self._requests, None)) is not None:
            return request
        await self.is_gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)
        if message["type"] == "http.response.body":
            await self.takes.wait()

    @property
    def status(self) -> int:
        return self.sent[0]["status"]


async def settled() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


async def test_large_answers_are_sent_in_pieces_and_counted_until_they_are_taken():
    sending = TransferBudget(MIB, slow_after_seconds=30)
    app = make_app(TransferBudget(MIB), sending)
    slow = Client(app, 700 * KIB)
    await settled()
    assert sending.bytes == 700 * KIB
    assert len(slow.sent[1]["body"]) == 64 * KIB
    other = Client(app, 400 * KIB)
    other.takes.set()
    await other.task
    assert other.status == 503
    small = Client(app, 10)
    small.takes.set()
    await small.task
    assert small.status == 200
    slow.takes.set()
    await slow.task
    assert sum(len(message.get("body", b"")) for message in slow.sent) == 700 * KIB
    assert (sending.bytes, sending.count) == (0, 0)


async def test_an_answer_that_is_not_taken_gives_way_after_a_while():
    sending = TransferBudget(MIB, slow_after_seconds=0)
    app = make_app(TransferBudget(MIB), sending)
    slow = Client(app, 700 * KIB)
    await settled()
    other = Client(app, 400 * KIB)
    other.takes.set()
    await other.task
    assert other.status == 200
    await slow.task
    assert slow.sent[-1]["more_body"]
    assert sending.bytes == 0


async def test_a_file_that_is_downloaded_is_not_counted_and_keeps_no_answer_out():
    sending = TransferBudget(MIB, slow_after_seconds=0)
    app = make_app(TransferBudget(MIB), sending)
    download = Client(app, 3 * MIB, "file")
    while len(download.sent) < 2:  # the file is read in a thread
        await asyncio.sleep(0)
    assert sending.bytes == 0
    other = Client(app, 400 * KIB)
    other.takes.set()
    await other.task
    assert other.status == 200
    download.takes.set()
    await download.task
    assert sum(len(message.get("body", b"")) for message in download.sent) == 3 * MIB
    assert downloads[-1].closed


@pytest.mark.parametrize("how", ["gone", "cut"])
async def test_a_file_is_closed_when_its_download_is_not_taken_to_the_end(how: str):
    app = make_app(TransferBudget(MIB), TransferBudget(MIB))
    download = Client(app, 3 * MIB, "file")
    while len(download.sent) < 2:
        await asyncio.sleep(0)
    if how == "gone":
        download.is_gone.set()
    else:
        download.task.cancel()
    with suppress(asyncio.CancelledError):
        await download.task
    assert downloads[-1].closed
    assert len(download.sent) == 2

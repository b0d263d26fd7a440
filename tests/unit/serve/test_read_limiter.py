"""Turns of questions that read: how many at a time, how many wait, for how long, and who is not answered any more."""

import asyncio

import pytest
from fastapi import APIRouter, Depends, FastAPI
from starlette.types import Message

from playhead_collector.errors import Refused
from playhead_collector.serve import errors
from playhead_collector.serve.read_limiter import ReadLimiter
from tests.unit.receive.http_app import client_of


async def hold(reads: ReadLimiter, until: asyncio.Event) -> None:
    async with reads.turn():
        await until.wait()


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_so_many_go_on_so_many_wait_and_others_are_refused_at_once():
    reads, over = ReadLimiter(2, 3), asyncio.Event()
    tasks = [asyncio.create_task(hold(reads, over)) for _ in range(6)]
    await settled()
    assert (reads.running, reads.waiting) == (2, 3)
    refused = [task.exception() for task in tasks if task.done()]
    assert len(refused) == 1
    assert isinstance(refused[0], Refused)
    assert (refused[0].status, refused[0].code, refused[0].headers) == (503, "too_many_questions", {"Retry-After": "2"})
    over.set()
    await asyncio.wait(tasks)
    assert (reads.running, reads.waiting) == (0, 0)


async def test_one_that_waited_in_vain_is_refused_and_one_that_gave_up_leaves_the_queue():
    reads, over = ReadLimiter(1, 3, wait_seconds=0.01), asyncio.Event()
    first = asyncio.create_task(hold(reads, over))
    await settled()
    with pytest.raises(Refused):
        await hold(reads, over)
    leaving = asyncio.create_task(hold(reads, over))
    await settled()
    leaving.cancel()
    await asyncio.wait([leaving])
    assert (reads.running, reads.waiting) == (1, 0)
    over.set()
    await first
    await hold(reads, over)


def app_with(reads: ReadLimiter) -> FastAPI:
    app, routes = FastAPI(), APIRouter(dependencies=[Depends(reads.around, scope="function")])

    @routes.get("/running")
    async def running() -> int:
        return reads.running

    @routes.get("/fails")
    async def fails() -> None:
        raise Refused(404, "no_such_run", "there is no such run")

    app.include_router(routes)
    errors.install(app)
    return app


async def test_a_turn_ends_with_its_handler_also_when_that_fails():
    reads = ReadLimiter(1, 1)
    async with client_of(app_with(reads)) as client:
        assert (await client.get("/running")).json() == 1
        assert (await client.get("/fails")).status_code == 404
        assert (await client.get("/running")).json() == 1
    assert reads.running == 0


async def test_a_turn_is_over_before_the_client_takes_its_answer():
    reads, seen = ReadLimiter(1, 1), list[int]()

    async def send(message: Message) -> None:
        seen.append(reads.running)

    await app_with(reads)(get("/running"), nothing_more, send)
    assert seen == [0, 0]


async def test_who_left_while_waiting_is_not_read_for():
    statuses = list[int]()

    async def left() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await app_with(ReadLimiter(1, 1))(get("/running"), left, send)
    assert statuses == [499]


def get(path: str) -> dict[str, object]:
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "headers": [],
        "server": ("localhost", 80), "client": ("127.0.0.1", 1),
    }  # fmt: skip


async def nothing_more() -> Message:
    await asyncio.Event().wait()
    raise AssertionError

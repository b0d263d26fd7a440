"""Runs inside a real web server: clients that go away, and what goes on after the response."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
import uvicorn
from fastapi import BackgroundTasks, FastAPI
from fastapi.responses import StreamingResponse

import playhead
from playhead import observe
from playhead.model import names
from playhead.testing import MockModelServer, delay, pytest_plugin, text
from tests.support.journal_reader import Journaled, Recording, start_recording
from tests.support.projected import projected

server = pytest_plugin.mock_model_server
HELLO: list[Any] = [{"role": "user", "content": "hello"}]


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("openai")
        yield recording
        playhead.uninstrument("openai")


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """The application on a port that the system chooses; gives its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    web = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=60))
    thread = threading.Thread(target=lambda: asyncio.run(web.serve([listening])))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        web.should_exit = True
        thread.join()
        listening.close()


def leave_after_first_chunk(address: str) -> None:
    with httpx.stream("GET", address, timeout=60) as response:
        next(response.iter_raw())


def one_run(seen: Journaled) -> Any:
    [run] = {span.attributes[names.RUN_ID] for span in (*seen.announced, *seen.spans)}
    return projected(seen, str(run))


async def waits() -> AsyncIterator[str]:
    yield "first "
    await asyncio.Event().wait()


async def waits_in_a_group() -> AsyncIterator[str]:
    yield "first "
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.Event().wait())


async def waits_for_a_call() -> AsyncIterator[str]:
    @observe(kind="tool")
    async def forever() -> None:
        await asyncio.Event().wait()

    yield "first "
    await forever()


@pytest.mark.parametrize("body", [waits, waits_in_a_group, waits_for_a_call])
def test_a_run_whose_client_goes_away_is_cancelled_and_no_error(
    recording: Recording, body: Callable[[], AsyncIterator[str]]
):
    app, over = FastAPI(), threading.Event()

    @observe(name="answer")
    async def answer() -> AsyncIterator[str]:
        try:
            async for piece in body():
                yield piece
        finally:
            over.set()

    @app.get("/")
    async def endpoint() -> StreamingResponse:
        return StreamingResponse(answer())

    with serving(app) as address:
        leave_after_first_chunk(address)
        assert over.wait(60)
    seen = recording.read()
    for span in seen.spans:
        assert (span.status, span.attributes[names.OUTCOME]) == (0, "cancelled")
    row = one_run(seen).row
    assert (row.status, row.errors) == ("cancelled", 0)


def test_a_model_stream_whose_client_goes_away_is_cancelled(recording: Recording, server: MockModelServer):
    app, over = FastAPI(), threading.Event()
    server.otherwise(delay(60, text("late")))

    @observe(name="answer")
    async def answer() -> AsyncIterator[str]:
        try:
            async with openai.AsyncOpenAI(base_url=server.base_url, api_key="none") as client:
                yield "first "
                async for chunk in await client.chat.completions.create(model="m", messages=HELLO, stream=True):
                    yield chunk.choices[0].delta.content or ""
        finally:
            over.set()

    @app.get("/")
    async def endpoint() -> StreamingResponse:
        return StreamingResponse(answer())

    with serving(app) as address:
        leave_after_first_chunk(address)
        assert over.wait(60)
    seen = recording.read()
    assert {span.attributes[names.OUTCOME] for span in seen.spans} == {"cancelled"}
    assert one_run(seen).row.status == "cancelled"


def test_what_goes_on_after_the_response_belongs_to_the_run(recording: Recording):
    """Tasks of asyncio, FastAPI's background tasks, asynchronous and in a thread, and their own calls."""
    app, waiting, tasks = FastAPI(), asyncio.Event(), set[asyncio.Task[None]]()
    done = threading.Semaphore(0)

    @observe(kind="tool")
    def leaf(of: str) -> str:
        done.release()
        return of

    @observe
    async def task() -> None:
        await waiting.wait()
        leaf("task")

    @observe
    async def later(order: str) -> None:
        leaf(order)
        waiting.set()

    @observe
    def in_thread(order: str) -> None:
        leaf(order)

    @app.get("/")
    @observe(name="handle", session="s1", user="u1")
    async def endpoint(background: BackgroundTasks) -> str:
        tasks.add(asyncio.create_task(task()))
        background.add_task(later, "A1")
        background.add_task(in_thread, order="B2")
        return "said"

    @app.get("/unobserved")
    async def unobserved(background: BackgroundTasks) -> str:
        background.add_task(leaf, "alone")
        return "said"

    with serving(app) as address:
        assert httpx.get(address, timeout=60).json() == "said"
        for _ in range(3):
            assert done.acquire(timeout=60)
        assert httpx.get(address + "/unobserved", timeout=60).json() == "said"
        assert done.acquire(timeout=60)
    seen = recording.read()
    root = seen.call("handle")
    inside = [span for span in seen.spans if span.attributes[names.RUN_ID] == root.attributes[names.RUN_ID]]
    assert sorted(span.name.rpartition(" ")[2] for span in inside) == [
        "handle", "in_thread", "later", "leaf", "leaf", "leaf", "task",
    ]  # fmt: skip
    for name in ("task", "later", "in_thread"):
        assert seen.parent(name) == "handle"
    told = projected(seen, str(root.attributes[names.RUN_ID]))
    row = told.row
    assert (row.status, row.session, row.user, row.spans_missing) == ("completed", "s1", "u1", 0)
    assert len({span.attributes[names.RUN_ID] for span in seen.spans}) == 2


def test_the_run_is_not_reopened_by_what_comes_after_it_was_sealed(recording: Recording):
    release = asyncio.Event()

    @observe(kind="tool")
    async def slow() -> str:
        await release.wait()
        return "late"

    @observe
    async def agent() -> "asyncio.Task[str]":
        started = asyncio.create_task(slow())
        await asyncio.sleep(0)
        return started

    async def program() -> tuple[Any, Any]:
        started = await agent()
        before = recording.read()
        release.set()
        await started
        return before, recording.read()

    before, after = asyncio.run(program())
    [run] = {str(span.attributes[names.RUN_ID]) for span in after.spans}
    sealed = projected(before, run, quiet_s=60)
    assert (sealed.row.status, sealed.row.sealed) == ("completed", True)
    again = projected(after, run, sealed=sealed.events)
    assert (again.row.status, again.row.sealed) == ("completed", True)
    assert again.events[: len(sealed.events)] == sealed.events
    assert [(event.kind, event.late) for event in again.events[len(sealed.events) :]] == [("tool_completed", True)]

"""Credentials of a real web application are nowhere: not in the journal's bytes, and not in what is sent."""

import asyncio
import dataclasses
import logging
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated, Any, cast

import httpx
import pydantic
import pytest
from fastapi import BackgroundTasks, Cookie, Depends, FastAPI, Header, Request, Response, WebSocket
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from fastapi.testclient import TestClient
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

import playhead
from playhead import observe
from playhead import recording as recording_module
from playhead.export.ship import Shipper
from tests.integration.export.fake_collector import FakeCollector
from tests.support.journal_reader import Recording, start_recording
from tests.wire.test_web_requests import serving

SECRET = "s3cr3t-0a1b2c"
HEADERS = {"Authorization": f"Bearer {SECRET}", "X-Api-Key": SECRET, "Cookie": f"session={SECRET}; theme=dark"}


@pytest.fixture
def collector() -> Iterator[FakeCollector]:
    with FakeCollector() as collector:
        yield collector


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collector: FakeCollector) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        monkeypatch.setattr(recording_module, "Shipper", Shipper)
        recording.configure(endpoint=f"http://127.0.0.1:{collector.port}", linger_seconds=0)
        yield recording


@dataclasses.dataclass
class Account:
    name: str
    api_key: str
    headers: dict[str, Any]


class Settings(pydantic.BaseModel):
    region: str = "eu"
    database_password: str = SECRET
    raw: list[tuple[bytes, bytes]] = [(b"authorization", f"Bearer {SECRET}".encode())]


class Client:
    """What has no shape that can be shown, but a `repr` that says too much."""

    def __repr__(self) -> str:
        return f"Client(region='eu', api_key='{SECRET}', auth={{'Authorization': 'Bearer {SECRET}'}})"


def session() -> Iterator[Session]:
    with Session(create_engine("sqlite://")) as made:
        yield made


def account(request: Request) -> Account:
    return Account("ann", SECRET, {"Proxy-Authorization": [SECRET], "accept": "text/plain"})


application = FastAPI()
bearer = HTTPBearer()


@application.post("/ask")
@observe
async def ask(
    request: Request,
    response: Response,
    tasks: BackgroundTasks,
    question: str,
    who: Annotated[Account, Depends(account)],
    credentials: Annotated[HTTPAuthorizationCredentials, Depends(bearer)],
    authorization: Annotated[str, Header()],
    x_key: Annotated[str, Header(alias="X-Api-Key")],
    user_agent: Annotated[str, Header()],
    session_cookie: Annotated[str, Cookie(alias="session")] = "",
    db: Session = Depends(session),  # noqa: B008 - as many programs write it
) -> dict[str, Any]:
    tasks.add_task(after, request, who)
    answer = await think(question, request, {"request": request, "scope": request.scope, "headers": request.headers})
    say(Settings(), Client(), sqlite3.connect(":memory:"), threading.Lock(), logging.getLogger())
    playhead.annotate(decision=who, request=request)
    return answer


@observe
async def think(question: str, *context: Any) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"answer": question}


@observe(kind="tool")
def say(*things: Any) -> Any:
    return Settings()


@observe
async def after(request: Request, who: Account) -> None:
    return None


@application.websocket("/live")
@observe
async def live(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.send_text("hello")
    await websocket.close()


@observe
async def raw_asgi(scope: dict[str, Any], receive: Any, send: Any) -> None:
    await application(scope, receive, send)


@observe
def raw_wsgi(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    return [b"ok"]


def nowhere(recording: Recording, collector: FakeCollector) -> None:
    """No byte of the secret in any file of the journal, nor in any request to the collector."""
    assert playhead.flush(60)
    files = [path.read_bytes() for path in recording.folder.rglob("*") if path.is_file()]
    contents = [content.data for content in recording.read().contents.values()]
    sent = [
        part for request in collector.requests for part in (request.sent, request.body, repr(request.headers).encode())
    ]
    assert len(collector.contents) >= len(contents) > 0
    assert files
    assert sent
    for data in (*contents, *files, *sent, *collector.contents.values()):
        assert SECRET.encode() not in data
        assert SECRET.encode().hex().encode() not in data
        assert b"czNjcjN0" not in data  # as base64 begins it
        assert b"MzY3IzdC" not in data


@pytest.mark.parametrize("how", ["TestClient", "uvicorn", "raw ASGI"])
def test_no_byte_of_a_request_s_credentials_is_recorded(recording: Recording, collector: FakeCollector, how: str):
    if how == "uvicorn":
        with serving(application) as address:
            answer = httpx.post(f"{address}/ask", params={"question": "why?"}, headers=HEADERS, timeout=60)
    else:
        with TestClient(cast(Any, raw_asgi if how == "raw ASGI" else application)) as client:
            answer = client.post("/ask", params={"question": "why?"}, headers=HEADERS)
            if how == "TestClient":
                with client.websocket_connect("/live", headers=HEADERS) as socket:
                    assert socket.receive_text() == "hello"
    assert answer.json() == {"answer": "why?"}
    nowhere(recording, collector)
    seen = recording.read()
    given = seen.input("ask")
    assert given["question"] == "why?"
    assert given["user_agent"]
    assert given["request"] == {"$type": "starlette.requests.Request"}
    assert given["tasks"]["$type"].endswith("BackgroundTasks")
    assert given["db"] == {"$type": "sqlalchemy.orm.session.Session"}
    assert given["who"] == {"$type": f"{__name__}.Account"}
    assert given["authorization"] == given["x_key"] == {"$masked": "str"}
    assert seen.input("after")["who"] == {
        "name": "ann",
        "api_key": {"$masked": "str"},
        "headers": {"Proxy-Authorization": {"$masked": "list"}, "accept": "text/plain"},
    }


def test_a_wsgi_environment_is_a_connection(recording: Recording, collector: FakeCollector):
    from wsgiref.util import setup_testing_defaults

    environ: dict[str, Any] = {"HTTP_AUTHORIZATION": SECRET, "HTTP_COOKIE": SECRET}
    setup_testing_defaults(environ)
    assert raw_wsgi(environ, print) == [b"ok"]
    nowhere(recording, collector)
    assert recording.read().input("raw_wsgi")["environ"] == {"$type": "connection"}


async def test_clients_and_what_they_answer_are_their_types(recording: Recording, collector: FakeCollector):
    @observe
    def hold(**things: Any) -> None: ...

    request = httpx.Request("GET", f"http://x/?key={SECRET}", headers=HEADERS)
    async with httpx.AsyncClient(headers=HEADERS, timeout=60) as client, AsyncSession() as database:
        things = {
            "client": client,
            "request": request,
            "response": httpx.Response(200, headers={"Set-Cookie": SECRET}, text=SECRET, request=request),
            "database": database,
            "url": create_engine(f"sqlite:///{SECRET}").url,
            "task": asyncio.current_task(),
            "file": Path(__file__).open("rb"),  # noqa: SIM115
        }
        hold(**things)
        things["file"].close()
    nowhere(recording, collector)
    shown = recording.read().input("hold")
    assert {name: [*description] for name, description in shown.items()} == {name: ["$type"] for name in things}


def test_an_error_s_credentials_are_left_out(recording: Recording, collector: FakeCollector):
    class Refused(Exception):
        def __init__(self) -> None:
            super().__init__("refused")
            self.account = Account("ann", SECRET, {})
            self.access_token = SECRET
            self.code = 401

    @observe(kind="tool")
    def call() -> None:
        raise Refused

    with pytest.raises(Refused):
        call()
    nowhere(recording, collector)


async def stream() -> AsyncIterator[Any]:
    yield Account("ann", SECRET, {})


async def test_what_a_generator_gives_is_masked(recording: Recording, collector: FakeCollector):
    async for account in observe(kind="tool")(stream)():
        assert account.api_key == SECRET
    nowhere(recording, collector)

"""Servers with worker processes: each worker records what it serves, and nothing is lost at a graceful stop."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from playhead.model import names
from playhead.testing import ChatRequest, MockModelServer, contains, pytest_plugin, text
from playhead.testing.answers import Answer
from tests.support.journal_reader import read_journal
from tests.wire.launch.test_run_command import OPENTELEMETRY_OFF, environ

server = pytest_plugin.mock_model_server
Process = subprocess.Popen[str]
ASGI = """
import os, openai
client = openai.AsyncOpenAI()

async def app(scope, receive, send):
    messages = [{"role": "user", "content": scope["path"]}]
    await client.chat.completions.create(model="m", messages=messages)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(os.getpid()).encode()})
"""
# The first call is made where the module is imported: with `--preload`, before the workers are forked.
WSGI = """
import os, openai

def ask(content):
    with openai.OpenAI() as client:  # connections must not be shared by processes
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": content}])

ask("imported")

def app(environ, start_response):
    ask(environ["PATH_INFO"])
    start_response("200 OK", [])
    return [str(os.getpid()).encode()]
"""
WORKERS = 2
UVICORN = [sys.executable, "-m", "uvicorn", "asgi:app", f"--workers={WORKERS}", "--port=0"]
UVICORN += ["--lifespan=off", "--timeout-worker-healthcheck=60"]
GUNICORN = [sys.executable, "-m", "gunicorn", "wsgi:app", f"--workers={WORKERS}", "--bind=127.0.0.1:0"]
PLAYHEAD = [sys.executable, "-m", "playhead", "run", "--"]
OPENTELEMETRY = [str(Path(sys.executable).with_name("opentelemetry-instrument"))]


@contextmanager
def started(folder: Path, command: Sequence[str], server: MockModelServer) -> Iterator[tuple[str, Process]]:
    """The web server's address, and its process."""
    (folder / "asgi.py").write_text(ASGI)
    (folder / "wsgi.py").write_text(WSGI)
    process = subprocess.Popen(
        command, env=environ(folder, server, **OPENTELEMETRY_OFF), cwd=folder, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        yield _address(process), process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _address(process: Process) -> str:
    lines: list[str] = []
    for line in process.stderr or ():
        lines.append(line)
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return found[0]
    raise AssertionError("".join(lines))


def get(address: str, path: str) -> str:
    """Answered by which worker."""
    return httpx.get(address + path, timeout=60).raise_for_status().text


def wait_until_it_listens(address: str) -> None:
    """uvicorn says its address before its workers listen."""
    for _ in range(1_200):
        with contextlib.suppress(httpx.ConnectError):
            get(address, "/0")
            return
        threading.Event().wait(0.05)
    raise AssertionError(f"nobody listens at {address}")


def ask_until_each_worker_has_answered(address: str) -> int:
    """How many requests that took."""
    wait_until_it_listens(address)
    workers: set[str] = set()
    for asked in range(1, 4_000, 4):
        if len(workers) == WORKERS:
            return asked
        with ThreadPoolExecutor(4) as threads:
            workers |= set(threads.map(lambda number: get(address, f"/{number}"), range(asked, asked + 4)))
    raise AssertionError(f"only {workers} answered")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "at_import"),
    [
        ([*PLAYHEAD, *UVICORN], 0),
        ([*OPENTELEMETRY, *UVICORN], 0),
        ([*PLAYHEAD, *GUNICORN], WORKERS),
        ([*PLAYHEAD, *OPENTELEMETRY, *GUNICORN, "--preload"], 1),
    ],
    ids=["uvicorn", "uvicorn, opentelemetry", "gunicorn", "gunicorn, preloaded, opentelemetry"],
)
def test_each_worker_records_each_call_once_and_loses_none_when_it_is_stopped(
    server: MockModelServer, tmp_path: Path, command: list[str], at_import: int
):
    arrived, released = threading.Event(), threading.Event()

    def wait(_: ChatRequest) -> Answer:
        arrived.set()
        released.wait(60)
        return text("late")

    server.when(contains("/last"), wait)
    server.otherwise(text("fine"))
    with started(tmp_path, command, server) as (address, process), ThreadPoolExecutor(1) as thread:
        asked = ask_until_each_worker_has_answered(address)
        last = thread.submit(get, address, "/last")
        assert arrived.wait(60)
        process.send_signal(signal.SIGTERM)
        released.set()
        assert last.result()
        _, errors = process.communicate(timeout=300)
    assert "Traceback" not in errors, errors
    seen = read_journal(tmp_path / "journal")
    assert len(seen.spans) == asked + 1 + at_import == len(server.requests)
    assert {span.attributes[names.KIND] for span in seen.spans} == {"llm"}
    assert len({span.span_id for span in seen.spans}) == len(seen.spans)
    assert {span.span_id for span in seen.announced} == {span.span_id for span in seen.spans}
    assert len({span.attributes[names.RUN_ID] for span in seen.spans}) == asked + 1 + at_import, "a request is a run"

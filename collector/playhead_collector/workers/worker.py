"""`python -m playhead_collector.workers.worker`: answers one question at a time, until its stdin ends.

It must not outlive the collector, even if that is killed: a thread ends the process when stdin ends. While C code holds
the interpreter, no thread runs; then the kernel's timer (SIGALRM) ends the process later.
"""

import asyncio
import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO

import psutil

from playhead_collector.logs import configure_logging
from playhead_collector.store.objects.obstore_store import open_object_store
from playhead_collector.store.postgres.store import PostgresStore, connect
from playhead_collector.workers import protocol
from playhead_collector.workers.protocol import Setup
from playhead_collector.workers.questions import AnalysisQuestion, answer

log = logging.getLogger(__name__)

# Connections: one for a read, and one for a read inside it.
POOL_SIZE = 2
# Pages of events that stay decoded: a page of the web UI asks some questions about the whole run, one after the other.
KEPT_PAGES = 128
# The kernel's limit is so much later than the collector's, whose error names the reason.
ALARM_MARGIN_SECONDS = 5.0
# A process does not return memory to the system: one that uses more than limit / GROWN_SHARE ends after its question.
GROWN_SHARE = 2


class Worker:
    """Answers questions. Connects to the store at the first question."""

    def __init__(self, setup: Setup, send: Callable[[bytes], object]) -> None:
        self._setup = setup
        self._send = send
        self._store: PostgresStore | None = None

    async def answer(self, head: dict[str, Any]) -> bool:
        """Sends the answer to a question, or its error. Returns False if the process must end after it."""
        reply: dict[str, Any] = {}
        body = b""
        with _Alarm(self._setup.seconds + ALARM_MARGIN_SECONDS):
            try:
                question = AnalysisQuestion(head["name"], head["project"], tuple(head["runs"]), head["options"])
                body = await self._answered(question)
            except MemoryError:
                reply = {"error": protocol.to_json(protocol.too_large(self._setup.memory_bytes, "its work"))}
            except Exception as error:  # noqa: BLE001 - it is raised where the question was asked
                reply = {"error": protocol.to_json(error)}
        reply["last"] = _memory_bytes() > self._setup.memory_bytes // GROWN_SHARE
        self._send(protocol.encode(reply, body))
        return not reply["last"]

    async def _answered(self, question: AnalysisQuestion) -> bytes:
        if self._store is None:
            url, seconds = self._setup.object_store, self._setup.object_store_seconds
            self._store = await connect(
                self._setup.dsn,
                pool_size=POOL_SIZE,
                timeouts=self._setup.timeouts,
                kept_pages=KEPT_PAGES,
                objects=None if url is None else open_object_store(url, seconds),
                operator_key=self._setup.operator_key.open(),
            )
        body = await answer(self._store, self._setup.given, question, self._store.search)
        if len(body) > self._setup.answer_bytes:
            raise protocol.too_large(self._setup.answer_bytes, "its answer")
        return body


class _Alarm:
    """Ends the process when the block takes longer than `seconds`, even inside C code. Does nothing on Windows."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, self._seconds)

    def __exit__(self, *_: object) -> None:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)


def main() -> None:
    """Runs the process until its stdin ends, or its memory has grown too much."""
    requests, replies = _own_stdio()
    _ignore_signals()
    setup = Setup.from_json(protocol.read(_exactly(requests))[0])
    configure_logging(setup.log_format, setup.log_level)
    _bound(setup.memory_bytes)
    gc.collect()
    gc.freeze()  # objects of libraries, which are never freed
    with asyncio.Runner() as runner:
        runner.run(_work(setup, requests, replies))


async def _work(setup: Setup, requests: BinaryIO, replies: BinaryIO) -> None:
    questions = asyncio.Queue[dict[str, Any]]()
    loop = asyncio.get_running_loop()

    def receive(head: dict[str, Any]) -> None:
        loop.call_soon_threadsafe(questions.put_nowait, head)

    threading.Thread(target=_listen, args=(requests, receive), daemon=True, name="stdin").start()

    def send(message: bytes) -> None:
        replies.write(message)
        replies.flush()

    send(protocol.encode({"ready": os.getpid()}))
    worker = Worker(setup, send)
    while await worker.answer(await questions.get()):
        pass
    os._exit(0)  # no question is in progress, and the process keeps no state


def _listen(requests: BinaryIO, receive: Callable[[dict[str, Any]], None]) -> None:
    exactly = _exactly(requests)
    while True:
        receive(protocol.read(exactly)[0])


def _exactly(pipe: BinaryIO) -> Callable[[int], bytes]:
    """Returns a function that reads n bytes. It ends the process at the end of the pipe: the collector has ended, or
    has closed the pipe."""

    def read(size: int) -> bytes:
        data = pipe.read(size)
        if len(data) < size:
            os._exit(0)
        return data

    return read


def _own_stdio() -> tuple[BinaryIO, BinaryIO]:
    """Returns the pipes of stdin and stdout, for messages only: what a library prints goes to stderr, the log."""
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a descriptor, not a file
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return requests, replies


def _ignore_signals() -> None:
    """Ignores SIGINT and SIGTERM, which reach all processes at once: the collector ends this process after its last
    answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _bound(memory_bytes: int) -> None:
    """Limits the memory of this process. Does nothing on Windows, which has no such limit."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - not available on Windows

    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = memory_bytes if most == resource.RLIM_INFINITY else min(memory_bytes, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, most))


def _memory_bytes() -> int:
    return psutil.Process().memory_info().rss


if __name__ == "__main__":
    main()

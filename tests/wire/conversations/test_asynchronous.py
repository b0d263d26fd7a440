"""Coroutines: conversations and histories are read and saved beside the event loop, which a slow collector never
blocks."""

import asyncio
import json
import threading
import uuid
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead import History
from playhead.conversations import keeping
from tests.support import patience

Machine = Callable[..., None]


class WaitingCollector(ThreadingHTTPServer):
    """Answers, with an error, only when the test has seen that the event loop goes on."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Waiting)
        self.is_asked = threading.Event()
        self.go_on = threading.Event()


class _Waiting(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
        pass

    def _answer(self) -> None:
        server = self.server
        assert isinstance(server, WaitingCollector)
        server.is_asked.set()
        server.go_on.wait(60)
        self.send_response(503)
        self.end_headers()

    do_GET = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815 - names of the base class


def ask_history() -> Any:
    return History([{"role": "user", "content": "Hello"}]).persist_async()


def ask_conversation() -> Any:
    return playhead.conversation_async("c")


@pytest.mark.parametrize("ask", [ask_history, ask_conversation])
def test_the_event_loop_goes_on_while_a_collector_does_not_answer(
    ask: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(keeping, "REQUEST_SECONDS", patience.SECONDS)  # it is not given up meanwhile
    server = WaitingCollector()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    playhead.configure(endpoint=f"http://127.0.0.1:{server.server_address[1]}", journal_dir=tmp_path)

    async def main() -> Any:
        asked = asyncio.ensure_future(ask())
        await asyncio.to_thread(server.is_asked.wait, 60)
        assert not asked.done()
        server.go_on.set()  # by the event loop, which would wait for it in vain if it were blocked
        return await asked

    try:
        result = asyncio.run(main())
    finally:
        server.go_on.set()
        server.shutdown()
        server.server_close()
        thread.join()
        playhead.shutdown()
    assert result is False or len(result) == 0


def test_all_of_it_with_coroutines(machine: Machine):
    name = f"chat {uuid.uuid4().hex[:12]}"

    async def main() -> None:
        conversation = await playhead.conversation_async(name)
        conversation.append("user", "Hello")
        assert await conversation.save_async() == 1
        branch = await conversation.branch_async(id=f"{name}/b")
        branch.append("user", "more")
        await branch.save_async()
        await conversation.reload_async()
        assert (await conversation.load_async()).messages == [{"role": "user", "content": "Hello"}]
        assert await branch.delete_async()

        history = History(conversation.messages, scope=name)

        async def answer(messages: list[Any]) -> str:
            return f"{len(messages)} message"

        await history.call_async(answer)
        assert await history.persist_async()
        sent = json.dumps(history.to_json())
        there = History.load(json.loads(sent))
        assert [message["content"] for message in await there.hydrate_async()] == ["Hello", "1 message"]
        assert await History.delete_async(json.loads(sent))

    asyncio.run(main())

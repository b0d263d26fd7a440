"""An agent is not slowed while its collector is away, hangs or refuses; when it is back, it gets everything, once."""

import socket
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openai
import pytest

import playhead
from playhead import observe
from playhead.testing import MockModelServer, text
from tests.integration.export.fake_collector import Answer, FakeCollector, closed_port

CALLS = 200
# Others use the machine, too: what looks too slow is done again, and the least of each counts.
MOST_ROUNDS = 6
# A call that waits for a collector waits for seconds: to connect 5, for an answer 30.  The rest is for slow machines.
MOST_SECONDS = 0.25
MOST_TIMES, SLACK_SECONDS = 2, 0.0005
WAIT = 60


@dataclass
class Sockets:
    """Which threads connected and sent to which ports."""

    used_by: dict[int, set[str]] = field(default_factory=dict)
    connected: dict[int, threading.Event] = field(default_factory=dict)

    def used(self, port: Any) -> None:
        self.used_by.setdefault(port, set()).add(threading.current_thread().name)
        self.tried(port).set()

    def tried(self, port: int) -> threading.Event:
        """Set when somebody has tried to connect there."""
        return self.connected.setdefault(port, threading.Event())


@pytest.fixture
def sockets(monkeypatch: pytest.MonkeyPatch) -> Sockets:
    seen = Sockets()
    real_connect, real_send, real_sendall = socket.socket.connect, socket.socket.send, socket.socket.sendall

    def connect(self: socket.socket, address: Any) -> None:
        seen.used(address[1])
        real_connect(self, address)

    def send(self: socket.socket, *data: Any) -> int:
        seen.used(self.getpeername()[1])
        return real_send(self, *data)

    def sendall(self: socket.socket, *data: Any) -> None:
        seen.used(self.getpeername()[1])
        real_sendall(self, *data)

    for replaced in (connect, send, sendall):
        monkeypatch.setattr(socket.socket, replaced.__name__, replaced)
    return seen


@pytest.fixture
def client() -> Iterator[openai.OpenAI]:
    with MockModelServer() as server, openai.OpenAI(base_url=server.base_url, api_key="none") as client:
        server.otherwise(text("noted"))
        playhead.instrument("openai")
        yield client
        playhead.uninstrument("openai")


@contextmanager
def recording(folder: Path, port: int) -> Generator[None]:
    playhead.configure(endpoint=f"http://127.0.0.1:{port}", journal_dir=folder, linger_seconds=0.0)
    try:
        yield
    finally:
        playhead.shutdown(0.1)


@observe(kind="tool")
def look(query: str) -> str:
    return query + "x" * 1_000


def agent(client: openai.OpenAI) -> list[float]:
    """Seconds of each tool call; a model is asked before every tenth."""
    seconds: list[float] = []
    with playhead.run("agent"):
        for number in range(CALLS):
            if number % 10 == 0:
                client.chat.completions.create(model="m", messages=[{"role": "user", "content": f"{number}"}])
            began = time.perf_counter()
            look(f"{number}")
            seconds.append(time.perf_counter() - began)
    return seconds


def are_usual(rounds: list[list[float]], usual: list[float]) -> bool:
    """Whether calls took about as long as usual in one of the rounds, and none had to wait in one of them."""
    median = min(statistics.median(seconds) for seconds in rounds)
    slow = min(sorted(seconds)[int(len(seconds) * 0.99)] for seconds in rounds)
    return median <= MOST_TIMES * statistics.median(usual) + SLACK_SECONDS and slow < MOST_SECONDS


EXPECTED = Counter({"execute_tool look": CALLS, "chat m": CALLS // 10, "invoke_agent agent": 1})


def absent(stack: ExitStack, sockets: Sockets) -> tuple[int, threading.Event, Callable[[], FakeCollector]]:
    reserved = stack.enter_context(ExitStack())
    port = reserved.enter_context(closed_port())

    def start() -> FakeCollector:
        reserved.close()
        return stack.enter_context(FakeCollector(port=port))

    return port, sockets.tried(port), start


def hanging(stack: ExitStack, _: Sockets) -> tuple[int, threading.Event, Callable[[], FakeCollector]]:
    hang = threading.Event()
    collector = stack.enter_context(FakeCollector(hang=hang))

    def answer() -> FakeCollector:
        hang.set()
        return collector

    return collector.port, collector.arrived, answer


def overloaded(stack: ExitStack, _: Sockets) -> tuple[int, threading.Event, Callable[[], FakeCollector]]:
    collector = stack.enter_context(FakeCollector(refuse=lambda *_: Answer(503)))

    def accept() -> FakeCollector:
        collector.refuse = lambda *_: None
        return collector

    return collector.port, collector.arrived, accept


@pytest.mark.parametrize("fault", [absent, hanging, overloaded])
def test_calls_are_not_slowed_touch_no_socket_and_arrive_once_when_the_collector_is_back(
    fault: Callable[..., Any], tmp_path: Path, sockets: Sockets, client: openai.OpenAI
) -> None:
    with ExitStack() as stack:
        healthy = stack.enter_context(FakeCollector())
        with recording(tmp_path / "healthy", healthy.port):
            agent(client)  # what the first call imports is nobody's fault
            usual = agent(client)
        port, noticed, mend = fault(stack, sockets)
        with recording(tmp_path / "down", port):
            look("before")
            assert noticed.wait(WAIT)  # from here on the shipper knows, or waits
            rounds = [agent(client)]
            while not are_usual(rounds, usual) and len(rounds) < MOST_ROUNDS:
                rounds.append(agent(client))
            ships = sockets.used_by[port]
            collector = mend()
            assert playhead.flush(WAIT)
    assert ships == {"playhead-ship"}
    assert are_usual(rounds, usual)
    ended = [span for span in collector.spans if span.end_time_unix_nano]
    # The call before was a run of its own.
    expected = Counter({name: count * len(rounds) for name, count in EXPECTED.items()})
    assert Counter(span.name for span in ended) == expected + Counter({"execute_tool look": 1})
    assert len({(span.trace_id, span.span_id) for span in ended}) == len(ended)
    assert [ref for ref, times in Counter(collector.content_deliveries).items() if times > 1] == []
    assert len({span.span_id for span in collector.spans}) == len(ended)


def test_a_call_that_would_wait_for_a_collector_would_be_noticed(sockets: Sockets) -> None:
    with FakeCollector() as collector:
        with socket.create_connection(("127.0.0.1", collector.port)) as connection:
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert sockets.used_by[collector.port] == {threading.current_thread().name}

"""Destinations and webhooks that try to send the collector elsewhere: by redirects and by addresses for uploads.

A listener on loopback stands for what must not be reached. Every way that leads to it is counted.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import orjson

from playhead.client import Client
from playhead_collector.process import CollectorProcess
from tests.soak.conditions import Conditions
from tests.support.bar import Row, at_least, at_most
from tests.support.made_up_runs import MadeUpRun, send

_WAIT_S = 20.0
_SECRET = "whsec_" + "QUFB" * 8


@dataclass
class Listener:
    """An HTTP server on loopback. `answer`: status, headers and body of each answer."""

    answer: tuple[int, dict[str, str], bytes] = (200, {}, b"{}")
    requests: list[str] = field(default_factory=list[str])
    url: str = ""

    @contextmanager
    def listening(self) -> Iterator["Listener"]:
        """Listens on a port that the system chooses until the block ends."""
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def _reply(self) -> None:
                self.rfile.read(int(self.headers.get("content-length") or 0))
                listener.requests.append(f"{self.command} {self.path}")
                status, headers, body = listener.answer
                self.send_response(status)
                for name, value in {**headers, "content-length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_PATCH = _reply  # noqa: N815 - named by http.server

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named by http.server
                """Nothing is logged."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def measure(_conditions: Conditions) -> Iterator[Row]:
    """Requests that reached the forbidden listener, by status of the redirect."""
    for status in (301, 302, 303, 307, 308):
        yield from _redirected(status)
    yield from _upload_address()


def _redirected(status: int) -> Iterator[Row]:
    with Listener().listening() as victim, Listener().listening() as destination:
        destination.answer = (status, {"location": f"{victim.url}/latest/meta-data/"}, b"")
        env = {
            "PLAYHEAD_FORWARD_OTLP_URL": destination.url,
            "PLAYHEAD_FORWARD_PHOENIX_URL": destination.url,
            "PLAYHEAD_FORWARD_LANGFUSE_URL": destination.url,
            "PLAYHEAD_FORWARD_LANGFUSE_PUBLIC_KEY": "pk-lf-1",
            "PLAYHEAD_FORWARD_LANGFUSE_SECRET_KEY": "sk-lf-1",
            "PLAYHEAD_PROMISE_WEBHOOK": destination.url,
            "PLAYHEAD_PROMISE_WEBHOOK_SECRET": _SECRET,
        }
        _ask_for_all(env, destination, wanted=4)
    asked = f"{len(destination.requests)} requests were answered with {status}"
    yield at_least(
        "requests-forgery", "requests to the destinations", len(destination.requests), 4, unit="", against=""
    )
    yield at_most("requests-forgery", "redirects followed", len(victim.requests), 0, unit="", against=asked)


def _upload_address() -> Iterator[Row]:
    """A Langfuse that names an upload address on a host that the operator did not allow."""
    with Listener().listening() as victim, Listener().listening() as destination:
        body = {"mediaId": "x" * 22, "uploadUrl": f"{victim.url}/latest/meta-data/"}
        destination.answer = (200, {"content-type": "application/json"}, orjson.dumps(body))
        env = {
            "PLAYHEAD_FORWARD_LANGFUSE_URL": destination.url,
            "PLAYHEAD_FORWARD_LANGFUSE_PUBLIC_KEY": "pk-lf-1",
            "PLAYHEAD_FORWARD_LANGFUSE_SECRET_KEY": "sk-lf-1",
            "PLAYHEAD_FORWARD_LANGFUSE_MEDIA_HOSTS": "storage.example",
        }
        _ask_for_all(env, destination, wanted=1)
    yield at_most("requests-forgery", "uploads to foreign hosts", len(victim.requests), 0, unit="", against="")


def _ask_for_all(env: dict[str, str], destination: Listener, wanted: int) -> None:
    """Has a collector forward a run and announce a promise until the destination was asked often enough."""
    with CollectorProcess(env=env) as collector, Client(collector.url) as client:
        run = MadeUpRun(3)
        send(collector.url, [run])
        client.open_promise("a" * 32, "approval", "", run.run, action="pay")
        until = time.monotonic() + _WAIT_S
        while len(destination.requests) < wanted and time.monotonic() < until:
            time.sleep(0.1)

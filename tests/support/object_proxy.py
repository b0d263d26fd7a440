"""A proxy in front of an object store that fails as a test says."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

_HOP_BY_HOP = {"connection", "transfer-encoding", "content-length", "keep-alive"}


class ObjectProxy(ThreadingHTTPServer):
    """Passes requests on to the server at `url`, with their heads as they are, so that signatures stay right.

    `fault` is what it does to requests of the methods `faulty`:
    None; "slow" (closes the connection when the test ends, or the fault does, without asking the server: a request that
    its client gave up has no effect afterwards); "cut" (half of the body, then it closes the connection); "503" and
    "507" (without asking the server); "other" (200 or 206 with other bytes); "short" (a shorter body, whose length is
    right).  `requests` counts requests by method.
    """

    daemon_threads = True

    def __init__(self, url: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        there = urlsplit(url)
        self.there = (there.hostname or "127.0.0.1", there.port or 80)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.fault: str | None = None
        self.faulty: tuple[str, ...] = ("GET", "HEAD", "PUT", "POST", "DELETE")
        self.requests: dict[str, int] = {}
        self.go_on = threading.Event()

    def end_fault(self) -> None:
        """Requests are passed on again, and what was held ends."""
        self.fault = None
        self.go_on.set()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that give up are what this is for."""


@contextmanager
def proxied(url: str) -> Iterator[ObjectProxy]:
    """A proxy in front of the server at `url`, as long as the block takes."""
    proxy = ObjectProxy(url)
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield proxy
    finally:
        proxy.go_on.set()
        proxy.shutdown()
        thread.join()
        proxy.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _pass(self) -> None:
        proxy = self.server
        assert isinstance(proxy, ObjectProxy)
        proxy.requests[self.command] = proxy.requests.get(self.command, 0) + 1
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        fault = proxy.fault if self.command in proxy.faulty else None
        if fault == "slow":
            proxy.go_on.wait()
            self.close_connection = True
            return
        if fault in {"503", "507"}:
            self._answer(int(fault), [], b"<Error><Code>Faulty</Code></Error>")
            return
        there = http.client.HTTPConnection(*proxy.there)
        try:
            there.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                there.putheader(name, value)
            there.endheaders(body)
            answer = there.getresponse()
            status, headers, data = answer.status, answer.getheaders(), answer.read()
        finally:
            there.close()
        if fault == "other":
            data = bytes(byte ^ 1 for byte in data)
        elif fault == "short":
            data = data[:-1]
        self._answer(status, headers, data, is_cut=fault == "cut")

    def _answer(self, status: int, headers: list[tuple[str, str]], data: bytes, *, is_cut: bool = False) -> None:
        self.send_response_only(status)
        length = len(data)
        for name, value in headers:
            if name.lower() == "content-length" and self.command == "HEAD":
                length = int(value)
            elif name.lower() not in _HOP_BY_HOP:
                self.send_header(name, value)
        if status not in {204, 304}:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data[: len(data) // 2] if is_cut else data)
        self.close_connection = self.close_connection or is_cut

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass  # noqa: N815 - the names that http.server calls

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing: tests look at what clients get."""

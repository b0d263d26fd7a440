"""socket → [listener] → endpoint.  HTTP/1.1 on the standard library's server, so that the SDK needs nothing more.

One thread for each connection, kept alive; one write for a body, and one for each streamed chunk.
"""

from __future__ import annotations

import logging
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any

from playhead.testing.answers import Failed
from playhead.testing.http_response import Response
from playhead.testing.protocols.openai_http import error_response

log = logging.getLogger(__name__)

Respond = Callable[[str, str, Mapping[str, str], bytes], Response]

# Every wait in close() ends at once; the limit is for a thread stuck in a user's own rule.
CLOSE_SECONDS = 5

PHRASES = {status.value: status.phrase for status in HTTPStatus}
GONE = Response(200, [], cut_after=0)


class Listener(ThreadingHTTPServer):
    """Listens on loopback from the moment it is made; answers from `start()` to `close()`."""

    request_queue_size = 128

    def __init__(self, respond: Respond, port: int) -> None:
        self.respond = respond
        self.closing = threading.Event()
        self._connections: dict[threading.Thread, socket.socket] = {}
        self._accepting = threading.Thread(target=self._accept, name="playhead-mock-model-accept", daemon=True)
        super().__init__(("127.0.0.1", port), ConnectionHandler)

    def server_bind(self) -> None:
        # `HTTPServer.server_bind` asks DNS for the host's full name, which is not needed and may take seconds.
        TCPServer.server_bind(self)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def start(self) -> None:
        self._accepting.start()

    def close(self) -> None:
        """Breaks all connections and ends all threads, at once, even if requests are pending."""
        self.closing.set()
        # serve_forever() would look for the end twice a second; a connection to ourselves wakes this thread now.
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            pass
        self._accepting.join(CLOSE_SECONDS)
        self.server_close()
        for connection in self._connections.values():
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._connections:
            thread.join(CLOSE_SECONDS)

    def _accept(self) -> None:
        while not self.closing.is_set():
            self.handle_request()

    def verify_request(self, request: object, client_address: object) -> bool:
        return not self.closing.is_set()

    def process_request(self, request: Any, client_address: Any) -> None:
        thread = threading.Thread(
            target=self.process_request_thread,
            args=(request, client_address),
            name="playhead-mock-model-connection",
            daemon=True,
        )
        # Only the accepting thread calls this, and close() reads it after that thread has ended: no lock is needed.
        self._connections = {owner: connection for owner, connection in self._connections.items() if owner.is_alive()}
        thread.start()
        self._connections[thread] = request

    def handle_error(self, request: object, client_address: object) -> None:
        # It is normal that a client closes the connection early: that is not an error to print.
        if not isinstance(sys.exception(), ConnectionError):
            log.exception("the mock model server could not answer a request")


def _origin_form(target: str) -> str:
    """Returns a request's target without scheme and host, which HTTP/1.1 lets clients send to any server."""
    scheme, separator, rest = target.partition("://")
    return f"/{rest.partition('/')[2]}" if separator and scheme in ("http", "https") else target


class ConnectionHandler(BaseHTTPRequestHandler):
    """One client's connection, request after request."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Listener  # pyright: ignore[reportIncompatibleVariableOverride]  # made by Listener only

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library named it
        log.debug(format, *args)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answers malformed HTTP, which the standard library has found, with an error in OpenAI's form."""
        self.close_connection = True
        sentence = f"{message or HTTPStatus(code).phrase}."
        failed = Failed(code, sentence, "invalid_request_error", "malformed_http", {"x-should-retry": "false"})
        self._send(error_response(failed), chunked=False)

    def _answer(self) -> None:
        length = self.headers.get("content-length", "0")
        if "transfer-encoding" in self.headers or not (length.isascii() and length.isdigit()):
            self.send_error(411, "The mock model server reads request bodies with a Content-Length only")
            return
        body = self.rfile.read(int(length))
        headers = {name.lower(): value for name, value in self.headers.items()}
        # A body that ends early is a client that went away: there is nobody to answer.
        path = _origin_form(self.path)
        response = self.server.respond(self.command, path, headers, body) if len(body) == int(length) else GONE
        if response.wait_seconds > 0 and self.server.closing.wait(response.wait_seconds):
            response = GONE
        # A client of HTTP/1.0 cannot read chunks: for it, the end of the connection ends the body.
        chunked = response.streamed and self.request_version != "HTTP/1.0"
        if response.cut_after is not None or (response.streamed and not chunked):
            self.close_connection = True
        self._send(response, chunked=chunked)

    def _send(self, response: Response, *, chunked: bool) -> None:
        if response.cut_after == 0:
            return
        head, parts = self._head(response, chunked), response.parts[: response.cut_after]
        if not response.streamed:
            # One write is one packet: the client wakes up once.
            self.wfile.write(head + b"".join(parts))
            return
        self.wfile.write(head)
        for part in parts:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part) if chunked else part)
        if chunked and response.cut_after is None:
            self.wfile.write(b"0\r\n\r\n")

    def _head(self, response: Response, chunked: bool) -> bytes:
        lines = [f"HTTP/1.1 {response.status} {PHRASES.get(response.status, 'Unknown')}"]
        lines += [f"{name}: {value}" for name, value in response.headers.items()]
        lines.append(f"content-type: {response.content_type}")
        if chunked:
            lines.append("transfer-encoding: chunked")
        elif not response.streamed:
            lines.append(f"content-length: {sum(map(len, response.parts))}")
        # A connection that is to be cut does not announce it.
        if self.close_connection and response.cut_after is None:
            lines.append("connection: close")
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

"""A small HTTP server for a test: its requests are answered by a function, on a thread that ends with it."""

import gzip
import json
import threading
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Received:
    method: str
    path: str
    headers: Mapping[str, str]
    """By lower-case name."""
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


def json_answer(value: Any, status: int = 200) -> Answer:
    return Answer(status, json.dumps(value).encode())


class Refusal(Exception):
    """The request is refused with this status."""

    def __init__(self, status: int, why: str):
        super().__init__(why)
        self.status = status


class HttpBackend:
    """Answers with `answer`, which may raise Refusal; keeps what it received."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.fail_next: list[Answer] = []
        """Answers to give first, whatever is asked."""
        backend = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _any(self) -> None:
                size = int(self.headers.get("content-length") or 0)
                headers = {name.lower(): value for name, value in self.headers.items()}
                backend.respond(self, Received(self.command, self.path, headers, self.rfile.read(size)))

            do_GET = do_POST = do_PUT = do_PATCH = _any  # noqa: N815 - their names there

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, request: Received) -> Answer:
        raise NotImplementedError

    def respond(self, to: BaseHTTPRequestHandler, request: Received) -> None:
        self.received.append(request)
        try:
            answer = self.fail_next.pop(0) if self.fail_next else self.answer(request)
        except Refusal as refusal:
            answer = json_answer({"error": str(refusal)}, refusal.status)
        to.send_response(answer.status)
        to.send_header("content-type", answer.content_type)
        to.send_header("content-length", str(len(answer.body)))
        for name, value in answer.headers:
            to.send_header(name, value)
        to.end_headers()
        to.wfile.write(answer.body)


def decompressed(request: Received, accepted: Callable[[str], bool]) -> bytes:
    """The body; refuses an encoding that is not accepted."""
    encoding = request.headers.get("content-encoding", "identity")
    if encoding != "identity" and not accepted(encoding):
        raise Refusal(415, f"content encoding {encoding} is not supported")
    match encoding:
        case "gzip":
            return gzip.decompress(request.body)
        case "deflate":
            return zlib.decompress(request.body)
        case _:
            return request.body


def attributes_of(pairs: Any) -> dict[str, Any]:
    """OTLP attributes as plain values."""
    return {pair.key: _plain(pair.value) for pair in pairs}


def _plain(value: Any) -> Any:
    match value.WhichOneof("value"):
        case "array_value":
            return [_plain(one) for one in value.array_value.values]
        case "kvlist_value":
            return {pair.key: _plain(pair.value) for pair in value.kvlist_value.values}
        case None:
            return None
        case kind:
            return getattr(value, kind)

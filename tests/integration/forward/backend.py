"""A backend that takes OTLP over HTTP, and answers as a test says."""

import gzip
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. `body` may be anything; `delay_s`: how long it takes."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    garbage: bytes | None = None
    """Sent in place of an HTTP answer."""


@dataclass(slots=True)
class Request:
    path: str
    headers: Mapping[str, str]
    spans: list[Any]
    logs: list[Any]

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.spans]


def taken(_: Request) -> Reply:
    return Reply()


class Backend:
    """`stored` counts, for each span by name and each log event by its event name, how often it was accepted."""

    def __init__(self, port: int = 0) -> None:
        """`port`: one that is reserved, for a backend that is stopped and started again."""
        self.answer: Callable[[Request], Reply] = taken
        self.requests: list[Request] = []
        self.stored: Counter[str] = Counter()
        self.url = ""
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None
        self._port = port

    def start(self) -> Self:
        backend = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = gzip.decompress(self.rfile.read(int(self.headers["content-length"])))
                backend.take(self, body)

            def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._server.daemon_threads = True
        self._port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        return self

    def stop(self) -> None:
        """Nobody listens there any more, until it is started again."""
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
        self._server = None

    def take(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        request = Request(handler.path, {k.lower(): v for k, v in handler.headers.items()}, [], [])
        if handler.path.endswith("/traces"):
            traces = ExportTraceServiceRequest.FromString(body)
            request.spans = [s for r in traces.resource_spans for scope in r.scope_spans for s in scope.spans]
        else:
            logs = ExportLogsServiceRequest.FromString(body)
            request.logs = [s for r in logs.resource_logs for scope in r.scope_logs for s in scope.log_records]
        self.requests.append(request)
        reply = self.answer(request)
        if reply.garbage is not None:
            handler.wfile.write(reply.garbage)
            handler.close_connection = True
            return
        if 200 <= reply.status < 300:
            self.stored.update(request.names)
            self.stored.update(each.event_name for each in request.logs)
        handler.send_response(reply.status)
        for name, value in {"content-length": str(len(reply.body)), **reply.headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(reply.body)


def attributes(of: Any) -> dict[str, Any]:
    """Attributes of a span, as texts and numbers."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value") or "string_value") for each in of.attributes}

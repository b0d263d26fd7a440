"""A collector's HTTP face over a real socket, without a store: keeps what it is sent, and fails as it is told."""

import contextlib
import gzip
import socket
import threading
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import orjson
import zstandard
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from playhead.model.thread import extend
from playhead.wire.pack import Pack, decode_pack

LOGS, TRACES, CONTENT, MISSING = "/v1/logs", "/v1/traces", "/v1/content", "/v1/content/missing"
WHO = "/v1/playhead"


@dataclass(frozen=True)
class Answer:
    """What to answer instead of doing the work."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    by: str = "collector"
    """`collector`: it says who it is; anything else is something in between, or another server."""


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]
    sent: bytes
    body: bytes


# Longer than any test waits for it, on a busy machine.
HANG_SECONDS = 300


@dataclass
class FakeCollector:
    """`with FakeCollector() as collector`.  Everything it holds may be read and changed between requests."""

    port: int = 0
    key: str | None = None
    epoch: str = "1"
    wire: str = "1"
    """The version of the wire that it says it speaks."""
    plain: bool = False
    """A server of somebody else's, that takes OTLP."""
    answers: deque[tuple[str, Answer]] = field(default_factory=deque)
    """(path, answer) to be given, in this order, to the next requests of that path."""
    refuse: Callable[[str, Any], Answer | None] = lambda path, decoded: None
    """Looks at what was decoded, and says how to refuse it."""
    hang: threading.Event | None = None
    """Requests wait for this."""
    requests: list[Request] = field(default_factory=list)
    contents: dict[str, bytes] = field(default_factory=dict)
    content_deliveries: list[str] = field(default_factory=list)
    nodes: set[str] = field(default_factory=set)
    spans: list[Any] = field(default_factory=list)
    logs: list[Any] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)
    connections: list[socket.socket] = field(default_factory=list)
    arrived: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        fake = self

        class Handler(_Handler):
            collector = fake

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.hang is not None:
            self.hang.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    def span_names(self) -> list[str]:
        return [span.name for span in self.spans]

    def answer_next(self, path: str, *answers: Answer) -> None:
        self.answers.extend((path, answer) for answer in answers)

    # --- what it does with a request ----------------------------------------------------------------------------------

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        self.arrived.set()
        if self.hang is not None:
            self.hang.wait(HANG_SECONDS)
        if request.path == WHO:
            return self._scripted(WHO) or (Answer(404) if self.plain else _json({"collector": "1"}))
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return Answer(401)
        if (scripted := self._scripted(request.path)) is not None:
            return scripted
        if self.plain and request.path not in {TRACES, LOGS}:
            return Answer(404)
        decoded = _decode(request)
        return self.refuse(request.path, decoded) or self._keep(request.path, decoded)

    def _scripted(self, path: str) -> Answer | None:
        for scripted in list(self.answers):
            if scripted[0] == path:
                self.answers.remove(scripted)
                return scripted[1]
        return None

    def _keep(self, path: str, decoded: Any) -> Answer:
        if path == MISSING:
            missing = [ref for ref in decoded["refs"] if ref not in self.contents]
            return _json({"missing": missing, "epoch": self.epoch})
        if path == CONTENT:
            return self._keep_pack(decoded)
        if path == LOGS:
            for of_resource in decoded.resource_logs:
                self.logs.extend(log for scope in of_resource.scope_logs for log in scope.log_records)
            return _protobuf(ExportLogsServiceResponse())
        for of_resource in decoded.resource_spans:
            self.resources.append(attributes_of(of_resource.resource))
            self.spans.extend(span for scope in of_resource.scope_spans for span in scope.spans)
        return _protobuf(ExportTraceServiceResponse())

    def _keep_pack(self, pack: Pack) -> Answer:
        for content in pack.contents:
            self.contents[content.ref] = content.data
            self.content_deliveries.append(content.ref)
        unknown: list[str] = []
        for thread in pack.threads:
            if thread.parent is not None and thread.parent not in self.nodes:
                unknown.append(thread.parent)
            self.nodes.update(node.ref for node in extend(thread.messages, thread.parent))
        return _json({"stored": len(pack.contents), "unknown_parents": unknown, "epoch": self.epoch})


def attributes_of(message: Any) -> dict[str, Any]:
    """Of a span, log record or resource, as plain values."""

    def value(of: Any) -> Any:
        kind = of.WhichOneof("value")
        if kind == "array_value":
            return [value(item) for item in of.array_value.values]
        return getattr(of, kind) if kind else None

    return {pair.key: value(pair.value) for pair in message.attributes}


def text_of(request: Request) -> str:
    """What a request with spans says in words. Its ids are left out: of random bytes, two are any two letters now and
    then."""
    sent = ExportTraceServiceRequest.FromString(request.body)
    for of_resource in sent.resource_spans:
        for span in (span for scope in of_resource.scope_spans for span in scope.spans):
            for having_ids in (span, *span.links):
                having_ids.trace_id = having_ids.span_id = b""
            span.parent_span_id = b""
    return str(sent)


@contextlib.contextmanager
def closed_port() -> Generator[int]:
    """A port on which nobody listens, and which no other process can get as long as the block takes.

    A server of the test may listen there within the block, and do so again: with SO_REUSEADDR, which Python's servers
    set, Linux lets two sockets have one port while only one of them listens.
    """
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        yield reserved.getsockname()[1]


def _decode(request: Request) -> Any:
    match request.path:
        case "/v1/content/missing":
            return orjson.loads(request.body)
        case "/v1/content":
            return decode_pack(request.body)
        case "/v1/logs":
            return ExportLogsServiceRequest.FromString(request.body)
        case _:
            return ExportTraceServiceRequest.FromString(request.body)


def _json(value: Any) -> Answer:
    return Answer(200, {"content-type": "application/json"}, orjson.dumps(value))


def _protobuf(message: Any) -> Answer:
    return Answer(200, {"content-type": "application/x-protobuf"}, message.SerializeToString())


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A small answer after its headers would otherwise wait for the client's delayed acknowledgement, 40 ms.
    disable_nagle_algorithm = True
    collector: FakeCollector

    def setup(self) -> None:
        super().setup()
        self.collector.connections.append(self.connection)

    def do_POST(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        sent = self.rfile.read(int(headers.get("content-length", 0)))
        match headers.get("content-encoding"):
            case "zstd":
                body = zstandard.ZstdDecompressor().decompress(sent)
            case "gzip":
                body = gzip.decompress(sent)
            case _:
                body = sent
        answer = self.collector.answer(Request(self.path, headers, sent, body))
        try:
            self.send_response(answer.status)
            if answer.by == "collector" and not self.collector.plain:
                self.send_header("playhead-collector", self.collector.wire)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)
        except OSError:  # the client has gone
            self.close_connection = True

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, *args: Any) -> None:
        pass

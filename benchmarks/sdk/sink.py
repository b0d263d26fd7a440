"""A local endpoint in a process of its own that takes everything and counts it: what exporters send to when what they
cost, or how much they send, is the question.

    with Sink() as sink:
        ...                      # export to sink.url
        sink.bytes("/v1/traces")
"""

import json
import multiprocessing
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, ClassVar, Self


class Sink:
    """`url` answers inside the `with` block."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self.url = ""

    def __enter__(self) -> Self:
        self._process.start()
        self.url = self._pipe.recv()
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._pipe.send("end")
        self._process.join(10)
        self._process.terminate()

    def take_counts(self) -> dict[str, tuple[int, int]]:
        """Path → (requests, bytes of their bodies as sent), since this was last asked."""
        self._pipe.send("counts")
        return self._pipe.recv()

    def take_bytes(self) -> int:
        """Bytes of all request bodies since this was last asked."""
        return sum(size for _, size in self.take_counts().values())


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    requests: ClassVar[Counter[str]] = Counter()
    sizes: ClassVar[Counter[str]] = Counter()
    mutex = threading.Lock()

    def do_POST(self) -> None:
        body = self._read()
        with self.mutex:
            self.requests[self.path] += 1
            self.sizes[self.path] += len(body)
        if self.path.startswith("/v1/content"):
            refs = json.loads(self._plain(body))["refs"] if self.path.endswith("missing") else []
            answer = {"missing": refs, "stored": 0, "unknown_parents": [], "epoch": "1"}
            self._answer(json.dumps(answer).encode(), "application/json")
        else:
            self._answer(b"", "application/x-protobuf")

    def do_GET(self) -> None:
        self._answer(b"{}", "application/json")

    def log_message(self, *args: Any) -> None:
        """Says nothing."""

    def _read(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _plain(self, body: bytes) -> bytes:
        import zstandard

        packed = self.headers.get("content-encoding") == "zstd"
        return zstandard.ZstdDecompressor().decompress(body, max_output_size=2**26) if packed else body

    def _answer(self, body: bytes, media_type: str) -> None:
        self.send_response(200)
        self.send_header("playhead-collector", "1")
        self.send_header("content-type", media_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _serve(pipe: Connection) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    pipe.send(f"http://127.0.0.1:{server.server_address[1]}")
    while pipe.recv() == "counts":
        with _Handler.mutex:
            pipe.send({path: (_Handler.requests[path], _Handler.sizes[path]) for path in _Handler.requests})
            _Handler.requests.clear()
            _Handler.sizes.clear()
    server.shutdown()
    server.server_close()

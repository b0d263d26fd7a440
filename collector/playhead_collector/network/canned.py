"""Prepared answers, as bytes: sending one costs a single write.

They have the form of `serve.errors`: OTLP's own form on OTLP's paths.
"""

from collections.abc import Sequence
from functools import lru_cache
from http import HTTPStatus

from starlette.responses import JSONResponse, Response

from playhead_collector.receive.otlp.reply import JSON, PROTOBUF
from playhead_collector.receive.otlp_http import PATHS as OTLP_PATHS
from playhead_collector.receive.request_limiter import RETRY_SECONDS
from playhead_collector.serve import errors, identity

Headers = Sequence[tuple[bytes, bytes]]
_REFUSALS = {
    400: ("bad_http", "this is not HTTP/1.1: send OTLP as http/protobuf or http/json"),
    408: ("too_slow", "the request took too long to arrive: send it again"),
    431: ("head_too_large", "the request's head is too large: send fewer or shorter headers, a shorter URL"),
    503: ("busy", "the collector has as much to do as it takes on at a time: send it again a little later"),
}


def go_away(grpc_port: int | None) -> bytes:
    """Returns the answer to HTTP/2: empty settings, then GOAWAY with HTTP_1_1_REQUIRED and a text that gRPC clients
    log.

    `grpc_port` is the port for gRPC, which the text names; None if gRPC is off.
    """
    elsewhere = "" if grpc_port is None else f"send gRPC to port {grpc_port}, or "
    says = f"this port speaks HTTP/1.1: {elsewhere}set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf".encode()
    return b"\0\0\0\4\0\0\0\0\0" + (8 + len(says)).to_bytes(3, "big") + b"\7\0\0\0\0\0\0\0\0\0\0\0\0\x0d" + says


def refusal(status: int, close: bool, path: str = "", content_type: str = "", more: Headers = ()) -> bytes:
    """Returns the answer that refuses a request. `more` are headers that every answer has."""
    wire = PROTOBUF if content_type.startswith(PROTOBUF) else JSON
    return _refusal(status, close, "/v1/traces" if path in OTLP_PATHS else "/", wire, tuple(more))


def alive(close: bool, with_body: bool, more: Headers = ()) -> bytes:
    """Returns the answer to GET (or, without a body, HEAD) /healthz."""
    return _alive(close, with_body, tuple(more))


@lru_cache(64)
def _refusal(status: int, close: bool, path: str, content_type: str, more: Headers) -> bytes:
    code, message = _REFUSALS[status]
    retry = {"Retry-After": str(RETRY_SECONDS)} if status == 503 else {}
    return _rendered(errors.formed(path, content_type, status, code, message, retry), close, True, more)


@lru_cache(8)
def _alive(close: bool, with_body: bool, more: Headers) -> bytes:
    response = JSONResponse({"status": "alive"}, headers={"Cache-Control": "no-store"})
    return _rendered(response, close, with_body, more)


def _rendered(response: Response, close: bool, with_body: bool, more: Headers) -> bytes:
    lines = [f"HTTP/1.1 {response.status_code} {HTTPStatus(response.status_code).phrase}".encode()]
    headers = [*more, *response.raw_headers, identity.HEADER, *([(b"connection", b"close")] if close else [])]
    lines += [name + b": " + value for name, value in headers]
    return b"\r\n".join([*lines, b"", bytes(response.body) if with_body else b""])

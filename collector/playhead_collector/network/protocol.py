"""uvicorn's HTTP/1.1 protocol with bounds for each client: time, memory and connections.

    connection made → head (bounded, deadline) → body (deadline) → answer (the client must receive it) → idle

uvicorn itself bounds only the idle time after an answer (docs/adr/0004), so this extends its protocol class, by what
`compat.uvicorn` names of it. Refusals and /healthz are answered here without a task, with prepared bytes in the form of
`serve.errors`.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from enum import Enum, auto
from functools import lru_cache
from http import HTTPStatus
from typing import Any, ClassVar, Final

import httptools
from starlette.responses import JSONResponse, Response

from playhead_collector.compat.uvicorn import HttpConnection
from playhead_collector.logs import ThrottledLog
from playhead_collector.network.guard import MIN_TAKEN, Admission, Guard
from playhead_collector.receive.otlp.reply import JSON, PROTOBUF
from playhead_collector.receive.otlp_http import PATHS as OTLP_PATHS
from playhead_collector.receive.request_limiter import RETRY_SECONDS
from playhead_collector.serve import errors, identity
from playhead_collector.settings import MIB

log = ThrottledLog(logging.getLogger(__name__))


# --- prepared answers ------------------------------------------------------------------------------------------------

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


def health_ok(close: bool, with_body: bool, more: Headers = ()) -> bytes:
    """Returns the answer to GET (or, without a body, HEAD) /healthz."""
    return _health_ok(close, with_body, tuple(more))


@lru_cache(64)
def _refusal(status: int, close: bool, path: str, content_type: str, more: Headers) -> bytes:
    code, message = _REFUSALS[status]
    retry = {"Retry-After": str(RETRY_SECONDS)} if status == 503 else {}
    return _rendered(errors.formed(path, content_type, status, code, message, retry), close, True, more)


@lru_cache(8)
def _health_ok(close: bool, with_body: bool, more: Headers) -> bytes:
    response = JSONResponse({"status": "alive"}, headers={"Cache-Control": "no-store"})
    return _rendered(response, close, with_body, more)


def _rendered(response: Response, close: bool, with_body: bool, more: Headers) -> bytes:
    lines = [f"HTTP/1.1 {response.status_code} {HTTPStatus(response.status_code).phrase}".encode()]
    headers = [*more, *response.raw_headers, identity.HEADER, *([(b"connection", b"close")] if close else [])]
    lines += [name + b": " + value for name, value in headers]
    return b"\r\n".join([*lines, b"", bytes(response.body) if with_body else b""])


# --- a transport that measures how much its client has received ------------------------------------------------------


class Outgoing(asyncio.Transport):
    """Wraps a transport and counts the written bytes. `on_close` is called instead of closing it.

    Has the methods that uvicorn and this module call; all but `write` and `close` are those of the transport.
    """

    def __init__(self, transport: asyncio.Transport, on_close: Callable[[], None]) -> None:
        super().__init__()
        self._transport = transport
        self._on_close = on_close
        self._written = 0
        self._mark = 0  # bytes that the client had received when the current period began
        self._since: float | None = None  # start of the period; None: no bytes are waiting

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Writes to the transport. Does nothing once the connection is cut, which an answer in progress may not know
        yet.

        uvloop's transport raises in that case, and each such request would be logged with its traceback.
        """
        if self._transport.is_closing():
            return
        self._written += len(data)
        self._transport.write(data)

    def close(self) -> None:
        """Calls `on_close`, which closes the transport now or later."""
        self._on_close()

    def close_now(self) -> None:
        """Closes the transport."""
        self._transport.close()

    def is_stalled(self, now: float, seconds: float) -> bool:
        """Whether the client received less than MIN_TAKEN bytes in the last `seconds`, although more were waiting."""
        waiting = self._transport.get_write_buffer_size()
        received = self._written - waiting
        if not waiting:
            self._since = None
        elif self._since is None or received - self._mark >= MIN_TAKEN:
            self._since, self._mark = now, received
        return self._since is not None and now - self._since > seconds

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def write_eof(self) -> None:
        self._transport.write_eof()

    def abort(self) -> None:
        self._transport.abort()

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()


# --- the protocol ----------------------------------------------------------------------------------------------------

PROBES: Final = frozenset({b"/healthz", b"/readyz"})
# Longest wait for the head of a request on a connection above the limit.
_REFUSED_HEAD_SECONDS = 5.0
# The application answers when a body is late; the connection is closed this much later.
_GRACE_SECONDS = 2.0
# How long a refused client may go on sending before the connection is cut. Closing with unread bytes would cut it at
# once, and the client would never see the answer.
_LINGER_SECONDS = 2.0
# Most bytes of chunk sizes and trailers of a body, in addition to an eighth of its bytes.
_BODY_OVERHEAD = MIB
# Most requests that a client may send ahead of their answers.
_MAX_AHEAD = 100
_HTTP2 = b"PRI * HTTP/2"
_TLS = b"\x16\x03"


class _Phase(Enum):
    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    CLOSING = auto()


def protocol_of(guard: Guard, grpc_port: int | None) -> "type[GuardedProtocol]":
    """Returns the protocol class with this guard, which uvicorn takes as `http`.

    `grpc_port` is the port to which HTTP/2 clients are referred; None if gRPC is off.
    """
    return type("GuardedProtocol", (GuardedProtocol,), {"guard": guard, "grpc_port": grpc_port})


class GuardedProtocol(HttpConnection):
    """One connection."""

    guard: ClassVar[Guard]
    grpc_port: ClassVar[int | None]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._admission = Admission.DROP
        self._phase = _Phase.HEAD
        self._deadline = 0.0
        self._head_bytes = 0
        self._body_bytes = 0  # of the decoded body
        self._raw_bytes = 0  # received while a body was expected
        self._dropped_bytes = 0  # received after the request was answered
        self._is_over = False  # further bytes are dropped
        self._close_after_body = False

    # --- connection ---------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Counts the connection; cuts it when there are far too many."""
        self._outgoing = Outgoing(transport, self._close)
        super().connection_made(self._outgoing)
        self._admission = self.guard.admit(self, self.client_host)
        if self._admission is Admission.DROP:
            self._is_over = True
            transport.abort()
        elif self._admission is Admission.PROBES_ONLY:
            log.warning(
                "more connections than are taken at a time (%s open, %s of them from %s): answering 503; see "
                "PLAYHEAD_MAX_CONNECTIONS and PLAYHEAD_MAX_CONNECTIONS_PER_CLIENT",
                *self.guard.counts(self),
            )
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Removes the connection from the guard."""
        self.guard.forget(self)
        super().connection_lost(exc)

    def check_deadlines(self, now: float) -> None:
        """Ends the connection if it is past a deadline."""
        outgoing = self._outgoing
        if outgoing.is_stalled(now, self.guard.limits.send_seconds):
            log.warning("a client does not take its answer: the connection is closed")
            outgoing.abort()
        elif self._phase is _Phase.IDLE or now <= self._deadline:
            return
        elif self._phase is _Phase.CLOSING:
            outgoing.abort()
        elif self._phase is _Phase.BODY:
            self._end(408)
        elif not self.is_answering:
            self._end(408 if self._head_bytes else None)

    # --- what comes in ------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Parses received bytes, and bounds those that are not a body's. Malformed requests are answered, and logged
        once in a while."""
        if self._is_over:
            self._drop(len(data))
            return
        if self._phase is _Phase.IDLE:
            self._expect_head()
        before = self._phase
        try:
            self.feed(data)
        except httptools.HttpParserUpgrade:  # upgrades are ignored: the request is answered normally
            pass
        except httptools.HttpParserError as error:
            cause = error.__context__
            if cause is not None and not isinstance(cause, httptools.HttpParserError | UnicodeError):
                log.warning("a bug in reading requests: please report it", exc_info=cause)
            self._malformed(data)
            return
        self._count(before, len(data))

    def on_message_begin(self) -> None:
        """Begins a request."""
        super().on_message_begin()
        if self._phase is not _Phase.HEAD:
            self._expect_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Adds a header; trailers after a body are dropped."""
        if self._phase is _Phase.HEAD:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Ends the head: the request is answered here, or passed to the application."""
        self._phase, self._head_bytes, self._raw_bytes, self._body_bytes, self._dropped_bytes = _Phase.BODY, 0, 0, 0, 0
        self._deadline = self.guard.clock() + self.guard.limits.body_seconds + _GRACE_SECONDS
        if self._is_over:
            return
        if self.head_size > self.guard.limits.max_head_bytes:
            self._end(431)
        elif self.is_answering:
            super().on_headers_complete()
            if self.requests_ahead > _MAX_AHEAD:
                self._abort()
        elif not self._answered_here():
            super().on_headers_complete()
            if self._admission is Admission.PROBES_ONLY:
                self.close_after_answer()

    def on_body(self, body: bytes) -> None:
        """Adds a part of a body."""
        self._body_bytes += len(body)
        if not self._is_over:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Ends a request."""
        self._phase = _Phase.IDLE
        if self._close_after_body:
            self._finish()
        elif not self._is_over:
            super().on_message_complete()

    # --- answers from here --------------------------------------------------------------------------------------------

    def _answered_here(self) -> bool:
        path, method = self.path, self.method
        if path == b"/healthz" and method in {b"GET", b"HEAD"}:
            close = self._must_close()
            self._answer(health_ok(close, method == b"GET", self.default_headers), close)
            self.guard.on_answer("/healthz", 200)
            return True
        if path in PROBES:
            return False
        if self._admission is Admission.TAKEN and not self.guard.is_busy(path.decode("latin-1")):
            return False
        close = self._must_close()
        self._answer(refusal(503, close, path.decode("latin-1"), self.content_type, self.default_headers), close)
        self.guard.on_answer("none", 503)
        return True

    def _must_close(self) -> bool:
        return not self.is_kept_alive or self._admission is Admission.PROBES_ONLY

    def _answer(self, answer: bytes, close: bool) -> None:
        # The body is still read and dropped: a client that finds the connection closed while it sends never sees the
        # answer.
        self._close_after_body = close
        self.answer_here(answer)

    # --- bounds -------------------------------------------------------------------------------------------------------

    def _expect_head(self) -> None:
        seconds = self.guard.limits.head_seconds
        if self._admission is Admission.PROBES_ONLY:
            seconds = min(seconds, _REFUSED_HEAD_SECONDS)
        self._phase, self._head_bytes = _Phase.HEAD, 0
        self._deadline = self.guard.clock() + seconds

    def _count(self, before: _Phase, size: int) -> None:
        """Counts `size` received bytes; `before` is the phase in which they were received. Ends the connection above a
        limit."""
        if self._phase is _Phase.HEAD:
            self._head_bytes += size
            if self._head_bytes > self.guard.limits.max_head_bytes:
                self._end(431)
        elif self._phase is _Phase.BODY and before is _Phase.BODY:
            self._raw_bytes += size
            if self._raw_bytes - self._body_bytes > _BODY_OVERHEAD + self._body_bytes // 8:
                self._end(400)
            elif not self.is_answering:
                self._drop(size)

    def _drop(self, size: int) -> None:
        """Counts `size` received bytes of a request that is already answered. Cuts the connection after too many."""
        self._dropped_bytes += size
        if self._dropped_bytes > self.guard.limits.max_dropped_bytes:
            self._abort()

    def _malformed(self, data: bytes) -> None:
        if data.startswith(_HTTP2):
            log.warning(
                "HTTP/2 on the HTTP/1.1 port, most likely an OTLP exporter that is set to gRPC: %sset "
                "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf there (from %s)",
                "" if self.grpc_port is None else f"point it at port {self.grpc_port}, or ",
                self.client_host or "?",
            )
            self.transport.write(go_away(self.grpc_port))
            self._finish()
            return
        if data.startswith(_TLS):
            log.warning("TLS on a port without: use http:// in the endpoint, or a proxy that ends TLS")
            self._finish()
            return
        log.warning("a request that is not HTTP/1.1: it is answered with 400")
        if self._phase is _Phase.HEAD and self.is_answering:  # earlier requests are answered first
            self._is_over = True
            self.drop_requests_ahead()
        else:
            self._end(400)

    def _end(self, status: int | None) -> None:
        """Closes the connection, with an answer if one can still be sent."""
        is_answered = self.has_begun_answer or (self._phase is _Phase.BODY and self.is_answered_here)
        if status is not None and not is_answered:
            path = self.path.decode("latin-1") if self._phase is _Phase.BODY else ""
            self.transport.write(refusal(status, True, path, "", self.default_headers))
            self.guard.on_answer("none", status)
        self._finish()

    def _finish(self) -> None:
        self._is_over = True
        self.wake_application()
        self._phase, self._deadline = _Phase.CLOSING, self.guard.clock() + _LINGER_SECONDS
        if not self.transport.is_closing():
            self.transport.write_eof()

    def _close(self) -> None:
        """Closes the connection after an answer. A client that still sends its body gets time to see the answer."""
        if self._phase is _Phase.BODY:
            self._finish()
        else:
            self._outgoing.close_now()

    def _abort(self) -> None:
        self._is_over = True
        self._outgoing.abort()

"""OTLP over gRPC: TraceService, LogsService and MetricsService.  [receive] → lift → store.

    key → turn → message arrives → admit → decompress → decode → ingest (lift, store) → reply

The answer is sent once the data is durable. Sizes, limits and errors are the same as for OTLP over HTTP
(`otlp_http`); a refusal becomes a status code, a message, and the time after which to send again. The methods are
registered as taking a stream of messages, of which only the first is read: so a call without a valid key, or above the
limits, is refused before its message is in memory.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol, cast

import grpc
import grpc.aio
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from playhead_collector.errors import Refused, StoreUnavailable
from playhead_collector.receive.grpc_turns import MessageSender, MessageTurns
from playhead_collector.receive.otlp import reply
from playhead_collector.receive.otlp.decode import PROTOBUF, Signal
from playhead_collector.receive.otlp.reply import code_of
from playhead_collector.receive.otlp_intake import OtlpIntake
from playhead_collector.receive.ports import Authorize
from playhead_collector.receive.transfer_budget import RETRY_SECONDS, try_later

log = logging.getLogger(__name__)

_PACKAGE = "opentelemetry.proto.collector"
SERVICES: Final[Mapping[Signal, str]] = {
    "traces": f"{_PACKAGE}.trace.v1.TraceService",
    "logs": f"{_PACKAGE}.logs.v1.LogsService",
    "metrics": f"{_PACKAGE}.metrics.v1.MetricsService",
}
# Status that is counted for a call whose client has disconnected; see `serve/errors.py`.
_CLIENT_GONE: Final = 499


class GrpcCall(Protocol):
    """The methods of a `grpc.aio.ServicerContext` that are used here."""

    def invocation_metadata(self) -> Sequence[tuple[str, str | bytes]]:
        """The headers of the call."""
        ...

    def peer(self) -> str:
        """The address and port of the client."""
        ...

    async def read(self) -> Any:
        """Returns the next message as bytes, compressed as it was sent; `grpc.aio.EOF` after the last."""
        ...

    async def abort(self, code: object, details: str, trailing_metadata: Sequence[tuple[str, bytes]]) -> None:
        """Ends the call with an error. Always raises."""
        ...


@dataclass(frozen=True, slots=True)
class OtlpGrpc:
    """The three services. `on_answer(route, status, seconds)` is called after each answer, with the HTTP status."""

    intake: OtlpIntake
    turns: MessageTurns
    authorize: Authorize
    on_answer: Callable[[str, int, float], None]

    def handlers(self) -> list[Any]:
        """Returns the handlers to add to a `grpc.aio` server, which must not decompress messages itself."""
        stream: Any = cast(Any, grpc).stream_unary_rpc_method_handler
        make: Any = cast(Any, grpc).method_handlers_generic_handler
        return [make(service, {"Export": stream(self._method(signal))}) for signal, service in SERVICES.items()]

    def _method(self, signal: Signal) -> Callable[[object, GrpcCall], Awaitable[bytes]]:
        async def export(_: object, call: GrpcCall) -> bytes:
            began, status = time.perf_counter(), _CLIENT_GONE
            try:
                answer = await self._answer(signal, call)
                status = answer.status if isinstance(answer, Refused) else 200
            finally:
                self.on_answer(f"grpc {signal}", status, time.perf_counter() - began)
            if isinstance(answer, bytes):
                return answer
            code, message = code_and_message(answer)
            await call.abort(code, message, trailers(answer))
            raise AssertionError  # `abort` raises

        return export

    async def _answer(self, signal: Signal, call: GrpcCall) -> bytes | Refused:
        try:
            return await self._export(signal, call)
        except Refused as error:
            return error.with_traceback(None)  # its frames hold the message
        except StoreUnavailable as error:
            return Refused(503, "store_unavailable", str(error), {"Retry-After": str(RETRY_SECONDS)})
        except Exception as error:
            log.exception("%s over gRPC failed with %s", signal, type(error).__name__)
            return Refused(500, "internal", "the collector failed at this request, and its log says why: report it")

    async def _export(self, signal: Signal, call: GrpcCall) -> bytes:
        access = await self.authorize(_headers(call))
        intake = self.intake
        if intake.flow.is_full(access.project_id):
            raise try_later(f"{intake.flow.requests} requests are in work")
        message = await self.turns.read(partial(_message, call), MessageSender.of(call.peer()))
        with intake.flow.admit(access.project_id) as share:
            share.hold(len(message))
            share.sent, share.encoding, share.limit = message, encoding_in(message), intake.max_bytes
            del message  # the admitted request frees it after decompression
            result = await intake.store(signal, PROTOBUF, share, access.project_id)
        return reply.export_response(signal, result.rejected, str(result)).SerializeToString()


async def _message(call: GrpcCall) -> bytes:
    """Reads the message of a call. Raises Refused (400) if there is none."""
    message: Any = await call.read()
    # EOF is also returned for a message that is too large, which the library refuses, and when the call is cancelled.
    if message is cast(Any, grpc.aio).EOF:
        raise Refused(400, "no_message", "the call ended without a message: send one Export request in it")
    return message


def encoding_in(message: bytes) -> str:
    """Returns how a message is compressed: `gzip`, `deflate` or `identity`.

    The library does not pass on the header with the encoding. The first bytes of gzip and zlib cannot begin an Export
    request: 0x1f has a wire type that does not exist, and 0x78 is a field 15, while the request has only fields 1.
    """
    if message[:2] == b"\x1f\x8b":
        return "gzip"
    if message[:1] == b"\x78" and int.from_bytes(message[:2], "big") % 31 == 0:
        return "deflate"
    return "identity"


def _headers(call: GrpcCall) -> dict[str, str]:
    """Returns the headers of a call as text; of repeated ones, the first."""
    headers: dict[str, str] = {}
    for name, value in call.invocation_metadata():
        headers.setdefault(name, value if isinstance(value, str) else value.decode("latin-1"))
    return headers


# --- refusals in gRPC's form -----------------------------------------------------------------------------------------

# Messages and trailers are sent as headers, of which clients read 8 KiB.
_MAX_MESSAGE: Final = 500
_STATUSES: Final[dict[int, Any]] = {code.value[0]: code for code in grpc.StatusCode}


def code_and_message(refused: Refused) -> tuple[Any, str]:
    """Returns the `grpc.StatusCode` of a refusal, and its message in ASCII."""
    return _STATUSES[code_of(refused.status)], str(refused).encode("ascii", "replace")[:_MAX_MESSAGE].decode()


def trailers(refused: Refused) -> Sequence[tuple[str, bytes]]:
    """Returns trailing metadata with the delay after which to send again, from the refusal's `Retry-After`; empty
    without one.

    The delay is given twice: in the details of a `google.rpc.Status`, as OTLP specifies, and on its own, where
    OpenTelemetry's exporter for Python looks for it.
    """
    seconds = refused.headers.get("Retry-After")
    if seconds is None:
        return ()
    code, message = code_and_message(refused)
    retry = RetryInfo(retry_delay=Duration(seconds=int(seconds)))
    status = Status(code=code.value[0], message=message)
    status.details.add().Pack(retry)
    return (
        ("grpc-status-details-bin", status.SerializeToString()),
        ("google.rpc.retryinfo-bin", retry.SerializeToString()),
    )

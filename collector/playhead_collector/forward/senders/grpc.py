"""delivery → [grpc] → a destination.  OTLP over gRPC."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import grpc
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from playhead.outbound.answers import Verdict
from playhead_collector.forward.attempts import LONGEST_RETRY_AFTER_SECONDS, Answer, without_secrets
from playhead_collector.forward.senders import Signal

_METHODS: Mapping[Signal, str] = {
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
}
_RESPONSES: Mapping[Signal, Any] = {"traces": ExportTraceServiceResponse, "logs": ExportLogsServiceResponse}
_VERDICTS = {
    # Retryable according to OTLP's specification.
    grpc.StatusCode.CANCELLED: Verdict.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED: Verdict.UNAVAILABLE,
    grpc.StatusCode.ABORTED: Verdict.UNAVAILABLE,
    grpc.StatusCode.OUT_OF_RANGE: Verdict.UNAVAILABLE,
    grpc.StatusCode.UNAVAILABLE: Verdict.UNAVAILABLE,
    grpc.StatusCode.DATA_LOSS: Verdict.UNAVAILABLE,
    grpc.StatusCode.RESOURCE_EXHAUSTED: Verdict.UNAVAILABLE,
    grpc.StatusCode.INTERNAL: Verdict.BROKEN,
    grpc.StatusCode.UNKNOWN: Verdict.BROKEN,
    grpc.StatusCode.UNAUTHENTICATED: Verdict.MISCONFIGURED,
    grpc.StatusCode.PERMISSION_DENIED: Verdict.MISCONFIGURED,
    grpc.StatusCode.UNIMPLEMENTED: Verdict.MISCONFIGURED,
    grpc.StatusCode.NOT_FOUND: Verdict.MISCONFIGURED,
}


class GrpcSender:
    """Sends to one address: unencrypted for http://, with TLS for https://. Each request blocks a thread until its
    answer."""

    def __init__(self, url: str, headers: Mapping[str, str], timeout_s: float) -> None:
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        address = f"{parts.hostname}:{parts.port or (443 if secure else 4317)}"
        options = [("grpc.enable_retries", 0)]  # the outbox retries
        self._channel = (
            grpc.secure_channel(address, grpc.ssl_channel_credentials(), options, grpc.Compression.Gzip)
            if secure
            else grpc.insecure_channel(address, options, grpc.Compression.Gzip)
        )
        self._headers = tuple(headers.items())
        self._timeout_s = timeout_s
        self._methods: dict[Signal, Callable[..., Any]] = {
            signal: self._channel.unary_unary(method) for signal, method in _METHODS.items()
        }

    async def send(self, signal: Signal, body: bytes) -> Answer:
        """See `Sender`."""
        return await asyncio.to_thread(self._send, signal, body)

    def _send(self, signal: Signal, body: bytes) -> Answer:
        try:
            answered = self._methods[signal](body, timeout=self._timeout_s, metadata=self._headers)
            partial = _RESPONSES[signal].FromString(answered).partial_success
        except grpc.RpcError as error:
            return without_secrets(_failed(error), (value for _, value in self._headers))
        except DecodeError:
            return Answer(Verdict.ACCEPTED)
        rejected = partial.rejected_spans if signal == "traces" else partial.rejected_log_records
        accepted = Answer(Verdict.ACCEPTED, partial.error_message, rejected=rejected)
        return without_secrets(accepted, (value for _, value in self._headers))

    async def close(self) -> None:
        """Closes the channel."""
        await asyncio.to_thread(self._channel.close)


def _failed(error: Any) -> Answer:
    code, details = error.code(), error.details() or ""
    verdict, wait = _VERDICTS.get(code, Verdict.REFUSED), _retry_after(error)
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED and wait is None and "larger than" in details:
        verdict = Verdict.REFUSED  # gRPC's limit for a message: smaller requests are accepted
    return Answer(verdict, f"answered {code.name}: {details}", wait)


def _retry_after(error: Any) -> float | None:
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            try:
                details = Status.FromString(value).details
            except DecodeError:
                return None
            for detail in details:
                info = RetryInfo()
                if detail.Unpack(info):  # False for a detail of another type
                    seconds = info.retry_delay.seconds + info.retry_delay.nanos / 1e9
                    return min(max(seconds, 0.0), LONGEST_RETRY_AFTER_SECONDS)
    return None

"""OTLP's responses, in the encoding of the request: the last step of [receive].

| result | body |
|---|---|
| everything was accepted | an empty Export*ServiceResponse |
| a part was accepted, or there is a message | the same with `partial_success` |
| nothing was accepted | `google.rpc.Status` |
"""

from typing import Final

import orjson
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from starlette.responses import Response

from playhead_collector.receive.otlp.decode import JSON, PROTOBUF, Signal, Wire

# google.rpc.Code of an HTTP status. Others are INVALID_ARGUMENT (4xx) or INTERNAL (5xx).
_CODES: Final = {401: 16, 403: 7, 404: 5, 405: 12, 408: 4, 413: 8, 429: 8, 502: 14, 503: 14, 504: 4}
_INVALID_ARGUMENT, _INTERNAL = 3, 13
# Longest message: a name with a million characters is cut.
_MAX_LENGTH = 2_000


def success(signal: Signal, wire: Wire, rejected: int = 0, message: str = "") -> Response:
    """Returns a 200. `rejected` and `message` become `partial_success`, which is left out if both are empty."""
    return _response(200, export_response(signal, rejected, message), wire)


def failure(status: int, message: str, wire: Wire) -> Response:
    """Returns a `google.rpc.Status` with the HTTP status. Callers add `Retry-After` if a retry makes sense."""
    return _response(status, Status(code=code_of(status), message=message[:_MAX_LENGTH]), wire)


def code_of(status: int) -> int:
    """Returns the google.rpc.Code of an HTTP error status."""
    return _CODES.get(status, _INVALID_ARGUMENT if status < 500 else _INTERNAL)


def reply_wire(content_type: str | None) -> Wire:
    """Returns the encoding of the answer to a request: protobuf if the request has it, else JSON, which people can
    read."""
    return PROTOBUF if (content_type or "").lower().startswith(PROTOBUF) else JSON


def export_response(signal: Signal, rejected: int = 0, message: str = "") -> Message:
    """Returns the Export*ServiceResponse of a signal; see `success`."""
    answer: Message
    message = message[:_MAX_LENGTH]
    match signal:
        case "traces":
            answer = traces = ExportTraceServiceResponse()
            if rejected or message:
                traces.partial_success.rejected_spans = rejected
                traces.partial_success.error_message = message
        case "logs":
            answer = logs = ExportLogsServiceResponse()
            if rejected or message:
                logs.partial_success.rejected_log_records = rejected
                logs.partial_success.error_message = message
        case "metrics":
            answer = ExportMetricsServiceResponse()
    return answer


def _response(status: int, message: Message, wire: Wire) -> Response:
    body = message.SerializeToString() if wire == PROTOBUF else orjson.dumps(MessageToDict(message))
    return Response(body, status, media_type=wire)

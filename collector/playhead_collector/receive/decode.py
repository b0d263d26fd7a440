"""OTLP as it travels → `Span` and `LogEvent`: the second thing that [receive] does.  Pure.

One span that cannot be kept costs that span, never its batch: it is counted with the first reason, which travels back
to the sender as `partial_success`. Only a body that is no OTLP at all is refused.
"""

from typing import Final, Literal

from playhead_collector.errors import Refused
from playhead_collector.receive import from_json, from_protobuf
from playhead_collector.receive.decoded import Decoded

PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"
Wire = Literal["application/x-protobuf", "application/json"]


def wire_of(content_type: str | None) -> Wire:
    """Which of OTLP's two encodings a Content-Type names, parameters aside. Raises Refused: 415 for any other."""
    match (content_type or "").partition(";")[0].strip().lower():
        case "application/x-protobuf":
            return PROTOBUF
        case "application/json":
            return JSON
        case other:
            shown = repr(other[:100]) if other else "missing"
            raise Refused(415, "unknown_type", f"Content-Type is {shown}: OTLP is sent as {PROTOBUF} or {JSON}")


def traces(body: bytes, wire: Wire) -> Decoded:
    """The spans of an ExportTraceServiceRequest. Raises Refused: 400 when the body is not one."""
    return from_json.traces(body) if wire == JSON else from_protobuf.traces(body)


def logs(body: bytes, wire: Wire) -> Decoded:
    """The log events of an ExportLogsServiceRequest. Raises Refused: 400 when the body is not one."""
    return from_json.logs(body) if wire == JSON else from_protobuf.logs(body)


def metrics(body: bytes, wire: Wire) -> Decoded:
    """How many metrics an ExportMetricsServiceRequest holds, as `ignored`. Raises Refused: 400 when it is not one."""
    count = from_json.count_metrics(body) if wire == JSON else from_protobuf.count_metrics(body)
    return Decoded(ignored=count)

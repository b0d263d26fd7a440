"""OTLP as it travels → `Span` and `LogEvent`: the second thing that [receive] does.  Pure.

One span that cannot be kept costs that span, never its batch: it is counted with the first reason, which travels back
to the sender as `partial_success`. Only a body that is no OTLP at all is refused.
"""

import logging
from collections.abc import Iterator
from typing import Final, Literal

from playhead_collector.errors import Refused
from playhead_collector.receive.otlp import from_json, from_protobuf
from playhead_collector.receive.otlp.decoded import Decoded, DecodeLimits
from playhead_collector.throttled_log import ThrottledLog

log = ThrottledLog(logging.getLogger(__name__))

PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"
Signal = Literal["traces", "logs", "metrics"]
Wire = Literal["application/x-protobuf", "application/json"]


def wire_of(content_type: str | None) -> Wire:
    """Which of OTLP's two encodings a Content-Type names, parameters aside. Raises Refused: 415 for any other."""
    match (content_type or "").partition(";")[0].strip().lower():
        case "application/x-protobuf":
            return PROTOBUF
        case "application/json":
            return JSON
        case other if other.startswith("application/grpc"):
            log.warning("gRPC on the HTTP port: set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf at the sender")
            shown = (
                f"gRPC's, and here OTLP is sent as {PROTOBUF} or {JSON}: set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"
            )
            raise Refused(415, "unknown_type", f"Content-Type is {shown}")
        case other:
            shown = repr(other[:100]) if other else "missing"
            raise Refused(415, "unknown_type", f"Content-Type is {shown}: OTLP is sent as {PROTOBUF} or {JSON}")


def portions(signal: Signal, body: bytes, wire: Wire, limits: DecodeLimits) -> Iterator[Decoded]:
    """What a request holds, by portions that fit into memory; at least one. Lets go of the body before the last.

    Of metrics, how many they are, as `ignored`. Raises Refused, before the first portion or at any: 400 when the body
    is not an Export*ServiceRequest, 413 when it has too much in it.
    """
    if wire == JSON:
        return from_json.READERS[signal](body, limits)
    if signal == "metrics":
        return iter([Decoded(ignored=from_protobuf.count(body, limits))])
    from_protobuf.count(body, limits)
    return from_protobuf.traces(body, limits) if signal == "traces" else from_protobuf.logs(body, limits)


def charge(body: bytes, wire: Wire, limits: DecodeLimits) -> int:
    """What a body counts for while it is in work: its bytes, or a quarter of what reading it takes if that is more.

    Raises Refused: 413 when it would take too much.
    """
    return max(len(body), from_json.cost(body, limits) // 4) if wire == JSON else len(body)

"""Decodes OTLP requests into `Span` and `LogEvent`: the second step of [receive].  Pure.

An unusable span is rejected alone, never with its batch: it is counted, and the first reason is returned to the sender
as `partial_success`. Only a body that is not OTLP is refused as a whole.
"""

import logging
from collections.abc import Iterator
from typing import Final, Literal

from playhead_collector.errors import Refused
from playhead_collector.logs import ThrottledLog
from playhead_collector.receive.otlp import json, protobuf
from playhead_collector.receive.otlp.decoded import Decoded, DecodeLimits

log = ThrottledLog(logging.getLogger(__name__))

PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"
Signal = Literal["traces", "logs", "metrics"]
Wire = Literal["application/x-protobuf", "application/json"]


def wire_of(content_type: str | None) -> Wire:
    """The encoding (JSON or protobuf) of a Content-Type, ignoring its parameters. Raises Refused: 415 for any other."""
    match (content_type or "").partition(";")[0].strip().lower():
        case "application/x-protobuf":
            return PROTOBUF
        case "application/json":
            return JSON
        case other if other.startswith("application/grpc"):
            todo = "send gRPC to the port for it (PLAYHEAD_GRPC_PORT), or set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"
            log.warning("gRPC on the HTTP port: %s at the sender", todo)
            description = f"gRPC's, and here OTLP is sent as {PROTOBUF} or {JSON}: {todo}"
            raise Refused(415, "unknown_type", f"Content-Type is {description}")
        case other:
            description = repr(other[:100]) if other else "missing"
            raise Refused(415, "unknown_type", f"Content-Type is {description}: OTLP is sent as {PROTOBUF} or {JSON}")


def portions(signal: Signal, body: bytes, wire: Wire, limits: DecodeLimits) -> Iterator[Decoded]:
    """Yields the content of a request in portions of bounded memory, at least one. Frees the body before the last one.

    Metrics are only counted, as `ignored`. Raises Refused, before the first portion or at any: 400 when the body is
    not an Export*ServiceRequest, 413 when it has too many items.
    """
    if wire == JSON:
        return json.READERS[signal](body, limits)
    if signal == "metrics":
        return iter([Decoded(ignored=protobuf.count(body, limits))])
    protobuf.count(body, limits)
    return protobuf.traces(body, limits) if signal == "traces" else protobuf.logs(body, limits)


def budget_bytes(body: bytes, wire: Wire, limits: DecodeLimits) -> int:
    """The size in bytes that a body counts for: its own, or a quarter of the memory to decode it if that is more.

    Raises Refused: 413 when it would take too much.
    """
    return max(len(body), json.cost(body, limits) // 4) if wire == JSON else len(body)

"""Spans as both halves pass them on: OpenTelemetry's fields, payload-free, as plain values."""

from dataclasses import dataclass, field
from typing import Any

Attributes = dict[str, Any]

STATUS_UNSET, STATUS_OK, STATUS_ERROR = 0, 1, 2


@dataclass(slots=True)
class SpanEvent:
    """Something that happened within a span, e.g. an exception."""

    name: str
    time_ns: int
    attributes: Attributes = field(default_factory=dict[str, Any])


@dataclass(slots=True)
class Span:
    """One span.  Ids are lower-case hex (32 and 16 digits); `end_ns` is None while it is known only by its start."""

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    start_ns: int
    end_ns: int | None
    attributes: Attributes
    kind: int = 1  # OTLP SpanKind: 1 internal, 2 server, 3 client, 4 producer, 5 consumer
    status: int = STATUS_UNSET
    status_message: str = ""
    events: list[SpanEvent] = field(default_factory=list[SpanEvent])
    links: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    scope: str = ""
    resource: Attributes = field(default_factory=dict[str, Any])


@dataclass(slots=True)
class LogEvent:
    """One OTLP log record with an event name.  Ids as in `Span`, None where the record has none."""

    name: str
    time_ns: int
    trace_id: str | None
    span_id: str | None
    attributes: Attributes
    scope: str = ""
    resource: Attributes = field(default_factory=dict[str, Any])

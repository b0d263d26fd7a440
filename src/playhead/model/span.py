"""Spans and log events: OpenTelemetry's fields as plain values, payload-free; and their JSON in the API."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from playhead.model.times import parse_time, rfc3339

Attributes = dict[str, Any]

STATUS_UNSET, STATUS_OK, STATUS_ERROR = 0, 1, 2
_STATUS_NAMES = {STATUS_UNSET: "unset", STATUS_OK: "ok", STATUS_ERROR: "error"}
_STATUS = {name: status for status, name in _STATUS_NAMES.items()}


@dataclass(slots=True)
class SpanEvent:
    """Something that happened within a span, e.g. an exception."""

    name: str
    time_ns: int
    attributes: Attributes = field(default_factory=dict[str, Any])


@dataclass(slots=True)
class Span:
    """One span.  Ids are lower-case hex (32 and 16 digits); `end_ns` is None while only its start is known."""

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


def span_to_json(span: Span) -> dict[str, Any]:
    """A span as the API gives it: times are RFC 3339 texts with nanoseconds.  Its OTLP kind is left out."""
    return {
        "trace": span.trace_id,
        "span": span.span_id,
        "parent": span.parent_id,
        "name": span.name,
        "start": rfc3339(span.start_ns),
        "end": None if span.end_ns is None else rfc3339(span.end_ns),
        "status": _STATUS_NAMES.get(span.status, "unset"),
        "status_message": span.status_message,
        "attributes": span.attributes,
        "events": [
            {"name": event.name, "time": rfc3339(event.time_ns), "attributes": event.attributes}
            for event in span.events
        ],
        "links": span.links,
        "scope": span.scope,
        "resource": span.resource,
    }


def span_from_json(item: Mapping[str, Any]) -> Span:
    """The span of an answer, the inverse of `span_to_json`.  Raises KeyError and ValueError."""
    return Span(
        trace_id=item["trace"],
        span_id=item["span"],
        parent_id=item["parent"],
        name=item["name"],
        start_ns=parse_time(item["start"]),
        end_ns=None if item["end"] is None else parse_time(item["end"]),
        attributes=dict(item["attributes"]),
        status=_STATUS.get(item["status"], STATUS_UNSET),
        status_message=item["status_message"],
        events=[
            SpanEvent(event["name"], parse_time(event["time"]), dict(event["attributes"])) for event in item["events"]
        ],
        links=list(item["links"]),
        scope=item["scope"],
        resource=dict(item["resource"]),
    )


def log_to_json(log: LogEvent) -> dict[str, Any]:
    """A log event as the API gives it."""
    return {
        "name": log.name,
        "time": rfc3339(log.time_ns),
        "trace": log.trace_id,
        "span": log.span_id,
        "attributes": log.attributes,
        "scope": log.scope,
        "resource": log.resource,
    }


def log_from_json(item: Mapping[str, Any]) -> LogEvent:
    """The log event of an answer, the inverse of `log_to_json`.  Raises KeyError and ValueError."""
    return LogEvent(
        name=item["name"],
        time_ns=parse_time(item["time"]),
        trace_id=item["trace"],
        span_id=item["span"],
        attributes=dict(item["attributes"]),
        scope=item["scope"],
        resource=dict(item["resource"]),
    )

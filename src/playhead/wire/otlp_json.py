"""Writes spans and log events as OTLP's JSON. Pure; the collector reads equal values back.

Ids are hex digits and 64-bit integers are texts, as OTLP's JSON requires; NaN and infinities are texts, too.
"""

import base64
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeVar, cast

from playhead.model.span import LogEvent, Span
from playhead.wire.operations.runs import OtlpRequest

T = TypeVar("T", Span, LogEvent)

_LEAST, _MOST = -(2**63), 2**64 - 1


def traces_json(spans: Sequence[Span]) -> OtlpRequest:
    """Returns an ExportTraceServiceRequest. A span that has not ended has no `endTimeUnixNano`."""
    return {
        "resourceSpans": [
            {"resource": resource, "scopeSpans": [{"scope": scope, "spans": list(map(span_json, same))}]}
            for resource, scope, same in _by_origin(spans)
        ]
    }


def logs_json(logs: Sequence[LogEvent]) -> OtlpRequest:
    """Returns an ExportLogsServiceRequest."""
    return {
        "resourceLogs": [
            {"resource": resource, "scopeLogs": [{"scope": scope, "logRecords": list(map(log_record_json, same))}]}
            for resource, scope, same in _by_origin(logs)
        ]
    }


def span_json(span: Span) -> dict[str, Any]:
    """Returns one span of a request."""
    made: dict[str, Any] = {"traceId": span.trace_id, "spanId": span.span_id}
    if span.parent_id:
        made["parentSpanId"] = span.parent_id
    made |= {"name": span.name, "kind": span.kind, "startTimeUnixNano": str(span.start_ns)}
    if span.end_ns is not None:
        made["endTimeUnixNano"] = str(span.end_ns)
    made["attributes"] = attributes_json(span.attributes)
    if span.events:
        made["events"] = [
            {"name": entry.name, "timeUnixNano": str(entry.time_ns), "attributes": attributes_json(entry.attributes)}
            for entry in span.events
        ]
    if span.links:
        made["links"] = [_link(entry) for entry in span.links]
    if span.status or span.status_message:
        made["status"] = {"code": span.status, "message": span.status_message}
    return made


def log_record_json(log: LogEvent) -> dict[str, Any]:
    """Returns one log record of a request."""
    made: dict[str, Any] = {"eventName": log.name, "timeUnixNano": str(log.time_ns)}
    if log.trace_id:
        made["traceId"] = log.trace_id
    if log.span_id:
        made["spanId"] = log.span_id
    return made | {"attributes": attributes_json(log.attributes)}


def attributes_json(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns a list of KeyValue."""
    return [{"key": key, "value": _any_value(value)} for key, value in attributes.items()]


def _by_origin(records: Iterable[T]) -> Iterable[tuple[dict[str, Any], dict[str, Any], list[T]]]:
    # Neighbours that were stored together share the resource's dictionary. Equal resources need not be in one group.
    for _, same in groupby(records, lambda record: (id(record.resource), record.scope)):
        group = list(same)
        yield {"attributes": attributes_json(group[0].resource)}, {"name": group[0].scope}, group


def _link(link: Mapping[str, Any]) -> dict[str, Any]:
    ids = {"traceId": link.get("trace_id") or "", "spanId": link.get("span_id") or ""}
    return ids | {"attributes": attributes_json(link.get("attributes") or {})}


def _any_value(value: object) -> dict[str, Any]:
    match value:
        case str():
            return {"stringValue": value}
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)} if _LEAST <= value <= _MOST else {"stringValue": str(value)}
        case float():
            return {"doubleValue": value if math.isfinite(value) else _NOT_FINITE[str(value)]}
        case bytes():
            return {"bytesValue": base64.b64encode(value).decode()}
        case list() | tuple():
            return {"arrayValue": {"values": [_any_value(item) for item in cast(list[Any], value)]}}
        case dict():
            return {"kvlistValue": {"values": attributes_json(cast(dict[str, Any], value))}}
        case _:
            return {}


_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}

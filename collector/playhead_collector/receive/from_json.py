"""OTLP/JSON → `Span` and `LogEvent`.  Pure.

Read by hand and not by protobuf's JSON reader, because OTLP's JSON is not protobuf's: ids are hex. What the
specification wants tolerated is (unknown fields, integers as text or as numbers, `NaN` as text), and what is commonly
seen too: names of fields in snake_case, names of enums for their numbers.
"""

import json
from collections.abc import Iterator
from typing import Any, cast

import orjson

from playhead.model.span import Attributes, LogEvent, Span, SpanEvent
from playhead_collector.errors import Refused
from playhead_collector.receive.decoded import (
    DROPPED_ATTRIBUTES,
    DROPPED_EVENTS,
    Decoded,
    Unusable,
    check_ids,
    event_of,
    optional_id,
)
from playhead_collector.receive.json_fields import (
    Object,
    attributes_of,
    enum,
    get,
    hex_of,
    integer,
    object_of,
    objects,
    plain,
    text,
    time_ns,
)


def traces(body: bytes) -> Decoded:
    """The spans of an ExportTraceServiceRequest. Raises Refused when the body is not one."""
    decoded = Decoded()
    for span, scope, resource in _items(_parse(body), "resourceSpans", "scopeSpans", "spans"):
        try:
            decoded.spans.append(_span(span, scope, _usable(resource)))
        except Unusable as error:
            decoded.reject(error)
    return decoded


def logs(body: bytes) -> Decoded:
    """The log events of an ExportLogsServiceRequest. Raises Refused when the body is not one."""
    decoded = Decoded()
    for record, scope, resource in _items(_parse(body), "resourceLogs", "scopeLogs", "logRecords"):
        try:
            decoded.add_log(_log(record, scope, _usable(resource)))
        except Unusable as error:
            decoded.reject(error)
    return decoded


def count_metrics(body: bytes) -> int:
    """How many metrics an ExportMetricsServiceRequest holds. Raises Refused when the body is not one."""
    return sum(1 for _ in _items(_parse(body), "resourceMetrics", "scopeMetrics", "metrics"))


# --- the envelope ----------------------------------------------------------------------------------------------------


def _parse(body: bytes) -> Object:
    try:
        value = _loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused(400, "bad_json", f"the body is not JSON ({error}): see what is sent here") from error
    if not isinstance(value, dict):
        raise Refused(400, "bad_json", "the body is JSON, but no object: an OTLP request is one")
    return cast(Object, value)


def _loads(body: bytes) -> Any:
    if not body:
        return {}  # as an empty protobuf message: nothing is sent, and all of it arrived
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        # JavaScript cuts texts in the middle of a character and sends the half; only the standard library reads that.
        whole = json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8", "replace")
        return orjson.loads(whole)


def _usable(resource: Attributes | Unusable) -> Attributes:
    if isinstance(resource, Unusable):
        raise resource
    return resource


def _resource(of_resource: Object) -> Attributes | Unusable:
    """What cannot be read here is a reason to leave out what has it, and no other item of the request."""
    try:
        return attributes_of(object_of(of_resource, "resource"))
    except Unusable as error:
        return error


def _items(request: Object, *path: str) -> Iterator[tuple[Object, str, Attributes | Unusable]]:
    """Each span, record or metric with its scope's name and its resource's attributes. Raises Refused."""
    of_resources, of_scopes, items = path
    try:
        for of_resource in objects(request, of_resources):
            resource = _resource(of_resource)
            for of_scope in objects(of_resource, of_scopes):
                scope = text(object_of(of_scope, "scope"), "name")
                for item in objects(of_scope, items):
                    yield item, scope, resource
    except Unusable as error:
        raise Refused(400, "bad_otlp", f"the body is JSON, but not OTLP ({error}): see what is sent here") from error


# --- spans and records -----------------------------------------------------------------------------------------------


def _span(span: Object, scope: str, resource: Attributes) -> Span:
    trace_id, span_id, name = hex_of(span, "traceId"), hex_of(span, "spanId"), text(span, "name")
    check_ids(trace_id, span_id, name)
    attributes = attributes_of(span)
    for field, attribute in (("droppedAttributesCount", DROPPED_ATTRIBUTES), ("droppedEventsCount", DROPPED_EVENTS)):
        if dropped := integer(get(span, field)):
            attributes[attribute] = dropped
    status = object_of(span, "status")
    return Span(
        trace_id.hex(),
        span_id.hex(),
        optional_id(hex_of(span, "parentSpanId"), 8, "parent span id"),
        name,
        time_ns(span, "startTimeUnixNano"),
        time_ns(span, "endTimeUnixNano") or None,
        attributes,
        enum(get(span, "kind")) or 1,
        enum(get(status, "code")),
        text(status, "message"),
        [SpanEvent(text(e, "name"), time_ns(e, "timeUnixNano"), attributes_of(e)) for e in objects(span, "events")],
        [_link(link) for link in objects(span, "links")],
        scope,
        resource,
    )


def _link(link: Object) -> Object:
    return {
        "trace_id": hex_of(link, "traceId").hex(),
        "span_id": hex_of(link, "spanId").hex(),
        "attributes": attributes_of(link),
    }


def _log(record: Object, scope: str, resource: Attributes) -> LogEvent:
    attributes = attributes_of(record)
    return LogEvent(
        event_of(text(record, "eventName"), plain(get(record, "body")), attributes),
        time_ns(record, "timeUnixNano") or time_ns(record, "observedTimeUnixNano"),
        optional_id(hex_of(record, "traceId"), 16, "trace id"),
        optional_id(hex_of(record, "spanId"), 8, "span id"),
        attributes,
        scope,
        resource,
    )

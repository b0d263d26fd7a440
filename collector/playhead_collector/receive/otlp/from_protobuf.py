"""OTLP/protobuf → `Span` and `LogEvent`.  Pure; the hot path of [receive].

The envelope is walked as bytes, and spans are parsed one at a time, so that memory is bounded by the portions, and an
unreadable span is rejected alone. The C parser of `protobuf` takes 1 us per span; most time goes into each access from
Python to one of its objects. So each field is read once, and the most common types of a value are tried first.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1 import trace_pb2

from playhead.model.span import Attributes, LogEvent, Span, SpanEvent
from playhead_collector.errors import Refused
from playhead_collector.receive.otlp.decoded import (
    DROPPED_ATTRIBUTES,
    DROPPED_EVENTS,
    ITEM_COST,
    LAST_NS,
    MAX_DEPTH,
    NO_SPAN,
    NO_TRACE,
    Decoded,
    DecodeLimits,
    Unusable,
    check_ids,
    check_time,
    event_of,
    optional_id,
    too_many,
    too_many_parts,
    usable,
)
from playhead_collector.receive.otlp.protobuf_wire import Malformed, chunks, count_parts, field
from playhead_collector.receive.otlp.wire_attributes import TooManyParts, take_attributes

# In all three kinds of request, field 1 holds a resource's entry. In it, field 1 is the resource and field 2 a scope's
# entry. In that, field 1 is the scope and field 2 a span, record or metric.
_FIRST, _INNER = 1, 2
# Numbers of the fields that hold attributes.
_SPAN_ATTRIBUTES, _LOG_ATTRIBUTES = 9, 6
_IN_WORDS = {"Span": "a span", "LogRecord": "a log record"}
# A smaller message cannot have too many parts, and is parsed without a check.
_LOOK_INTO_BYTES = 4_096
# A scope has a name, a version and at most a few attributes.
_MAX_SCOPE_BYTES = 65_536
_UNREADABLE = "it is damaged, or an attribute is nested more than 32 levels deep: send it flatter, or as JSON text"

_Add = Callable[[Decoded, bytes, str, Attributes], int]


def traces(body: bytes, limits: DecodeLimits) -> Iterator[Decoded]:
    """The spans of an ExportTraceServiceRequest, by portions. Raises Refused when the body is not one."""
    return _portions(body, limits, partial(_add_span, limits))


def logs(body: bytes, limits: DecodeLimits) -> Iterator[Decoded]:
    """The log events of an ExportLogsServiceRequest, by portions. Raises Refused when the body is not one."""
    return _portions(body, limits, partial(_add_log, limits))


def count(body: bytes, limits: DecodeLimits) -> int:
    """Returns the number of spans, records or metrics in a request. Raises Refused: 400 when the body is not OTLP, 413
    for too many."""
    items = envelopes = 0
    # A span with its own scope and resource takes seven fields and counts 3 (itself and two envelopes). A request with
    # more fields is not OTLP.
    fields = 3 * limits.items + 10
    try:
        for number, offset, end in chunks(body, 0, len(body)):
            envelopes, fields = envelopes + 1, fields - 1
            for inner, scope_at, scope_end in chunks(body, offset, end) if number == _FIRST else ():
                envelopes, fields = envelopes + 1, fields - 1
                for innermost, _, _ in chunks(body, scope_at, scope_end) if inner == _INNER else ():
                    items, fields = items + (innermost == _INNER), fields - 1
                    if items + envelopes > limits.items or fields < 0:
                        raise too_many(limits)
                if items + envelopes > limits.items:
                    raise too_many(limits)
            if items + envelopes > limits.items:
                raise too_many(limits)
    except Malformed as error:
        raise _not_otlp(str(error)) from error
    return items


def _portions(body: bytes, limits: DecodeLimits, add: _Add) -> Iterator[Decoded]:
    decoded, cost, unreadable, items = Decoded(), 0, 0, 0
    try:
        for item, scope, resource in _items(body, limits):
            items += 1
            if cost >= limits.portion_cost:
                yield decoded
                decoded, cost = Decoded(), 0
            try:
                cost += add(decoded, item, scope, usable(resource))
            except Unusable as error:
                decoded.reject(error)
                unreadable += isinstance(error, _Unreadable)
            except (DecodeError, Malformed):
                decoded.reject(Unusable(_UNREADABLE))
                unreadable += 1
    except (DecodeError, Malformed) as error:
        raise _not_otlp(str(error)) from error
    if items and unreadable == items:  # then the body is probably not OTLP
        raise _not_otlp(_UNREADABLE)
    del body  # freed while the last portion waits for the database
    yield decoded


def _items(body: bytes, limits: DecodeLimits) -> Iterator[tuple[bytes, str, Attributes | Unusable]]:
    """Each span or record with its scope's name and its resource's attributes. Raises Malformed, DecodeError."""
    for number, offset, end in chunks(body, 0, len(body)):
        if number != _FIRST:
            continue
        resource = _resource(field(body, offset, end, _FIRST), limits)
        for inner, scope_at, scope_end in chunks(body, offset, end):
            if inner == _INNER:
                scope = _scope(field(body, scope_at, scope_end, _FIRST))
                for innermost, start, stop in chunks(body, scope_at, scope_end):
                    if innermost == _INNER:
                        yield body[start:stop], scope, resource


def _resource(data: bytes, limits: DecodeLimits) -> Attributes | Unusable:
    """The resource's attributes, or the error because of which only this resource's items are rejected."""
    try:
        if len(data) > _LOOK_INTO_BYTES and count_parts(data, "Resource", limits.parts) > limits.parts:
            return Unusable(f"its resource has {too_many_parts(limits)}")
        return _attributes(Resource.FromString(data).attributes)
    except (DecodeError, Malformed):
        return _Unreadable(_UNREADABLE)
    except Unusable as error:
        return error


def _scope(data: bytes) -> str:
    """A scope's name; empty for a scope with so many attributes that it is not parsed."""
    return InstrumentationScope.FromString(data).name if len(data) <= _MAX_SCOPE_BYTES else ""


class _Unreadable(Unusable):
    """The item is not protobuf, or nested too deep."""


def _not_otlp(why: str) -> Refused:
    return Refused(400, "bad_protobuf", f"the body is not OTLP in protobuf ({why}): see what is sent to which path")


def _add_span(limits: DecodeLimits, decoded: Decoded, data: bytes, scope: str, resource: Attributes) -> int:
    """Adds a span; returns its cost in bytes of memory. Raises Unusable, DecodeError, Malformed."""
    if len(data) > _LOOK_INTO_BYTES:
        attributes, rest = _take_attributes(data, "Span", _SPAN_ATTRIBUTES, limits)
    else:
        attributes, rest = {}, data
    span = trace_pb2.Span.FromString(rest)
    parts = len(attributes) + len(span.attributes) + len(span.events) + len(span.links)
    decoded.spans.append(_span(span, attributes, scope, resource))
    return len(data) + (parts + 4) * ITEM_COST


def _add_log(limits: DecodeLimits, decoded: Decoded, data: bytes, scope: str, resource: Attributes) -> int:
    """Adds a log record; returns its cost in bytes of memory. Raises Unusable, DecodeError, Malformed."""
    if len(data) > _LOOK_INTO_BYTES:
        attributes, rest = _take_attributes(data, "LogRecord", _LOG_ATTRIBUTES, limits)
    else:
        attributes, rest = {}, data
    record = LogRecord.FromString(rest)
    parts = len(attributes) + len(record.attributes)
    decoded.add_log(_log(record, attributes, scope, resource))
    return len(data) + (parts + 4) * ITEM_COST


def _take_attributes(data: bytes, message: str, number: int, limits: DecodeLimits) -> tuple[Attributes, bytes]:
    """Returns a large message's attributes, and the message without them. Raises Unusable, DecodeError, Malformed."""
    try:
        attributes, rest, parts = take_attributes(data, number, limits.parts, _pair_value)
    except TooManyParts:
        raise Unusable(f"{_IN_WORDS[message]} has {too_many_parts(limits)}") from None
    if len(rest) > _LOOK_INTO_BYTES and parts + count_parts(rest, message, limits.parts - parts) > limits.parts:
        raise Unusable(f"{_IN_WORDS[message]} has {too_many_parts(limits)}")
    return attributes, rest


def _span(span: trace_pb2.Span, attributes: Attributes, scope: str, resource: Attributes) -> Span:
    """Returns the `Span`. `attributes` are those that were taken out before the rest was parsed."""
    trace_id, span_id, parent_id = span.trace_id, span.span_id, span.parent_span_id
    if len(trace_id) != 16 or len(span_id) != 8 or trace_id == NO_TRACE or span_id == NO_SPAN:
        check_ids(trace_id, span_id, span.name)
    start_ns, end_ns = span.start_time_unix_nano, span.end_time_unix_nano
    if start_ns > LAST_NS or end_ns > LAST_NS:
        check_time(max(start_ns, end_ns))
    attributes |= _attributes(span.attributes)
    if dropped := span.dropped_attributes_count:
        attributes[DROPPED_ATTRIBUTES] = dropped
    if dropped := span.dropped_events_count:
        attributes[DROPPED_EVENTS] = dropped
    status = span.status
    return Span(
        trace_id.hex(),
        span_id.hex(),
        optional_id(parent_id, 8, "parent span id") if parent_id else None,
        span.name,
        start_ns,
        end_ns or None,
        attributes,
        span.kind or 1,
        status.code,
        status.message,
        [SpanEvent(e.name, check_time(e.time_unix_nano), _attributes(e.attributes)) for e in span.events],
        [_link(link) for link in span.links],
        scope,
        resource,
    )


def _link(link: trace_pb2.Span.Link) -> dict[str, Any]:
    # A link without ids is useless, but no reason to reject the span.
    return {
        "trace_id": link.trace_id.hex(),
        "span_id": link.span_id.hex(),
        "attributes": _attributes(link.attributes),
    }


def _log(record: LogRecord, attributes: Attributes, scope: str, resource: Attributes) -> LogEvent:
    attributes |= _attributes(record.attributes)
    body = _value(record.body) if record.HasField("body") else None
    return LogEvent(
        event_of(record.event_name, body, record.severity_number, attributes, scope),
        check_time(record.time_unix_nano or record.observed_time_unix_nano),
        optional_id(record.trace_id, 16, "trace id"),
        optional_id(record.span_id, 8, "span id"),
        attributes,
        scope,
        resource,
    )


def _attributes(pairs: Iterable[KeyValue], depth: int = 0) -> Attributes:
    # Nearly every value is a text or a number other than 0, which are quick to check.
    return {pair.key: (value := pair.value).string_value or value.int_value or _value(value, depth) for pair in pairs}


def _pair_value(pair: KeyValue) -> Any:
    return _value(pair.value)


def _value(value: AnyValue, depth: int = 0) -> Any:
    match kind := value.WhichOneof("value"):
        case None:
            return None
        case "array_value":
            _check_depth(depth)
            return [_value(item, depth + 1) for item in value.array_value.values]
        case "kvlist_value":
            _check_depth(depth)
            return _attributes(value.kvlist_value.values, depth + 1)
        case _:
            # The kinds are not listed by name, so that kinds that a later OTLP adds are accepted as well.
            return getattr(value, kind)


def _check_depth(depth: int) -> None:
    if depth >= MAX_DEPTH:
        raise Unusable(f"an attribute is nested more than {MAX_DEPTH} levels deep: send it flatter, or as JSON text")

"""OTLP/protobuf → `Span` and `LogEvent`.  Pure; the hot path of [receive].

The C parser of `protobuf` takes 1 us per span; what costs is each step from Python into one of its objects. So fields
are asked for once, and a value's commonest types are tried before asking which it has.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1 import trace_pb2

from playhead.model.span import Attributes, LogEvent, Span, SpanEvent
from playhead_collector.errors import Refused
from playhead_collector.receive.decoded import (
    DEEPEST,
    DROPPED_ATTRIBUTES,
    DROPPED_EVENTS,
    LAST_NS,
    NO_SPAN,
    NO_TRACE,
    Decoded,
    Unusable,
    check_ids,
    check_time,
    event_of,
    optional_id,
)
from playhead_collector.receive.protobuf_wire import NotWire, items_in

_M = TypeVar("_M", bound=Message)
_UNREADABLE = "it is damaged, or an attribute is nested more than 32 levels deep: send it flatter, or as JSON text"


def traces(body: bytes) -> Decoded:
    """The spans of an ExportTraceServiceRequest. Raises Refused when the body is not one."""
    decoded = Decoded()
    request = _parse(ExportTraceServiceRequest, body)
    if request is None:
        return _by_item(
            decoded, body, trace_pb2.Span, lambda one, scope, of: decoded.spans.append(_span(one, scope, of))
        )
    for of_resource in request.resource_spans:
        resource = _attributes(of_resource.resource.attributes)
        for of_scope in of_resource.scope_spans:
            scope = of_scope.scope.name
            for span in of_scope.spans:
                try:
                    decoded.spans.append(_span(span, scope, resource))
                except Unusable as error:
                    decoded.reject(error)
    return decoded


def logs(body: bytes) -> Decoded:
    """The log events of an ExportLogsServiceRequest. Raises Refused when the body is not one."""
    decoded = Decoded()
    request = _parse(ExportLogsServiceRequest, body)
    if request is None:
        return _by_item(decoded, body, LogRecord, lambda one, scope, of: decoded.add_log(_log(one, scope, of)))
    for of_resource in request.resource_logs:
        resource = _attributes(of_resource.resource.attributes)
        for of_scope in of_resource.scope_logs:
            scope = of_scope.scope.name
            for record in of_scope.log_records:
                try:
                    decoded.add_log(_log(record, scope, resource))
                except Unusable as error:
                    decoded.reject(error)
    return decoded


def count_metrics(body: bytes) -> int:
    """How many metrics an ExportMetricsServiceRequest holds. Raises Refused when the body is not one."""
    request = _parse(ExportMetricsServiceRequest, body)
    if request is None:
        raise _no_request()
    return sum(len(scope.metrics) for resource in request.resource_metrics for scope in resource.scope_metrics)


def _parse(kind: type[_M], body: bytes) -> _M | None:
    """None when something in it cannot be read, be it a single attribute."""
    try:
        return kind.FromString(body)
    except DecodeError:
        return None


def _by_item(decoded: Decoded, body: bytes, kind: type[_M], take: Callable[[_M, str, Attributes], None]) -> Decoded:
    """What can be read of a request that cannot be parsed as a whole: each span or record by itself.

    protobuf gives up at 100 nested messages, which are 32 levels of an attribute. Raises Refused: nothing can be read.
    """
    try:
        items = list(items_in(body))
    except NotWire:
        raise _no_request() from None
    for raw, raw_scope, raw_resource in items:
        try:
            resource = _attributes(Resource.FromString(raw_resource).attributes)
            take(kind.FromString(raw), InstrumentationScope.FromString(raw_scope).name, resource)
        except DecodeError:
            decoded.reject(Unusable(_UNREADABLE))
        except Unusable as error:
            decoded.reject(error)
    if decoded.rejected == len(items):  # then it may be anything, as well
        raise _no_request()
    return decoded


def _no_request() -> Refused:
    message = f"nothing in the body can be read as OTLP in protobuf: see what is sent to which path; or {_UNREADABLE}"
    return Refused(400, "bad_protobuf", message)


def _span(span: trace_pb2.Span, scope: str, resource: Attributes) -> Span:
    trace_id, span_id, parent_id = span.trace_id, span.span_id, span.parent_span_id
    if len(trace_id) != 16 or len(span_id) != 8 or trace_id == NO_TRACE or span_id == NO_SPAN:
        check_ids(trace_id, span_id, span.name)
    start_ns, end_ns = span.start_time_unix_nano, span.end_time_unix_nano
    if start_ns > LAST_NS or end_ns > LAST_NS:
        check_time(max(start_ns, end_ns))
    attributes = _attributes(span.attributes)
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
    # A link to nowhere says nothing, but it is no reason to lose the span.
    return {
        "trace_id": link.trace_id.hex(),
        "span_id": link.span_id.hex(),
        "attributes": _attributes(link.attributes),
    }


def _log(record: LogRecord, scope: str, resource: Attributes) -> LogEvent:
    attributes = _attributes(record.attributes)
    body = _value(record.body) if record.body.HasField("kvlist_value") else None
    return LogEvent(
        event_of(record.event_name, body, attributes),
        check_time(record.time_unix_nano or record.observed_time_unix_nano),
        optional_id(record.trace_id, 16, "trace id"),
        optional_id(record.span_id, 8, "span id"),
        attributes,
        scope,
        resource,
    )


def _attributes(pairs: Iterable[KeyValue], depth: int = 0) -> Attributes:
    # A text or a number other than 0 is what nearly every value is, and quickly asked for.
    return {pair.key: (value := pair.value).string_value or value.int_value or _value(value, depth) for pair in pairs}


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
            # Not spelt out, so that kinds of value that a later OTLP adds come through as well.
            return getattr(value, kind)


def _check_depth(depth: int) -> None:
    if depth >= DEEPEST:
        raise Unusable(f"an attribute is nested more than {DEEPEST} levels deep: send it flatter, or as JSON text")

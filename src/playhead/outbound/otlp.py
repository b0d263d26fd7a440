"""spans → [otlp] → endpoint.  Spans and log events as OTLP protobuf, and what the answer says.  Pure.

Attributes are filled in place (`add`, then assignment): a third of the time that building each from its own objects
takes, and this is most of what shipping a span costs.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeVar, cast

from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from playhead.model.span import LogEvent, Span

T = TypeVar("T", Span, LogEvent)
A = TypeVar("A", bound=Message)

_MIN_INT, _MAX_INT = -(2**63), 2**63 - 1


def traces_request(spans: Sequence[Span]) -> bytes:
    """The body of POST /v1/traces.  Raises ValueError or TypeError for a span that OTLP cannot express."""
    request = ExportTraceServiceRequest()
    for scope, same in _scopes(request.resource_spans, "scope_spans", spans):
        for span in same:
            _fill_span(scope.spans.add(), span)
    return request.SerializeToString()


def logs_request(logs: Sequence[LogEvent]) -> bytes:
    """The body of POST /v1/logs.  Raises as `traces_request` does."""
    request = ExportLogsServiceRequest()
    for scope, same in _scopes(request.resource_logs, "scope_logs", logs):
        for log in same:
            _fill_log(scope.log_records.add(), log)
    return request.SerializeToString()


def rejected_spans(answer: bytes) -> tuple[int, str]:
    """(number of refused spans, reason) from an answer; a reason with the number 0 is only a warning."""
    partial = _read(ExportTraceServiceResponse, answer).partial_success
    return partial.rejected_spans, partial.error_message


def rejected_logs(answer: bytes) -> tuple[int, str]:
    """(number of refused log events, reason) from an answer; see `rejected_spans`."""
    partial = _read(ExportLogsServiceResponse, answer).partial_success
    return partial.rejected_log_records, partial.error_message


def status_message(answer: bytes) -> str:
    """The message of the `google.rpc.Status` in the answer to a failed request; empty if it is not one."""
    # A Status begins with the same fields as a partial success, a number and a text: no other package is needed.
    return _read(ExportTracePartialSuccess, answer).error_message


def _read(kind: type[A], answer: bytes) -> A:
    try:
        return kind.FromString(answer)
    except DecodeError:  # some receivers answer a protobuf request in JSON
        return kind()


def _scopes(resources: Any, scopes: str, records: Iterable[T]) -> Iterator[tuple[Any, Iterable[T]]]:
    """Adds the messages of each origin (a resource, with one scope); returns each scope with its records."""
    # Records of one lane share the resource's dictionary, not only its value.
    for _, same in groupby(records, lambda record: (id(record.resource), record.scope)):
        first, *others = same
        of_resource = resources.add()
        _fill(of_resource.resource.attributes, first.resource)
        scope = getattr(of_resource, scopes).add()
        scope.scope.name = first.scope
        yield scope, (first, *others)


def _fill_span(to: SpanMessage, span: Span) -> None:
    to.trace_id = bytes.fromhex(span.trace_id)
    to.span_id = bytes.fromhex(span.span_id)
    if span.parent_id:
        to.parent_span_id = bytes.fromhex(span.parent_id)
    to.name = span.name
    to.kind = cast(SpanMessage.SpanKind.ValueType, span.kind)
    to.start_time_unix_nano = span.start_ns
    to.end_time_unix_nano = span.end_ns or 0
    _fill(to.attributes, span.attributes)
    for event in span.events:
        of_event = to.events.add(name=event.name, time_unix_nano=event.time_ns)
        _fill(of_event.attributes, event.attributes)
    for link in span.links:
        of_link = to.links.add(trace_id=bytes.fromhex(link["trace_id"]), span_id=bytes.fromhex(link["span_id"]))
        _fill(of_link.attributes, link.get("attributes") or {})
    if span.status:
        to.status.code = cast(Status.StatusCode.ValueType, span.status)
        to.status.message = span.status_message


def _fill_log(to: LogRecord, log: LogEvent) -> None:
    to.event_name = log.name
    to.time_unix_nano = log.time_ns
    if log.trace_id:
        to.trace_id = bytes.fromhex(log.trace_id)
    if log.span_id:
        to.span_id = bytes.fromhex(log.span_id)
    _fill(to.attributes, log.attributes)


def _fill(to: Any, attributes: Mapping[str, Any]) -> None:
    add = to.add
    for key, value in attributes.items():
        if type(value) is str:
            add(key=key).value.string_value = value
        elif value is not None:
            _set(add(key=key).value, value)


def _set(to: AnyValue, value: Any) -> None:
    match value:
        case str():
            to.string_value = value
        case bool():
            to.bool_value = value
        case int():
            # OTLP's integers have 64 bits: a larger one is sent as text, so that its value stays exact.
            if _MIN_INT <= value <= _MAX_INT:
                to.int_value = value
            else:
                to.string_value = str(value)
        case float():
            to.double_value = value
        case list():
            to.array_value.SetInParent()
            for item in cast(list[Any], value):
                _set(to.array_value.values.add(), item)
        case dict():
            to.kvlist_value.SetInParent()
            _fill(to.kvlist_value.values, cast(dict[str, Any], value))
        case None:
            pass
        case _:
            raise TypeError(f"OTLP has no value for {type(value).__name__}")

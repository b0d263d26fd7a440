"""Requests are written as bytes: protobuf's own parser reads in them what its own objects would have said."""

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from playhead.model.span import LogEvent, Span, SpanEvent
from playhead.outbound.otlp import logs_request, traces_request
from tests.unit.model.values import checked

_UTF8 = st.characters(exclude_categories=["Cs"])
# Some with a length of two and of three bytes as a varint, in characters of one to four bytes.
texts = st.text(_UTF8, max_size=20) | st.builds(lambda text, times: text * times, st.text(_UTF8), st.integers(1, 5_000))
keys = st.text(_UTF8, max_size=8)
integers = st.integers(-300, 20_000) | st.integers(-(2**66), 2**66) | st.sampled_from([2**63 - 1, -(2**63), 2**63])
scalars = st.none() | st.booleans() | integers | st.floats(allow_nan=False) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)
attributes = st.dictionaries(keys, values, max_size=6)
times = st.integers(0, 2**64 - 1)
enums = st.integers(0, 5) | st.integers(-(2**31), 2**31 - 1)
trace_ids, span_ids = (st.binary(min_size=size, max_size=size).map(bytes.hex) for size in (16, 8))
# Ids of other lengths are refused by who reads them, not here.
ids = trace_ids | span_ids | st.just("")
events = st.builds(SpanEvent, texts, times, attributes)
links = st.fixed_dictionaries({"trace_id": ids, "span_id": ids}, optional={"attributes": st.none() | attributes})
resources = st.sampled_from([{}, {"service.name": "shop"}, {"service.name": "other", "nothing": None}])
spans = st.builds(
    Span,
    trace_id=ids,
    span_id=ids,
    parent_id=st.none() | ids,
    name=texts,
    start_ns=times,
    end_ns=st.none() | times,
    attributes=attributes,
    kind=enums,
    status=enums,
    status_message=texts,
    events=st.lists(events, max_size=3),
    links=st.lists(links, max_size=3),
    scope=texts,
    resource=resources,
)
logs = st.builds(LogEvent, texts, times, st.none() | ids, st.none() | ids, attributes, scope=texts, resource=resources)


@given(st.lists(spans, max_size=4))
@checked
def test_spans_are_what_protobufs_own_objects_say(given_spans: list[Span]):
    expected = ExportTraceServiceRequest()
    for resource, scope, same in _by_origin(given_spans):
        to = expected.resource_spans.add()
        _set_all(to.resource.attributes, resource)
        scope_spans = to.scope_spans.add()
        scope_spans.scope.name = scope
        for span in same:
            _set_span(scope_spans.spans.add(), span)
    assert ExportTraceServiceRequest.FromString(traces_request(given_spans)) == expected


@given(st.lists(logs, max_size=4))
@checked
def test_log_events_are_what_protobufs_own_objects_say(given_logs: list[LogEvent]):
    expected = ExportLogsServiceRequest()
    for resource, scope, same in _by_origin(given_logs):
        to = expected.resource_logs.add()
        _set_all(to.resource.attributes, resource)
        scope_logs = to.scope_logs.add()
        scope_logs.scope.name = scope
        for log in same:
            _set_log(scope_logs.log_records.add(), log)
    assert ExportLogsServiceRequest.FromString(logs_request(given_logs)) == expected


def test_a_value_of_any_length_is_read_back():
    for size in (0, 1, 127, 128, 129, 16_383, 16_384, 2**21 - 1, 2**21):
        span = Span("ab" * 16, "cd" * 8, None, "n" * size, 1, 2, {"k" * size: "v" * size})
        request = ExportTraceServiceRequest.FromString(traces_request([span]))
        [read] = request.resource_spans[0].scope_spans[0].spans
        [attribute] = read.attributes
        assert (read.name, attribute.key, attribute.value.string_value) == ("n" * size, "k" * size, "v" * size)


# --- the same with protobuf's objects -------------------------------------------------------------------------------


def _by_origin(records: list[Any]) -> list[tuple[Mapping[str, Any], str, list[Any]]]:
    groups: list[tuple[Mapping[str, Any], str, list[Any]]] = []
    for record in records:
        if groups and groups[-1][0] is record.resource and groups[-1][1] == record.scope:
            groups[-1][2].append(record)
        else:
            groups.append((record.resource, record.scope, [record]))
    return groups


def _set_span(to: SpanMessage, span: Span) -> None:
    to.trace_id, to.span_id = bytes.fromhex(span.trace_id), bytes.fromhex(span.span_id)
    to.parent_span_id = bytes.fromhex(span.parent_id or "")
    to.name = span.name
    to.kind = span.kind  # pyright: ignore[reportAttributeAccessIssue] - any number of 32 bits
    to.start_time_unix_nano, to.end_time_unix_nano = span.start_ns, span.end_ns or 0
    _set_all(to.attributes, span.attributes)
    for event in span.events:
        of_event = to.events.add(name=event.name, time_unix_nano=event.time_ns)
        _set_all(of_event.attributes, event.attributes)
    for link in span.links:
        of_link = to.links.add(trace_id=bytes.fromhex(link["trace_id"]), span_id=bytes.fromhex(link["span_id"]))
        _set_all(of_link.attributes, link.get("attributes") or {})
    if span.status:
        to.status.code = span.status  # pyright: ignore[reportAttributeAccessIssue] - as above
        to.status.message = span.status_message


def _set_log(to: LogRecord, log: LogEvent) -> None:
    to.event_name, to.time_unix_nano = log.name, log.time_ns
    to.trace_id, to.span_id = bytes.fromhex(log.trace_id or ""), bytes.fromhex(log.span_id or "")
    _set_all(to.attributes, log.attributes)


def _set_all(to: Any, given_attributes: Mapping[str, Any]) -> None:
    for key, value in given_attributes.items():
        if value is not None:
            _set(to.add(key=key).value, value)


def _set(to: AnyValue, value: Any) -> None:
    if isinstance(value, bool):
        to.bool_value = value
    elif isinstance(value, int) and -(2**63) <= value < 2**63:
        to.int_value = value
    elif isinstance(value, float):
        to.double_value = value
    elif isinstance(value, list):
        to.array_value.SetInParent()
        for item in value:
            _set(to.array_value.values.add(), item)
    elif isinstance(value, dict):
        to.kvlist_value.SetInParent()
        _set_all(to.kvlist_value.values, value)
    elif value is not None:
        to.string_value = str(value)

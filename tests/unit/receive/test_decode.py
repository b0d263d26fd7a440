"""Decoding: OTLP in both encodings becomes the same plain values; what cannot be kept costs itself and nothing else."""

import json
import math
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from playhead.model.span import Span
from playhead_collector.errors import Refused
from playhead_collector.receive.otlp.decode import JSON, PROTOBUF, Signal, Wire, budget_bytes, portions, wire_of
from playhead_collector.receive.otlp.decoded import Decoded, DecodeLimits
from tests.unit.receive.otlp import as_json, message_of

GOLDEN = Path(__file__).parents[2] / "golden" / "otlp"
TRACE, SPAN = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"


def whole(signal: Signal, body: bytes, wire: Wire) -> Decoded:
    """All portions together."""
    budget_bytes(body, wire, DecodeLimits())
    together = Decoded()
    for portion in portions(signal, body, wire, DecodeLimits()):
        together.spans += portion.spans
        together.logs += portion.logs
        together.rejected += portion.rejected
        together.reason = together.reason or portion.reason
        together.ignored += portion.ignored
    return together


traces, logs, metrics = partial(whole, "traces"), partial(whole, "logs"), partial(whole, "metrics")


def request_with(**span: Any) -> dict[str, Any]:
    whole = {"traceId": TRACE, "spanId": SPAN, "name": "x", "startTimeUnixNano": "5", "endTimeUnixNano": "6", **span}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [whole]}]}]}


def from_json(**span: Any) -> Decoded:
    return traces(as_json(request_with(**span)), JSON)


def from_protobuf(**span: Any) -> Decoded:
    return traces(message_of(request_with(**span), ExportTraceServiceRequest).SerializeToString(), PROTOBUF)


both = pytest.mark.parametrize("decode", [from_json, from_protobuf], ids=["JSON", "protobuf"])


def value(**any_value: Any) -> Any:
    decoded = from_json(attributes=[{"key": "k", "value": any_value}])
    assert decoded.rejected == 0, decoded.reason
    return decoded.spans[0].attributes["k"]


# --- both encodings --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", [JSON, PROTOBUF])
def test_spans_become_these_values(golden: Callable[[str, str], None], wire: Wire):
    request = json.loads((GOLDEN / "otel_python.otlp.json").read_text())
    message = message_of(request, ExportTraceServiceRequest).SerializeToString()
    decoded = traces(as_json(request) if wire == JSON else message, wire)
    golden("otlp/otel_python.spans.json", shown(decoded))


@pytest.mark.parametrize("wire", [JSON, PROTOBUF])
def test_log_records_become_these_values(golden: Callable[[str, str], None], wire: Wire):
    request = json.loads((GOLDEN / "events.otlp.json").read_text())
    message = message_of(request, ExportLogsServiceRequest).SerializeToString()
    decoded = logs(as_json(request) if wire == JSON else message, wire)
    golden("otlp/events.logs.json", shown(decoded))


def shown(decoded: Decoded) -> str:
    return json.dumps(asdict(decoded), indent=2, default=lambda data: f"bytes {data.hex()}") + "\n"


any_values = st.recursive(
    st.one_of(
        st.just({}),
        st.builds(lambda v: {"stringValue": v}, st.text()),
        st.builds(lambda v: {"intValue": str(v)}, st.integers(-(2**63), 2**63 - 1)),
        st.builds(lambda v: {"boolValue": v}, st.booleans()),
        st.builds(lambda v: {"doubleValue": v}, st.floats(allow_nan=False, allow_infinity=False)),
        st.sampled_from([{"doubleValue": "Infinity"}, {"doubleValue": "-Infinity"}, {"bytesValue": "_-8="}]),
    ),
    lambda inner: st.one_of(
        st.builds(lambda v: {"arrayValue": {"values": v}}, st.lists(inner, max_size=4)),
        st.builds(
            lambda v: {"kvlistValue": {"values": [{"key": k, "value": i} for k, i in v.items()]}},
            st.dictionaries(st.text(max_size=5), inner, max_size=4),
        ),
    ),
    max_leaves=10,
)


@given(values=st.dictionaries(st.text(max_size=10), any_values, max_size=8), kind=st.integers(0, 5))
def test_both_encodings_mean_the_same(values: dict[str, Any], kind: int):
    attributes = [{"key": key, "value": item} for key, item in values.items()]
    [span] = from_json(attributes=attributes, kind=kind).spans
    assert [span] == from_protobuf(attributes=attributes, kind=kind).spans
    assert span.attributes.keys() == values.keys()


@both
@pytest.mark.parametrize(
    ("ids", "reason"),
    [
        ({"traceId": "", "spanId": ""}, "span 'x' has no ids: log records belong to /v1/logs"),
        ({"traceId": ""}, "span 'x' has trace id '': it takes 16 bytes that are not all 0"),
        ({"traceId": "00" * 16}, "has trace id '00000000000000000000000000000000'"),
        ({"traceId": TRACE[2:]}, "it takes 16 bytes"),
        ({"traceId": TRACE + "00"}, "it takes 16 bytes"),
        ({"spanId": "00" * 8}, "span 'x' has span id '0000000000000000': it takes 8 bytes that are not all 0"),
        ({"spanId": "ab"}, "span 'x' has span id 'ab'"),
        ({"parentSpanId": "abcd"}, "parent span id 'abcd' has 2 bytes: it takes 8"),
        ({"startTimeUnixNano": str(2**63)}, "time 9223372036854775808 is not between 1970 and 2262"),
        ({"events": [{"timeUnixNano": str(2**64 - 1)}]}, "is not between 1970 and 2262"),
    ],
)
def test_a_span_with_bad_ids_or_times_is_rejected_with_the_reason(
    decode: Callable[..., Decoded], ids: dict[str, Any], reason: str
):
    decoded = decode(**ids)
    assert (decoded.spans, decoded.rejected) == ([], 1)
    assert reason in decoded.reason


@both
def test_a_parent_of_zeros_is_no_parent(decode: Callable[..., Decoded]):
    assert decode(parentSpanId="00" * 8).spans[0].parent_id is None


@pytest.mark.parametrize("wire", [JSON, PROTOBUF])
def test_a_bad_span_costs_itself_and_not_its_batch(wire: Wire):
    request = request_with()
    spans = request["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans += [{**spans[0], "spanId": "00" * 8}, {**spans[0], "spanId": "ab" * 8}, {**spans[0], "traceId": "ff"}]
    message = message_of(request, ExportTraceServiceRequest).SerializeToString()
    decoded = traces(as_json(request) if wire == JSON else message, wire)
    assert [span.span_id for span in decoded.spans] == [SPAN, "ab" * 8]
    assert decoded.rejected == 2
    assert "span id '0000000000000000'" in decoded.reason


def test_log_records_sent_as_spans_are_rejected_with_a_hint():
    # Field numbers are shared, so that many log records read as spans that lack everything.
    record = {"timeUnixNano": "5", "severityText": "INFO", "eventName": "app.started", "attributes": [{"key": "a"}]}
    request = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record, record]}]}]}
    decoded = traces(message_of(request, ExportLogsServiceRequest).SerializeToString(), PROTOBUF)
    assert (decoded.spans, decoded.rejected) == ([], 2)
    assert "log records belong to /v1/logs" in decoded.reason


@pytest.mark.parametrize("wire", [JSON, PROTOBUF])
def test_an_empty_request_is_a_request(wire: Wire):
    assert traces(b"", wire) == logs(b"", wire) == metrics(b"", wire) == Decoded()


@pytest.mark.parametrize("wire", [JSON, PROTOBUF])
def test_metrics_are_counted(wire: Wire):
    request = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "a"}, {"name": "b"}]}]}]}
    message = message_of(request, ExportMetricsServiceRequest).SerializeToString()
    assert metrics(as_json(request) if wire == JSON else message, wire) == Decoded(ignored=2)


@pytest.mark.parametrize("decode", [traces, logs, metrics])
@pytest.mark.parametrize("wire", [JSON, PROTOBUF])
@given(garbage=st.binary(max_size=300))
def test_garbage_is_decoded_or_refused_and_nothing_else(
    decode: Callable[[bytes, Wire], Decoded], wire: Wire, garbage: bytes
):
    with suppress(Refused):
        decode(garbage, wire)


def test_a_damaged_request_is_decoded_or_refused_and_nothing_else():
    request = json.loads((GOLDEN / "otel_python.otlp.json").read_text())
    message = message_of(request, ExportTraceServiceRequest).SerializeToString()
    bodies: list[tuple[bytes, Wire]] = [(message, PROTOBUF), (as_json(request), JSON)]
    for body, wire in bodies:
        for place in range(len(body)):
            for damaged in (body[:place], body[:place] + b"\xff" + body[place + 1 :], body[:place] + body[place + 1 :]):
                with suppress(Refused):
                    traces(damaged, wire)


# --- protobuf --------------------------------------------------------------------------------------------------------


def test_values_that_are_not_numbers_are_kept():
    request = message_of(request_with(), ExportTraceServiceRequest)
    attribute = request.resource_spans[0].scope_spans[0].spans[0].attributes.add(key="k")
    attribute.value.double_value = math.nan
    assert math.isnan(traces(request.SerializeToString(), PROTOBUF).spans[0].attributes["k"])


@pytest.mark.parametrize("where", ["span", "resource"])
def test_deeper_nesting_than_protobuf_reads_costs_what_has_it_and_not_its_batch(where: str):
    request = message_of(request_with(), ExportTraceServiceRequest)
    request.resource_spans.append(request.resource_spans[0])
    bad = request.resource_spans[0]
    owner = bad.scope_spans[0].spans[0] if where == "span" else bad.resource
    inner = owner.attributes.add(key="k").value
    for _ in range(50):
        inner = inner.kvlist_value.values.add(key="k").value
    request.resource_spans[1].resource.attributes.add(key="service.name").value.string_value = "kept"
    request.resource_spans[1].scope_spans[0].scope.name = "theirs"
    decoded = traces(request.SerializeToString(), PROTOBUF)
    assert [(span.span_id, span.scope, span.resource) for span in decoded.spans] == [
        (SPAN, "theirs", {"service.name": "kept"})
    ]
    assert decoded.rejected == 1
    assert "nested more than 32 levels deep" in decoded.reason
    del request.resource_spans[1]
    with pytest.raises(Refused):  # nothing of it can be read: it may be anything
        traces(request.SerializeToString(), PROTOBUF)


def test_a_log_record_that_cannot_be_read_costs_itself_and_not_its_batch():
    record = {"timeUnixNano": "5", "eventName": "kept", "traceId": TRACE}
    message = message_of(
        {"resourceLogs": [{"scopeLogs": [{"logRecords": [record, record]}]}]}, ExportLogsServiceRequest
    )
    inner = message.resource_logs[0].scope_logs[0].log_records[0].body
    for _ in range(50):
        inner = inner.kvlist_value.values.add(key="k").value
    decoded = logs(message.SerializeToString(), PROTOBUF)
    assert ([log.name for log in decoded.logs], decoded.rejected) == (["kept"], 1)


def test_a_resource_that_cannot_be_read_costs_what_has_it_in_json_too():
    request = request_with()
    bad = {**request["resourceSpans"][0], "resource": {"attributes": [{"key": "k", "value": {"stringValue": 5}}]}}
    decoded = traces(as_json({"resourceSpans": [bad, *request["resourceSpans"]]}), JSON)
    assert (len(decoded.spans), decoded.rejected) == (1, 1)


def test_a_resource_that_comes_after_its_spans_or_in_parts_is_theirs():
    request = message_of(request_with(), ExportTraceServiceRequest)
    of_resource = request.resource_spans[0]
    spans = of_resource.SerializeToString()
    parts = b""
    for name in ("a", "b"):
        of_resource.Clear()
        of_resource.resource.attributes.add(key=name).value.string_value = name
        parts += of_resource.SerializeToString()
    body = spans + parts
    decoded = traces(b"\x0a" + bytes([len(body)]) + body, PROTOBUF)
    assert decoded.spans[0].resource == {"a": "a", "b": "b"}


@given(data=st.binary(max_size=200))
def test_what_is_walked_is_what_protobuf_reads(data: bytes):
    """Whatever protobuf reads, we walk, unless it has groups, which no OTLP message has."""
    try:
        message = ExportTraceServiceRequest.FromString(data)
    except DecodeError:
        return
    with suppress(Refused):
        decoded = traces(data, PROTOBUF)
        spans = [s for r in message.resource_spans for c in r.scope_spans for s in c.spans]
        assert len(decoded.spans) + decoded.rejected == len(spans)


def nested(number: int, data: bytes) -> bytes:
    size, length = bytearray(), len(data)
    while length > 127:
        size.append(length & 127 | 128)
        length >>= 7
    return bytes([number << 3 | 2, *size, length]) + data


def envelope(*spans: bytes) -> bytes:
    """A request with these spans, as bytes."""
    return nested(1, nested(2, b"".join(nested(2, span) for span in spans)))


def span_of(request: dict[str, Any]) -> bytes:
    return message_of(request, ExportTraceServiceRequest).resource_spans[0].scope_spans[0].spans[0].SerializeToString()


WHOLE = span_of(request_with())
CROWDED = {
    "2 million spans": nested(1, nested(2, nested(2, b"") * 2_000_000)),
    "2 million resources": b"\x0a\x00" * 2_000_000,
    "2 million scopes": b"\x0a\x84\x89\x7a" + b"\x12\x00" * 1_000_002,
}


@pytest.mark.parametrize("body", CROWDED.values(), ids=CROWDED.keys())
def test_more_spans_than_are_taken_are_refused_before_any_is_made(body: bytes):
    tracemalloc.start()
    try:
        with pytest.raises(Refused, match="more than 100000 spans") as refused:
            next(portions("traces", body, PROTOBUF, DecodeLimits()))
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
    assert refused.value.status == 413


NOT_OTLP = {
    "numbers": b"\x28\x01" * 2_000_000,
    "numbers in a resource": b"\x0a\x84\x89\x7a" + b"\x28\x01" * 1_000_002,
    "unknown fields of a scope": b"\x0a\x88\x89\x7a\x12\x84\x89\x7a" + b"\x2a\x00" * 1_000_002,
}


@pytest.mark.parametrize("body", NOT_OTLP.values(), ids=NOT_OTLP.keys())
def test_fields_that_otlp_does_not_have_are_not_read_by_the_million(body: bytes):
    walked: list[int] = []

    class Body(bytes):
        """Counts the bytes that are looked at."""

        def __getitem__(self, at: Any) -> Any:
            walked.append(1)
            return super().__getitem__(at)

    with pytest.raises(Refused) as refused:
        next(portions("traces", Body(body), PROTOBUF, DecodeLimits()))
    assert refused.value.status in {400, 413}
    assert len(walked) < 1_000_000


PARTS = {
    "attributes": b"\x4a\x00" * 500_000,
    "events": b"\x5a\x00" * 500_000,
    "links": b"\x6a\x00" * 500_000,
    "values": span_of(request_with(attributes=[{"key": "k", "value": {"arrayValue": {"values": [{}] * 50_000}}}])),
}


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS.keys())
def test_a_span_with_too_many_parts_costs_itself_and_not_its_batch(parts: bytes):
    body = envelope(WHOLE, WHOLE + parts)
    tracemalloc.start()
    try:
        decoded = traces(body, PROTOBUF)
        assert tracemalloc.get_traced_memory()[1] < 5 * len(body)
    finally:
        tracemalloc.stop()
    assert (len(decoded.spans), decoded.rejected) == (1, 1)
    assert "more than 10000 attributes, events, links and values" in decoded.reason


def test_a_resource_with_too_many_parts_costs_what_has_it():
    request = message_of(request_with(), ExportTraceServiceRequest)
    request.resource_spans.append(request.resource_spans[0])
    for _ in range(20_000):
        request.resource_spans[0].resource.attributes.add(key="k")
    decoded = traces(request.SerializeToString(), PROTOBUF)
    assert (len(decoded.spans), decoded.rejected) == (1, 1)
    assert "its resource has more than 10000" in decoded.reason


@pytest.mark.parametrize("wire", [JSON, PROTOBUF])
def test_many_spans_come_in_portions_in_their_order(wire: Wire):
    request = request_with()
    spans = request["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans[:] = [{**spans[0], "spanId": f"{n:016x}"} for n in range(1, 5_001)]
    body = as_json(request) if wire == JSON else message_of(request, ExportTraceServiceRequest).SerializeToString()
    given = list(portions("traces", body, wire, DecodeLimits(portion_cost=400_000)))
    assert len(given) > 5
    assert max(len(portion.spans) for portion in given) < 500
    assert [span.span_id for portion in given for span in portion.spans] == [f"{n:016x}" for n in range(1, 5_001)]


@pytest.mark.parametrize("body", [b"[" + b"[]," * 3_000_000, b'{"a":[' + b"{}," * 1_000_000, b"[" * 2_000_000])
def test_json_with_too_many_values_is_refused_before_it_is_read(body: bytes):
    with pytest.raises(Refused, match="too many values") as refused:
        budget_bytes(body, JSON, DecodeLimits())
    assert refused.value.status == 413


def test_json_is_charged_for_what_it_takes_and_text_is_not_charged_for_more():
    text = as_json(request_with(attributes=[{"key": "k", "value": {"stringValue": "x" * 100_000}}]))
    assert budget_bytes(text, JSON, DecodeLimits()) == len(text)
    values = b'{"resourceSpans":[' + b"{}," * 10_000 + b"{}]}"
    assert budget_bytes(values, JSON, DecodeLimits()) > 20 * len(values)


# --- JSON ------------------------------------------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = [
    "traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes", "events",
    "links", "status", "droppedAttributesCount",
]  # fmt: skip


@given(span=st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=4))
def test_a_field_of_any_type_is_read_or_rejected_and_nothing_else(span: dict[str, Any]):
    decoded = from_json(**span)
    assert len(decoded.spans) + decoded.rejected == 1
    assert bool(decoded.reason) == bool(decoded.rejected)


@given(envelope=st.dictionaries(st.sampled_from(["resourceSpans", "scopeSpans", "resource", "spans"]), json_values))
def test_an_envelope_of_any_type_is_read_or_refused_and_nothing_else(envelope: dict[str, Any]):
    with suppress(Refused):
        assert traces(as_json(envelope), JSON).spans == []
        assert traces(as_json({"resourceSpans": [envelope]}), JSON).spans == []


def test_names_may_be_in_snake_case_and_enums_in_words():
    span = {
        "trace_id": TRACE,
        "span_id": SPAN,
        "name": "x",
        "kind": "SPAN_KIND_CLIENT",
        "start_time_unix_nano": 5,
        "end_time_unix_nano": 6.0,
        "status": {"code": "STATUS_CODE_ERROR"},
        "attributes": [{"key": "k", "value": {"kvlist_value": {"values": [{"key": "s", "value": {"int_value": 1}}]}}}],
    }
    body = as_json({"resource_spans": [{"scope_spans": [{"scope": {"name": "s"}, "spans": [span]}]}]})
    [decoded] = traces(body, JSON).spans
    assert decoded == Span(TRACE, SPAN, None, "x", 5, 6, {"k": {"s": 1}}, kind=3, status=2, scope="s")


def test_unknown_fields_are_ignored_also_in_values():
    [span] = from_json(later={"a": [1]}, attributes=[{"key": "k", "value": {"laterValue": 1}, "more": 2}]).spans
    assert span.attributes == {"k": None}


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ({"intValue": 5}, 5),
        ({"intValue": "5"}, 5),
        ({"intValue": "-9223372036854775808"}, -(2**63)),
        ({"doubleValue": 2}, 2.0),
        ({"doubleValue": "1.5e3"}, 1500.0),
        ({"doubleValue": "-Infinity"}, -math.inf),
        ({"bytesValue": "AAE"}, b"\x00\x01"),
        ({"stringValue": None, "intValue": "1"}, 1),
        ({"arrayValue": {}}, []),
        ({"kvlistValue": {}}, {}),
    ],
)
def test_values_are_read_as_senders_write_them(sent: dict[str, Any], meant: Any):
    read = value(**sent)
    assert read == meant
    assert type(read) is type(meant)


def test_nan_is_read():
    assert math.isnan(value(doubleValue="NaN"))


@pytest.mark.parametrize(
    "sent",
    [
        {"intValue": "five"},
        {"intValue": 1.5},
        {"intValue": "99999999999999999999"},
        {"doubleValue": "much"},
        {"boolValue": "true"},
        {"stringValue": 5},
        {"bytesValue": "*"},
        {"arrayValue": [1]},
        {"kvlistValue": {"values": {"a": 1}}},
    ],
)
def test_a_value_that_is_not_what_it_says_is_rejected_with_it(sent: dict[str, Any]):
    decoded = from_json(attributes=[{"key": "k", "value": sent}])
    assert (decoded.spans, decoded.rejected) == ([], 1)
    assert " is " in decoded.reason or "more than 64 bits" in decoded.reason


def test_values_may_nest_but_not_without_end():
    def nested(levels: int) -> Any:
        inner: Any = {"stringValue": "x"}
        for _ in range(levels):
            inner = {"arrayValue": {"values": [inner]}}
        return inner

    assert value(**nested(60)) is not None
    decoded = from_json(attributes=[{"key": "k", "value": nested(80)}])
    assert "nested more than 64 levels deep" in decoded.reason
    with pytest.raises(Refused):
        traces(b'{"resourceSpans": ' + b"[" * 3_000 + b"]" * 3_000 + b"}", JSON)


def test_half_a_character_becomes_a_mark_and_not_a_lost_batch():
    body = as_json(request_with(name="cut \ud83d"))
    assert b"\\ud83d" in body
    assert traces(body, JSON).spans[0].name == "cut ?"


# --- media types -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content_type", "wire"),
    [
        ("application/x-protobuf", PROTOBUF),
        ("application/json", JSON),
        ("Application/JSON; charset=utf-8", JSON),
    ],
)
def test_the_content_type_says_which_encoding(content_type: str, wire: Wire):
    assert wire_of(content_type) == wire


@pytest.mark.parametrize("content_type", [None, "", "text/plain", "application/grpc", "application/jsonl"])
def test_any_other_content_type_is_refused(content_type: str | None):
    with pytest.raises(Refused, match="OTLP is sent as application/x-protobuf or application/json") as refused:
        wire_of(content_type)
    assert refused.value.status == 415

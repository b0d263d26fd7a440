import json
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from playhead.export.shipment import announcement
from playhead.model.span import LogEvent, Span, SpanEvent
from playhead.outbound.otlp import logs_request, rejected_spans, status_message, traces_request

SHOP = {"service.name": "shop"}
EVERY_KIND_OF_VALUE = {
    "text": "grüß",
    "empty": "",
    "true": True,
    "false": False,
    "zero": 0,
    "negative": -1,
    "beyond 64 bits": 2**63,
    "half": 0.5,
    "list": ["a", 1, False, None],
    "empty list": [],
    "map": {"a": {"b": 1}},
    "empty map": {},
    "nothing": None,
}


def a_span(number: int = 1, **fields: object) -> Span:
    span = Span(
        trace_id="0af7651916cd43dd8448eb211c80319c",
        span_id=f"{number:016x}",
        parent_id=None,
        name=f"step {number}",
        start_ns=1_700_000_000_000_000_000,
        end_ns=1_700_000_000_000_000_005,
        attributes={},
        scope="playhead",
        resource=SHOP,
    )
    for name, value in fields.items():
        setattr(span, name, value)
    return span


def test_spans_are_encoded_as_the_golden_file_says(golden: Callable[[str, str], None]):
    failed = a_span(
        2,
        parent_id="0000000000000001",
        kind=3,
        status=2,
        status_message="it broke",
        events=[SpanEvent("exception", 1_700_000_000_000_000_003, {"exception.type": "ValueError"})],
        links=[{"trace_id": "f" * 32, "span_id": "e" * 16, "attributes": {"why": "retry"}}],
    )
    body = traces_request([a_span(attributes=EVERY_KIND_OF_VALUE), failed])
    as_json = MessageToDict(ExportTraceServiceRequest.FromString(body))
    golden("export/spans.otlp.json", json.dumps(as_json, indent=1, ensure_ascii=False) + "\n")


def test_log_events_are_encoded_as_the_golden_file_says(golden: Callable[[str, str], None]):
    started = announcement(a_span(2, parent_id="0000000000000001", end_ns=None, attributes={"playhead.call.order": 2}))
    lonely = LogEvent("playhead.checkpoint", 1_700_000_000_000_000_009, None, None, {}, "playhead", SHOP)
    as_json = MessageToDict(ExportLogsServiceRequest.FromString(logs_request([started, lonely])))
    golden("export/logs.otlp.json", json.dumps(as_json, indent=1, ensure_ascii=False) + "\n")


def test_records_of_several_resources_are_grouped_and_stay_in_order():
    other = {"service.name": "other"}
    spans = [a_span(1), a_span(2), a_span(3, resource=other), a_span(4, resource=other)]
    request = ExportTraceServiceRequest.FromString(traces_request(spans))
    assert [[s.name for s in group.scope_spans[0].spans] for group in request.resource_spans] == [
        ["step 1", "step 2"],
        ["step 3", "step 4"],
    ]


INEXPRESSIBLE: dict[str, dict[str, Any]] = {
    "trace id": {"trace_id": "no hex"},
    "span id": {"span_id": 7},
    "time before 1970": {"start_ns": -1},
    "time of more than 64 bits": {"end_ns": 2**64},
    "time that is no integer": {"start_ns": 0.5},
    "kind of more than 32 bits": {"kind": 2**31},
    "kind that is no number": {"kind": "server"},
    "status of more than 32 bits": {"status": -(2**31) - 1},
    "name that is no text": {"name": 7},
    "name with half a surrogate pair": {"name": "\ud800"},
    "scope that is no text": {"scope": 7},
    "value of the resource": {"resource": {"key": b"bytes"}},
    "value": {"attributes": {"key": b"bytes"}},
    "value in a list": {"attributes": {"key": [{1, 2}]}},
    "value with half a surrogate pair": {"attributes": {"key": "\ud800"}},
    "key that is no text": {"attributes": {7: "a"}},
    "time of an event": {"events": [SpanEvent("exception", -1)]},
    "id of a link": {"links": [{"trace_id": "f" * 32, "span_id": "no hex"}]},
}


@pytest.mark.parametrize("fields", INEXPRESSIBLE.values(), ids=INEXPRESSIBLE)
def test_a_span_that_otlp_cannot_express_is_an_error_that_says_so(fields: dict[str, Any]):
    with pytest.raises((ValueError, TypeError)):
        traces_request([a_span(**fields)])


def test_what_a_receiver_rejected_is_read_from_its_answer():
    answer = ExportTraceServiceResponse()
    answer.partial_success.rejected_spans = 3
    answer.partial_success.error_message = "too old"
    assert rejected_spans(answer.SerializeToString()) == (3, "too old")
    assert rejected_spans(b"") == (0, "")


def test_an_answer_that_is_no_protobuf_rejects_nothing():
    assert rejected_spans(b"{}") == (0, "")
    assert status_message(b"<html>") == ""


def test_the_message_of_a_protobuf_status_is_read():
    assert status_message(b"\x08\x03\x12\x08too late") == "too late"

"""Spans and log events as the API gives them are read back as they were."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from playhead.model.span import LogEvent, Span, SpanEvent, log_from_json, log_to_json, span_from_json, span_to_json
from playhead.model.times import parse_time, rfc3339
from playhead_collector.read.spans import trace_span

times = st.integers(0, 4_102_444_800 * 10**9)
attributes = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5) | st.booleans(), max_size=3)
spans = st.builds(
    Span,
    trace_id=st.text("0123456789abcdef", min_size=32, max_size=32),
    span_id=st.text("0123456789abcdef", min_size=16, max_size=16),
    parent_id=st.none() | st.just("a" * 16),
    name=st.text(max_size=5),
    start_ns=times,
    end_ns=st.none() | times,
    attributes=attributes,
    kind=st.just(1),
    status=st.sampled_from((0, 1, 2)),
    status_message=st.text(max_size=5),
    events=st.lists(st.builds(SpanEvent, st.text(max_size=5), times, attributes), max_size=2),
    links=st.lists(st.fixed_dictionaries({"trace_id": st.text(max_size=5)}), max_size=2),
    scope=st.text(max_size=5),
    resource=attributes,
)
logs = st.builds(
    LogEvent, st.text(max_size=5), times, st.none() | st.just("a" * 32), st.none() | st.just("b" * 16), attributes,
    st.text(max_size=5), attributes,
)  # fmt: skip


@given(spans)
def test_a_span_is_read_back_from_its_answer(span: Span):
    assert span_from_json(json.loads(json.dumps(span_to_json(span)))) == span
    assert span_from_json(json.loads(json.dumps(trace_span(span, 3)))) == span


@given(logs)
def test_a_log_event_is_read_back_from_its_answer(log: LogEvent):
    assert log_from_json(json.loads(json.dumps(log_to_json(log)))) == log


@given(times)
def test_a_time_is_read_back_to_the_nanosecond(time_ns: int):
    assert parse_time(rfc3339(time_ns)) == time_ns


def test_a_status_that_opentelemetry_does_not_have_is_unset():
    span = Span("a" * 32, "b" * 16, None, "n", 0, None, {})
    assert span_from_json(span_to_json(replace(span, status=7))).status == 0
    assert span_from_json({**span_to_json(span), "status": "other"}).status == 0

"""Spans and log events as OTLP's JSON: the collector reads back what was written."""

import math
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.model.canonical import canonical_json
from playhead.model.span import LogEvent, Span, SpanEvent
from playhead.wire.otlp_json import logs_json, traces_json
from playhead_collector.receive.otlp import json
from playhead_collector.receive.otlp.decoded import DecodeLimits

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NS = st.integers(1, 2**63 - 1)
VALUES = st.recursive(
    TEXT | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
ATTRIBUTES = st.dictionaries(TEXT, VALUES, max_size=5)
SPANS = st.builds(
    Span,
    trace_id=st.integers(1, 2**128 - 1).map(lambda n: f"{n:032x}"),
    span_id=st.integers(1, 2**64 - 1).map(lambda n: f"{n:016x}"),
    parent_id=st.none() | st.integers(1, 2**64 - 1).map(lambda n: f"{n:016x}"),
    name=TEXT,
    start_ns=NS,
    end_ns=st.none() | NS,
    attributes=ATTRIBUTES,
    kind=st.integers(1, 5),
    status=st.integers(0, 2),
    status_message=TEXT,
    events=st.lists(st.builds(SpanEvent, TEXT, NS, ATTRIBUTES), max_size=2),
    links=st.lists(
        st.fixed_dictionaries({"trace_id": st.just("ab" * 16), "span_id": st.just("cd" * 8), "attributes": ATTRIBUTES}),
        max_size=2,
    ),
    scope=TEXT,
    resource=ATTRIBUTES,
)


def read(signal: str, request: Any) -> Any:
    (decoded,) = json.READERS[signal](orjson.dumps(request), DecodeLimits())
    assert not decoded.rejected, decoded.reason
    return decoded


@settings(max_examples=60, deadline=None)
@given(st.lists(SPANS, min_size=1, max_size=4))
def test_spans_are_read_back_as_they_were(spans: list[Span]):
    assert read("traces", traces_json(spans)).spans == spans


@settings(max_examples=30, deadline=None)
@given(TEXT.filter(bool), NS, ATTRIBUTES, TEXT, ATTRIBUTES)
def test_log_events_are_read_back_as_they_were(name: str, at: int, attributes: Any, scope: str, resource: Any):
    log = LogEvent(name, at, "ab" * 16, "cd" * 8, attributes, scope, resource)
    assert read("logs", logs_json([log])).logs == [log]


def test_numbers_that_json_cannot_say():
    values = {"nan": math.nan, "most": math.inf, "least": -math.inf, "large": 2**70, "none": None, "raw": b"\xff"}
    span = Span("ab" * 16, "cd" * 8, None, "n", 1, 2, values)
    text = canonical_json(traces_json([span]))
    (back,) = read("traces", orjson.loads(text)).spans
    assert math.isnan(back.attributes.pop("nan"))
    assert back.attributes == {"most": math.inf, "least": -math.inf, "large": str(2**70), "none": None, "raw": b"\xff"}

"""The entry in `tracestate` that names a run and a call."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.trace import SpanContext, TraceFlags, TraceState

from playhead.api.calls.trace_state import RemoteCall, remote_call, with_call

RUN = "0" * 31 + "a"


@given(st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1), st.integers(0, 10**9 - 1))
def test_what_is_written_is_read(trace_id: int, span_id: int, attempt: int) -> None:
    others = TraceState([("vendor", "x")])
    context = with_call(SpanContext(trace_id, span_id, is_remote=False, trace_state=others), RUN, attempt)
    assert context.trace_state.get("vendor") == "x"
    assert remote_call(context.trace_state.to_header()) == RemoteCall(RUN, attempt, trace_id, span_id)


def test_the_nearest_call_replaces_one_further_out() -> None:
    outer = with_call(SpanContext(1, 2, is_remote=True, trace_flags=TraceFlags(1)), RUN, 0)
    inner = with_call(SpanContext(1, 3, is_remote=False, trace_state=outer.trace_state), RUN, 0)
    assert remote_call(inner.trace_state.to_header()) == RemoteCall(RUN, 0, 1, 3)


@pytest.mark.parametrize(
    "header", [None, 5, "", "playhead", "playhead=", "playhead=1-2-3-4", "other=1", f"playhead={RUN}"]
)
def test_what_names_no_call_is_none(header: object) -> None:
    assert remote_call(header) is None


@given(st.text())
def test_no_text_raises(header: str) -> None:
    assert remote_call(f"playhead={header}") is None or header

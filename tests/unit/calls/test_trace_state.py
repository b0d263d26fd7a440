"""The entry in `tracestate` that names a run and a call."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanContext, TraceFlags, TraceState
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from playhead.calls.trace_state import KEY, HandedCall, handed_call, with_call
from tests.support.logged import messages_of

RUN = "0" * 31 + "a"
PROPAGATOR = TraceContextTextMapPropagator()
calls = st.builds(
    HandedCall,
    st.just(RUN),
    st.integers(0, 10**9 - 1),
    st.integers(1, 2**64 - 1),
    st.one_of(st.just(""), st.integers(0, 2**64 - 1).map("{:016x}".format)),
    st.integers(0, 10**9 - 1),
    st.integers(0, 10**11 - 1),
)


def context(state: TraceState | None = None) -> SpanContext:
    """A span's, with this trace state."""
    return SpanContext(1, 2, is_remote=False, trace_flags=TraceFlags(1), trace_state=state)


def sent_on(one: SpanContext) -> tuple[str, SpanContext]:
    """The header as OpenTelemetry writes it, and what OpenTelemetry reads from it."""
    headers: dict[str, str] = {}
    PROPAGATOR.inject(headers, trace.set_span_in_context(trace.NonRecordingSpan(one), Context()))
    read = trace.get_current_span(PROPAGATOR.extract(headers, Context())).get_span_context()
    return headers.get("tracestate", ""), read


@given(calls)
def test_what_is_written_is_read(call: HandedCall) -> None:
    header, read = sent_on(with_call(context(), call, TraceState([("vendor", "x")])))
    assert handed_call(read) == call
    assert read.trace_state.get("vendor") == "x"
    assert header.startswith(f"{KEY}="), "whoever shortens a header takes from its end"
    assert len(header.removesuffix(",vendor=x")) <= 128, "longer entries are the first that are dropped"


def test_the_nearest_call_replaces_one_further_out() -> None:
    outer, inner = HandedCall(RUN, 0, 2, "", 1, 5), HandedCall(RUN, 0, 3, "", 2, 5)
    _, read = sent_on(with_call(context(), inner, with_call(context(), outer).trace_state))
    assert handed_call(read) == inner
    assert len(read.trace_state) == 1


def test_of_as_many_entries_as_there_may_be_the_last_makes_room(caplog: pytest.LogCaptureFixture) -> None:
    full = TraceState([(f"vendor{number}", "x") for number in range(32)])
    _, read = sent_on(with_call(context(), HandedCall(RUN, 0, 2, "", 1, 5), full))
    assert list(read.trace_state) == [KEY, *(f"vendor{number}" for number in range(31))]
    assert messages_of(caplog, "opentelemetry.trace.span") == []


WHOLE = f"{RUN}-0-00000000000000ab-{'c' * 16}-12-1700000000"


def test_this_is_the_form() -> None:
    assert handed_call(context(TraceState([(KEY, WHOLE)]))) == HandedCall(RUN, 0, 0xAB, "c" * 16, 12, 1_700_000_000)


@pytest.mark.parametrize(
    "entry",
    [
        "x",
        "1-2-3-4-5-6",
        RUN,
        WHOLE + "-1",
        WHOLE.upper(),
        WHOLE.replace(RUN, "0" * 32),
        WHOLE.replace("00000000000000ab", "0" * 16),
        WHOLE.replace("-12-", "-1e3-"),
        WHOLE.replace("-0-", "-\u0663-"),
    ],
)
def test_what_names_no_call_is_none(entry: str) -> None:
    assert handed_call(context(TraceState([(KEY, entry)]))) is None


def test_a_context_without_an_entry_names_none() -> None:
    assert handed_call(context()) is None
    assert handed_call(trace.INVALID_SPAN_CONTEXT) is None


@given(st.text(max_size=300))
def test_no_header_raises(header: str) -> None:
    carrier = {"traceparent": f"00-{1:032x}-{2:016x}-01", "tracestate": f"{KEY}={header}"}
    handed_call(trace.get_current_span(PROPAGATOR.extract(carrier, Context())).get_span_context())

"""Calls in a context from outside: whether they are a part of the run that it names, linked to it, or neither."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry import context as otel
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.propagate import extract, inject
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import Link

import playhead
from playhead import observe
from playhead.calls import joining
from playhead.model import names
from playhead.model.span import Span
from tests.support.journal_reader import Journaled, Recording
from tests.support.projected import projected

pytestmark = pytest.mark.usefixtures("quiet")
ELSEWHERE = "f" * 31 + "1"  # a run of another process
OTHER = "f" * 31 + "2"


@observe(kind="tool")
def tool(x: int = 0) -> int:
    return x


@observe(kind="llm")
def ask(x: int = 0) -> int:
    return x


@observe
def work(x: int = 0) -> int:
    return tool(x)


def carrier_of(
    run: str, *, number: int = 3, age: float = 0, trace_id: int = 0xABC, process: str = ""
) -> dict[str, str]:
    """What another process sends along with work of this run."""
    entry = f"{run}-0-{0xDEF:016x}-{process}-{number}-{int(time.time() - age)}"
    return {"traceparent": f"00-{trace_id:032x}-{0x123:016x}-01", "tracestate": f"theirs=1,playhead={entry}"}


def inside(carrier: dict[str, str], call: Callable[[], Any]) -> Any:
    """Calls it in the context that was sent."""
    token = otel.attach(extract(carrier, otel.get_current()))
    try:
        return call()
    finally:
        otel.detach(token)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[TracerProvider]:
    provider = TracerProvider()
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield provider
    provider.shutdown()


def run_ids(seen: Journaled) -> list[str]:
    return [str(span.attributes[names.RUN_ID]) for span in seen.spans]


def of_process(span: Span) -> tuple[Any, Any, Any]:
    return (
        span.attributes[names.PROCESS_ID],
        span.attributes[names.CALL_ORDER],
        span.attributes.get(names.PROCESS_AFTER),
    )


# --- joining ----------------------------------------------------------------------------------------------------------


def test_work_in_a_context_that_names_a_run_is_a_part_of_it(recording: Recording):
    inside(carrier_of(ELSEWHERE), lambda: (work(1), playhead.annotate(decision="x")))
    seen = recording.read()
    assert run_ids(seen) == [ELSEWHERE] * 2
    inner, outer = seen.spans
    assert outer.parent_id == f"{0xDEF:016x}", "the call that was handed on, not the span of the request"
    assert {span.trace_id for span in seen.spans} == {f"{0xABC:032x}"}
    assert names.RUN_ROOT not in outer.attributes
    process = outer.attributes[names.PROCESS_ID]
    assert of_process(outer) == (process, 1, "#3")
    assert of_process(inner) == (process, 2, None)
    assert outer.attributes[names.KIND] == "step"


def test_a_process_counts_all_that_it_is_handed_of_a_run_in_one_count(recording: Recording):
    inside(carrier_of(ELSEWHERE), tool)
    inside(carrier_of(OTHER), tool)
    inside(carrier_of(ELSEWHERE, number=9), tool)
    first, other, second = recording.read().spans
    process = first.attributes[names.PROCESS_ID]
    assert [of_process(first), of_process(second)] == [(process, 1, "#3"), (process, 2, "#9")]
    assert of_process(other) == (other.attributes[names.PROCESS_ID], 1, "#3")
    assert other.attributes[names.PROCESS_ID] != process


def test_one_that_was_forgotten_counts_anew_as_another_process(recording: Recording, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(joining, "_MAX_PARTS", 1)
    for run in (ELSEWHERE, OTHER, ELSEWHERE):
        inside(carrier_of(run), tool)
    spans = recording.read().spans
    assert [span.attributes[names.CALL_ORDER] for span in spans] == [1, 1, 1]
    assert len({span.attributes[names.PROCESS_ID] for span in spans}) == 3


def test_what_a_process_hands_on_in_turn_comes_after_what_it_has_counted(recording: Recording):
    carriers: list[dict[str, str]] = []

    @observe
    def hands_on() -> None:
        tool(1)
        carriers.append({})
        inject(carriers[0])

    inside(carrier_of(ELSEWHERE), hands_on)
    outer = recording.read().call("hands_on")
    _, entry = carriers[0]["tracestate"].split("playhead=")
    run, attempt, span, process, number, _ = entry.split(",")[0].split("-")
    assert (run, attempt, span) == (ELSEWHERE, "0", outer.span_id)
    assert (process, number) == (outer.attributes[names.PROCESS_ID], "2")
    assert "theirs=1" in carriers[0]["tracestate"]


def test_what_is_handed_through_untouched_keeps_its_cause(recording: Recording):
    """Nothing was counted here yet when it is handed on again."""
    carrier: dict[str, str] = {}
    inside(carrier_of(ELSEWHERE, process="a" * 16, number=4), lambda: inject(carrier))
    inside(carrier, tool)
    assert recording.read().call("tool").attributes[names.PROCESS_AFTER] == f"{'a' * 16}#4"


def test_a_queue_in_one_process_hands_on_within_the_run(recording: Recording):
    with playhead.run("agent") as run:
        carrier: dict[str, str] = {}
        inject(carrier)
        thread = threading.Thread(target=lambda: inside(carrier, tool))
        thread.start()
        thread.join()
    seen = recording.read()
    call = seen.call("tool")
    assert (call.attributes[names.RUN_ID], call.attributes[names.CALL_ORDER]) == (run.id, 2)
    assert names.PROCESS_ID not in call.attributes
    assert seen.parent("tool") == "agent"


def test_a_call_that_has_ended_hands_on_within_its_run_as_long_as_that_goes_on(recording: Recording):
    carrier: dict[str, str] = {}
    with playhead.run("agent") as run:
        with observe("step", kind="step"):
            inject(carrier)
        thread = threading.Thread(target=lambda: inside(carrier, tool))
        thread.start()
        thread.join()
    seen = recording.read()
    call = seen.call("tool")
    assert (call.attributes[names.RUN_ID], names.PROCESS_ID in call.attributes) == (run.id, False)
    assert seen.parent("tool") == "step"


@pytest.mark.parametrize("depth", [1, 3])
def test_spans_of_others_between_ours_pass_the_run_on(recording: Recording, provider: TracerProvider, depth: int):
    tracer = provider.get_tracer("requests")
    carrier: dict[str, str] = {}
    with playhead.run("agent") as run:
        spans = [tracer.start_span("GET")]
        for _ in range(depth - 1):
            spans.append(tracer.start_span("send", trace.set_span_in_context(spans[-1])))
        inject(carrier, trace.set_span_in_context(spans[-1]))
    assert str(run.id) in carrier["tracestate"]
    root = recording.read().call("agent")
    assert f"-{root.span_id}-" in carrier["tracestate"]
    assert carrier["traceparent"].split("-")[2] == f"{spans[-1].get_span_context().span_id:016x}"


def test_a_server_s_span_around_it_is_of_the_run_too_and_no_call_of_it(recording: Recording, provider: TracerProvider):
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tool()  # so that the provider is known
    tracer = provider.get_tracer("web")

    def request() -> None:
        with tracer.start_as_current_span("POST /", kind=trace.SpanKind.SERVER), tracer.start_as_current_span("inner"):
            work()

    inside(carrier_of(ELSEWHERE), request)
    theirs = {span.name: dict(span.attributes or {}) for span in exporter.get_finished_spans()}
    assert theirs["POST /"][names.RUN_ID] == theirs["inner"][names.RUN_ID] == ELSEWHERE
    assert recording.read().call("work").parent_id == f"{0xDEF:016x}"


def test_entries_are_not_made_for_each_child_of_a_program_with_a_provider(
    recording: Recording, provider: TracerProvider
):
    """Its own exporters see no entry of ours in the spans that only mirror the run's calls."""
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with playhead.run("agent"):
        work()
    assert [dict(span.context.trace_state) for span in exporter.get_finished_spans() if span.context] == [{}] * 3


# --- not joining ------------------------------------------------------------------------------------------------------


def test_a_trace_alone_joins_nothing_whatever_is_called(recording: Recording):
    """One trace may hold a thousand requests of a batch."""
    batch = {"traceparent": f"00-{0xABC:032x}-{0x123:016x}-01"}
    for call in (work, work, ask, ask):
        inside(batch, call)
    roots = [span for span in recording.read().spans if names.RUN_ROOT in span.attributes]
    assert len({span.attributes[names.RUN_ID] for span in roots}) == 4
    assert {span.trace_id for span in roots} == {f"{0xABC:032x}"}
    assert all(span.attributes[names.RUN_ID] != span.trace_id for span in roots)
    assert all(names.LINKED_RUNS not in span.attributes for span in roots)


def test_calls_of_one_request_are_one_run_though_a_thousand_share_the_trace(
    recording: Recording, provider: TracerProvider
):
    tracer = provider.get_tracer("web")

    def request() -> None:
        with tracer.start_as_current_span("POST /ask", kind=trace.SpanKind.SERVER):
            ask(1)
            with tracer.start_as_current_span("retrieve"), tracer.start_as_current_span("search"):
                ask(2)

    batch = {"traceparent": f"00-{0xABC:032x}-{0x123:016x}-01"}
    inside(batch, request)
    inside(batch, request)
    seen = recording.read()
    asked = [span.attributes[names.RUN_ID] for span in seen.calls("ask")]
    assert asked == [asked[0], asked[0], asked[2], asked[2]]
    assert len({*asked, f"{0xABC:032x}"}) == 3
    row = projected(seen, asked[0]).row
    assert (row.name, row.status, row.llm_calls, row.spans_missing) == ("POST /ask", "completed", 2, 0)


def test_calls_right_in_one_context_from_outside_are_one_run(recording: Recording):
    inside({"traceparent": f"00-{0xABC:032x}-{0x123:016x}-01"}, lambda: (ask(1), ask(2)))
    assert len(set(run_ids(recording.read()))) == 1


@pytest.mark.parametrize("entry", ["", "x", ELSEWHERE, f"{ELSEWHERE}-0-{0:016x}--1-1", f"{'0' * 32}-0-{1:016x}--1-1"])
def test_a_malformed_entry_is_no_entry(recording: Recording, entry: str):
    inside({**carrier_of(ELSEWHERE), "tracestate": f"playhead={entry}"}, work)
    root = recording.read().call("work")
    assert root.attributes[names.RUN_ROOT] is True
    assert names.LINKED_RUNS not in root.attributes


def test_a_run_that_is_not_recorded_is_handed_to_nobody(recording: Recording, monkeypatch: pytest.MonkeyPatch):
    off = TracerProvider(sampler=ALWAYS_OFF)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", off)
    carrier: dict[str, str] = {}
    with playhead.run("dropped"):
        inject(carrier)
    assert "playhead" not in carrier.get("tracestate", "")
    off.shutdown()


# --- linking ----------------------------------------------------------------------------------------------------------


def linked(span: Span) -> list[str]:
    return list(span.attributes.get(names.LINKED_RUNS, ()))


def test_a_setting_links_or_ignores_what_a_stranger_may_have_sent(recording: Recording):
    for incoming, expected in (("link", [ELSEWHERE]), ("ignore", [])):
        recording.configure(incoming_runs=incoming)
        inside(carrier_of(ELSEWHERE), work)
        root = recording.read().calls("work")[-1]
        assert root.attributes[names.RUN_ID] != ELSEWHERE
        assert (root.attributes[names.RUN_ROOT], linked(root)) == (True, expected)


def test_a_span_of_others_names_no_run_that_is_not_joined(recording: Recording, provider: TracerProvider):
    recording.configure(incoming_runs="ignore")
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tool()

    def request() -> None:
        with provider.get_tracer("web").start_as_current_span("POST /"):
            pass

    inside(carrier_of(ELSEWHERE), request)
    [span] = [span for span in exporter.get_finished_spans() if span.name == "POST /"]
    assert names.RUN_ID not in (span.attributes or {})


@pytest.mark.parametrize(("age", "joins"), [(3500, True), (3700, False)])
def test_what_begins_long_after_it_was_handed_on_is_linked(recording: Recording, age: float, joins: bool):
    inside(carrier_of(ELSEWHERE, age=age), work)
    span = recording.read().call("work")
    assert (span.attributes[names.RUN_ID] == ELSEWHERE, linked(span)) == (joins, [] if joins else [ELSEWHERE])


def test_work_of_two_runs_stays_in_the_one_that_it_is_called_in_and_is_linked(recording: Recording):
    with playhead.run("worker") as run:
        inside(carrier_of(ELSEWHERE), work)
        work()
    seen = recording.read()
    assert {span.attributes[names.RUN_ID] for span in seen.spans} == {run.id}
    assert [linked(span) for span in seen.calls("work")] == [[ELSEWHERE], []]
    assert [linked(span) for span in seen.calls("tool")] == [[], []]


def test_its_own_context_links_a_run_to_nothing(recording: Recording, provider: TracerProvider):
    with playhead.run("agent"):
        carrier: dict[str, str] = {}
        inject(carrier)
        inside(carrier, work)
        with provider.get_tracer("x").start_as_current_span("between"):
            work()
    assert [linked(span) for span in recording.read().spans] == [[]] * 5


def test_a_batch_of_messages_of_several_runs_is_linked_to_each(recording: Recording, provider: TracerProvider):
    contexts = [
        trace.get_current_span(extract(carrier_of(run), Context())).get_span_context()
        for run in (ELSEWHERE, OTHER, ELSEWHERE)
    ]
    links = [Link(context) for context in [*contexts, trace.INVALID_SPAN_CONTEXT]]
    with provider.get_tracer("kafka").start_as_current_span("process batch", links=links):
        work()
    root = recording.read().call("work")
    assert (linked(root), root.attributes[names.RUN_ROOT]) == ([ELSEWHERE, OTHER], True)


def test_a_run_that_waits_to_go_on_is_not_given_to_a_context_from_outside(recording: Recording):
    with playhead.run("agent") as run:
        tool(1)
    assert run.id is not None
    with playhead.resume(run.id):

        def again() -> None:
            with playhead.run("agent"):
                tool(1)

        inside(carrier_of(ELSEWHERE), again)
    assert set(run_ids(recording.read())) == {run.id}


def test_a_run_that_only_gives_its_results_again_is_handed_to_nobody(recording: Recording):
    with playhead.run("agent") as run:
        tool(1)
    assert run.id is not None
    carrier: dict[str, str] = {}
    with playhead.resume(run.id), playhead.run("agent"):
        tool(1)
        inject(carrier)
    assert "playhead" not in carrier.get("tracestate", "")

"""Living with OpenTelemetry: samplers, suppression, and a tracer provider that the program has already."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased, Sampler, TraceIdRatioBased
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, StatusCode, TraceFlags

import playhead
from playhead import observe
from playhead.model import names
from tests.support.journal_reader import Recording

pytestmark = pytest.mark.usefixtures("quiet")


@observe(kind="tool")
def tool(x: int) -> int:
    if x < 0:
        raise ValueError("negative")
    return x


@observe
def agent(x: int) -> int:
    playhead.annotate(decision=x)
    return tool(x) + tool(x + 1)


def test_a_program_that_is_switched_off_records_nothing(recording: Recording, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    recording.configure()
    assert agent(1) == 3
    assert playhead.current_run_id() is None
    with playhead.run("r") as run:
        assert run.id is None
    assert not recording.folder.exists()


def test_a_sampler_that_drops_drops_whole_runs(recording: Recording, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    recording.configure()
    assert agent(1) == 3
    with playhead.run("r") as run:
        run.state["x"] = 1
        run.output(1)
        assert (run.id, playhead.current_run_id()) == (None, None)
    seen = recording.read()
    assert (seen.spans, seen.announced, seen.logs, seen.contents) == ([], [], [], {})


def test_a_ratio_keeps_whole_runs_or_nothing_of_them(recording: Recording, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
    recording.configure()
    for _ in range(60):
        agent(1)
    spans = recording.read().spans
    runs: dict[str, int] = {}
    for span in spans:
        runs[span.attributes[names.RUN_ID]] = runs.get(span.attributes[names.RUN_ID], 0) + 1
    assert 5 < len(runs) < 55
    assert set(runs.values()) == {3}


def test_record_always_overrides_the_sampler(recording: Recording, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    recording.configure(record="always")
    agent(1)
    assert len(recording.read().spans) == 3


def test_suppressed_calls_are_not_recorded(recording: Recording):
    with suppress_instrumentation():
        agent(1)
    with playhead.run("r"):
        with suppress_instrumentation():
            agent(1)
        tool(1)
    assert [span.name for span in recording.read().spans] == ["execute_tool tool", "invoke_agent r"]


def test_without_content_calls_are_recorded_and_payloads_are_not(recording: Recording):
    recording.configure(capture_content=False)
    with pytest.raises(ValueError, match="negative"):
        agent(-1)
    seen = recording.read()
    assert len(seen.spans) == 2
    assert (seen.contents, seen.call("tool").status_message) == ({}, "")
    assert seen.call("tool").attributes[names.ERROR_TYPE] == "ValueError"


# --- a provider of the program's own ----------------------------------------------------------------------------------

UseProvider = Callable[..., InMemorySpanExporter]


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[UseProvider]:
    """Gives the program a tracer provider with this sampler; answers with what it exports."""
    providers: list[TracerProvider] = []

    def use(sampler: Sampler | None = None) -> InMemorySpanExporter:
        exporter = InMemorySpanExporter()
        made = TracerProvider(sampler=sampler, shutdown_on_exit=False)
        made.add_span_processor(SimpleSpanProcessor(exporter))
        monkeypatch.setattr(trace, "_TRACER_PROVIDER", made)
        providers.append(made)
        return exporter

    yield use
    for made in providers:
        made.shutdown()


def test_each_call_is_a_span_there_too_with_the_same_ids_and_attributes(recording: Recording, provider: UseProvider):
    exporter = provider()
    mine = trace.get_tracer_provider()
    agent(1)
    with pytest.raises(ValueError, match="negative"):
        tool(-1)
    theirs: Any = {span.context.span_id: span for span in exporter.get_finished_spans() if span.context}
    seen = recording.read()
    assert trace.get_tracer_provider() is mine
    assert len(seen.spans) == len(theirs) == 4
    for span in seen.spans:
        twin = theirs[int(span.span_id, 16)]
        assert twin.context.trace_id == int(span.trace_id, 16)
        assert twin.name == span.name
        assert (twin.parent.span_id if twin.parent else None) == (int(span.parent_id, 16) if span.parent_id else None)
        expected = {k: tuple(v) if isinstance(v, list) else v for k, v in span.attributes.items()}
        assert dict(twin.attributes) == expected
        assert (twin.start_time, twin.end_time) == (span.start_ns, span.end_ns)
        assert (twin.status.status_code is StatusCode.ERROR) == (span.status == 2)
        assert (twin.status.description or "") == span.status_message


@pytest.mark.parametrize(
    ("options", "pages"),
    [
        ({"public_url": "https://pages.example/"}, "https://pages.example"),
        ({"endpoint": "http://playhead:4318/v1/traces"}, "http://playhead:4318"),
        ({"endpoint": "http://me:secret@playhead:4318"}, "http://playhead:4318"),
        ({"endpoint": "http://playhead:4318", "public_url": "https://pages.example"}, "https://pages.example"),
        ({"endpoint": "none", "public_url": "https://pages.example"}, "https://pages.example"),
        ({}, None),
        ({"endpoint": "none"}, None),
    ],
    ids=str,
)
def test_each_call_there_links_to_its_moment_of_the_run(
    recording: Recording, provider: UseProvider, options: dict[str, Any], pages: str | None
):
    exporter = provider()
    recording.configure(**options)
    agent(1)
    assert len(seen := recording.read().spans) == 3
    assert not any(names.RUN_URL in span.attributes for span in seen)
    links: dict[str, Any] = {}
    for span in exporter.get_finished_spans():
        assert span.context is not None
        links[f"{span.context.span_id:016x}"] = (span.attributes or {}).get(names.RUN_URL)
    assert links == {
        span.span_id: pages and f"{pages}/runs/{span.attributes[names.RUN_ID]}?at={span.span_id}" for span in seen
    }


def test_the_address_of_another_collector_is_no_link(
    recording: Recording, provider: UseProvider, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://other:4318")
    exporter = provider()
    recording.configure()
    agent(1)
    assert all(names.RUN_URL not in (span.attributes or {}) for span in exporter.get_finished_spans())


def test_what_a_program_adds_to_the_current_span_is_there_too(recording: Recording, provider: UseProvider):
    exporter = provider()
    link = SpanContext(1, 2, is_remote=True)
    with playhead.run("r"):
        span = trace.get_current_span()
        span.set_attribute("mine", 1)
        span.add_event("seen", {"n": 1}, 5)
        span.add_link(link)
        span.update_name("renamed")
    [twin] = exporter.get_finished_spans()
    assert twin.name == "renamed"
    assert (twin.attributes or {})["mine"] == 1
    assert [(event.name, event.timestamp) for event in twin.events] == [("seen", 5)]
    assert [found.context for found in twin.links] == [link]


def test_spans_of_the_program_around_and_inside_make_one_tree(recording: Recording, provider: UseProvider):
    exporter = provider()
    tracer = trace.get_tracer("web")
    with tracer.start_as_current_span("GET /", kind=SpanKind.SERVER) as request, playhead.run("r"):
        query = tracer.start_span("SELECT")
        query.end()
    root = recording.read().call("r")
    assert root.parent_id == f"{request.get_span_context().span_id:016x}"
    assert root.trace_id == f"{request.get_span_context().trace_id:032x}"
    by_name: Any = {span.name: span for span in exporter.get_finished_spans()}
    assert by_name["SELECT"].parent.span_id == int(root.span_id, 16)
    assert query.get_span_context().trace_id == request.get_span_context().trace_id


def test_its_sampler_decides_about_whole_runs(recording: Recording, provider: UseProvider):
    exporter = provider(TraceIdRatioBased(0.5))
    for _ in range(60):
        agent(1)
    spans = recording.read().spans
    assert 0 < len(spans) < 180
    assert len(spans) % 3 == 0
    assert {f"{span.context.span_id:016x}" for span in exporter.get_finished_spans() if span.context} == {
        span.span_id for span in spans
    }


def test_a_request_that_was_not_sampled_upstream_is_not_recorded(recording: Recording, provider: UseProvider):
    provider()
    upstream = NonRecordingSpan(SpanContext(1, 2, is_remote=True, trace_flags=TraceFlags.get_default()))
    with trace.use_span(upstream):
        agent(1)
    assert recording.read().spans == []


def test_the_same_holds_without_a_provider(recording: Recording):
    upstream = NonRecordingSpan(SpanContext(1, 2, is_remote=True, trace_flags=TraceFlags.get_default()))
    with trace.use_span(upstream):
        agent(1)
    assert recording.read().spans == []


def test_a_dropped_run_is_dropped_by_other_instrumentation_inside_it_too(recording: Recording, provider: UseProvider):
    exporter = provider(ParentBased(ALWAYS_OFF))
    with playhead.run("r"), trace.get_tracer("db").start_as_current_span("SELECT"):
        pass
    assert exporter.get_finished_spans() == ()


def test_record_always_records_here_and_exports_nothing_there(recording: Recording, provider: UseProvider):
    exporter = provider(ParentBased(ALWAYS_OFF))
    recording.configure(record="always")
    agent(1)
    assert len(recording.read().spans) == 3
    assert exporter.get_finished_spans() == ()


def test_a_provider_that_is_switched_off_costs_nothing(recording: Recording, provider: UseProvider):
    provider()
    trace.get_tracer_provider().shutdown()  # pyright: ignore[reportAttributeAccessIssue]
    assert agent(1) == 3
    spans = recording.read().spans
    assert len({span.span_id for span in spans}) == 3


def test_the_programs_provider_says_what_the_program_is_called(recording: Recording, monkeypatch: pytest.MonkeyPatch):
    from opentelemetry.sdk.resources import Resource

    from playhead.journal.frame import RESOURCE, frames_in
    from playhead.journal.lane import LaneReader, Position, lanes

    mine = TracerProvider(resource=Resource({"service.name": "shop"}), shutdown_on_exit=False)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", mine)
    recording.configure()
    agent(1)
    [lane] = lanes(recording.folder)
    data, _ = LaneReader(lane).read(Position(1, 0), 100_000)
    [resource] = [payload for kind, payload, _ in frames_in(data) if kind == RESOURCE]
    assert b'"service.name":"shop"' in resource


def test_a_provider_is_still_used_after_a_recursion_that_had_no_room_to_ask_for_it(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, provider: UseProvider
):
    def no_room() -> None:
        raise RecursionError

    exporter = provider()
    with monkeypatch.context() as full:
        full.setattr(trace, "get_tracer_provider", no_room)
        agent(1)
    assert not exporter.get_finished_spans()
    agent(1)
    assert len(exporter.get_finished_spans()) == 3

"""A program with a tracer provider of its own sees, of a run that goes on, what is news."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

import playhead
from playhead import observe


def provide(monkeypatch: pytest.MonkeyPatch, provider: TracerProvider) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return exporter


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    return provide(monkeypatch, TracerProvider(shutdown_on_exit=False))  # pyright: ignore[reportReturnType]


@observe(kind="tool")
def work(number: int) -> int:
    return number


@observe
def agent(*numbers: int) -> list[int]:
    with observe("inside"):
        return [work(number) for number in numbers]


def run(*numbers: int, is_cut_off: bool = False) -> Any:
    with contextlib.suppress(ConnectionError), playhead.run("p") as run:
        agent(*numbers)
        if is_cut_off:
            raise ConnectionError
    return run.id


def test_recorded_calls_have_no_second_span_and_new_ones_stand_where_they_are(exporter: InMemorySpanExporter):
    run_id = run(1, 2)
    assert len(exporter.get_finished_spans()) == 5
    exporter.clear()
    with playhead.resume(run_id):
        run(1, 2)
    assert exporter.get_finished_spans() == ()
    run_id = run(1, 2, is_cut_off=True)
    exporter.clear()
    with playhead.resume(run_id, on_divergence="live"):
        run(1, 2, 3)
    spans: dict[str, Any] = {span.name: span for span in exporter.get_finished_spans()}
    assert set(spans) == {"invoke_agent p", "agent", "inside", "execute_tool work"}
    for child, parent in (("agent", "invoke_agent p"), ("inside", "agent"), ("execute_tool work", "inside")):
        found: Any = spans[child].parent
        assert found.span_id == spans[parent].context.span_id
        assert spans[child].context.trace_id == spans[parent].context.trace_id
    assert spans["invoke_agent p"].parent is None


def test_a_run_that_goes_on_is_recorded_whatever_the_sampler_says(monkeypatch: pytest.MonkeyPatch):
    run_id = run(1, is_cut_off=True)
    provide(monkeypatch, TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False))
    with playhead.resume(run_id, on_divergence="live") as resumed:
        run(1, 2)
    assert (resumed.report.answered, resumed.report.live) == (1, 1)

"""A model call is counted once, whatever wraps the client: a function of kind llm, or another instrumentation."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import playhead
from playhead import observe
from playhead.model import event as ev
from playhead.model import names
from playhead.model.span import Span
from playhead.testing import MockModelServer, pytest_plugin, text
from tests.support.journal_reader import Recording, start_recording
from tests.support.projected import projected

server = pytest_plugin.mock_model_server
HELLO: list[Any] = [{"role": "user", "content": "hello"}]


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("openai")
        yield recording
        playhead.uninstrument("openai")


@pytest.fixture
def client(server: MockModelServer) -> Iterator[openai.OpenAI]:
    server.otherwise(text("fine"))
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        yield client


def told(recording: Recording, others: tuple[Span, ...] = ()) -> Any:
    seen = recording.read()
    [run] = {str(span.attributes[names.RUN_ID]) for span in seen.spans}
    seen.spans += others
    return projected(seen, run)


def test_a_function_of_kind_llm_around_a_client_is_a_step_around_one_call(recording: Recording, client: openai.OpenAI):
    @observe(kind="llm")
    def ask(question: str) -> str:
        answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": question}])
        return answer.choices[0].message.content or ""

    @observe
    def agent() -> str:
        return ask("hello")

    agent()
    run = told(recording)
    assert [event.kind for event in run.events if "llm" in event.kind or "step" in event.kind] == [
        "step_started", "llm_called", "llm_completed", "step_completed",
    ]  # fmt: skip
    [call] = [event for event in run.events if isinstance(event, ev.LlmCalled)]
    [answer] = [event for event in run.events if isinstance(event, ev.LlmCompleted)]
    assert (call.model, call.provider, answer.response is not None) == ("m", "openai", True)
    assert (run.row.llm_calls, run.row.input_tokens) == (1, answer.usage.input_tokens)
    assert next(event.name for event in run.events if isinstance(event, ev.StepStarted)) == "ask"


async def test_an_asynchronous_generator_of_kind_llm_around_a_stream_is_a_step(
    recording: Recording, server: MockModelServer
):
    server.otherwise(text("fine, thank you"))

    @observe(kind="llm")
    async def ask() -> AsyncIterator[str]:
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key="none") as client:
            async for chunk in await client.chat.completions.create(model="m", messages=HELLO, stream=True):
                if chunk.choices:
                    yield chunk.choices[0].delta.content or ""

    assert "".join([piece async for piece in ask()]) == "fine, thank you"
    row = told(recording).row
    assert (row.llm_calls, row.status) == (1, "completed")


def test_a_function_of_kind_llm_is_answered_whole_and_a_fork_changes_the_call_inside(
    recording: Recording, client: openai.OpenAI, server: MockModelServer
):
    """Compared is what the function was given; the call in it is made, or answered, when the function runs."""
    made: list[str] = []

    @observe(kind="llm")
    def ask(question: str) -> str:
        made.append(question)
        answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": question}])
        return answer.choices[0].message.content or ""

    @observe
    def agent() -> str:
        return ask("one") + ", " + ask("two")

    assert agent() == "fine, fine"
    run = told(recording)
    seqs = [event.seq for event in run.events if isinstance(event, ev.LlmCalled)]
    steps = [event.seq for event in run.events if isinstance(event, ev.StepStarted)]
    del made[:]
    run_id = run.events[0].run
    with playhead.resume(run_id):
        assert agent() == "fine, fine"
    assert (made, len(server.requests)) == ([], 2)
    orders = [span.attributes[names.CALL_ORDER] for span in recording.read().spans]
    assert (len(seqs), len(steps), len(orders)) == (2, 2, 5)


# --- another instrumentation in the same process ----------------------------------------------------------------------


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """A provider of the program's own, all of whose spans go to the collector, too."""
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield exporter
    provider.shutdown()


def as_received(span: ReadableSpan) -> Span:
    context, parent = span.context, span.parent
    assert context is not None
    return Span(
        f"{context.trace_id:032x}", f"{context.span_id:016x}", f"{parent.span_id:016x}" if parent else None, span.name,
        span.start_time or 0, span.end_time, dict(span.attributes or {}),
        scope=span.instrumentation_scope.name if span.instrumentation_scope else "",
    )  # fmt: skip


@pytest.mark.parametrize("is_outer", [True, False])
def test_a_call_that_another_instrumentation_tells_too_is_counted_once(
    recording: Recording, client: openai.OpenAI, exported: InMemorySpanExporter, is_outer: bool
):
    """Theirs around ours, as when it was switched on later, and beside ours, as theirs of a stream is."""
    tracer = trace.get_tracer("opentelemetry.instrumentation.openai_v2")

    @observe
    def agent() -> None:
        said = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.provider.name": "openai"}
        theirs = tracer.start_span("chat m", attributes=said)
        with trace.use_span(theirs if is_outer else trace.get_current_span()):
            answer = client.chat.completions.create(model="m", messages=HELLO)
        with tracer.start_as_current_span("not about models"):
            tracer.start_span("nor this").end()
        assert answer.usage is not None
        usage = {names.INPUT_TOKENS: answer.usage.prompt_tokens, names.OUTPUT_TOKENS: answer.usage.completion_tokens}
        theirs.set_attributes({**usage, names.RESPONSE_ID: answer.id})
        theirs.end()

    agent()
    received = tuple(map(as_received, exported.get_finished_spans()))
    assert len({span.attributes[names.RUN_ID] for span in received}) == 1, "all are of the run"
    alone, together = told(recording).row, told(recording, received).row
    assert (together.llm_calls, together.input_tokens) == (1, alone.input_tokens)
    assert together.agents == ("agent",)

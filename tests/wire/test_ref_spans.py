"""Spans of other instrumentations on their way to the program's own exporters: content leaves them, whatever stands
before and behind our exporter and processor."""

import io
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    ConsoleSpanExporter,
    SimpleSpanProcessor,
    SpanExporter,
)
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import Link, SpanContext, Status, StatusCode

import playhead
from playhead import RefLogExporter, RefSpanExporter, RefSpanProcessor
from playhead.model import names
from playhead.model.ref import ContentRef
from tests.integration.export.fake_collector import FakeCollector, attributes_of
from tests.support.journal_reader import Recording, start_recording
from tests.support.projected import projected

QUESTION = [{"role": "user", "parts": [{"type": "text", "content": "where is the parcel of Jane Doe?"}]}]
ANSWER = [{"role": "assistant", "parts": [{"type": "text", "content": "at 5 Elm Street"}], "finish_reason": "stop"}]
SECRETS = ("Jane Doe", "Elm Street")
THEIRS = "opentelemetry.instrumentation.openai.v1"


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    yield from start_recording(tmp_path / "journal", monkeypatch)


@pytest.fixture
def provider() -> Iterator[TracerProvider]:
    provider = TracerProvider(shutdown_on_exit=False)
    yield provider
    provider.shutdown()


def chat(provider: TracerProvider, **more: Any) -> None:
    """A model call as another instrumentation writes it, inside an agent and a web request, beside a query."""
    tracer = provider.get_tracer(THEIRS)
    with (
        provider.get_tracer("web").start_as_current_span("GET /ask"),
        tracer.start_as_current_span("invoke_agent shop", attributes={names.OPERATION: "invoke_agent"}),
    ):
        with tracer.start_as_current_span("chat gpt", links=[Link(SpanContext(1, 2, is_remote=True))]) as span:
            span.set_attributes({
                names.OPERATION: "chat", names.SYSTEM: "openai", names.REQUEST_MODEL: "gpt", names.INPUT_TOKENS: 12,
                names.INPUT_MESSAGES: json.dumps(QUESTION), names.OUTPUT_MESSAGES: json.dumps(ANSWER),
                "tags": ("a", "b"), **more,
            })  # fmt: skip
            span.add_event("gen_ai.client.inference.operation.details", {names.INPUT_MESSAGES: json.dumps(QUESTION)})
            span.record_exception(ValueError("no parcel"))
            span.set_status(Status(StatusCode.ERROR, "no parcel"))
        provider.get_tracer("sqlalchemy").start_span("SELECT 1").end()


def said(spans: Sequence[ReadableSpan]) -> str:
    return "".join(span.to_json() for span in spans)


def named(spans: Sequence[ReadableSpan], name: str) -> ReadableSpan:
    [found] = [span for span in spans if span.name == name]
    return found


Processor = Callable[[SpanExporter], Any]


@pytest.mark.parametrize("ours", [SimpleSpanProcessor, BatchSpanProcessor], ids=["ours simple", "ours batch"])
@pytest.mark.parametrize("theirs", [SimpleSpanProcessor, BatchSpanProcessor], ids=["theirs simple", "theirs batch"])
def test_an_exporter_gets_refs_and_those_before_and_behind_it_get_what_they_always_got(
    provider: TracerProvider, recording: Recording, ours: Processor, theirs: Processor
):
    before, with_refs, behind = InMemorySpanExporter(), InMemorySpanExporter(), InMemorySpanExporter()
    for processor in (theirs(before), ours(RefSpanExporter(with_refs)), theirs(behind)):
        provider.add_span_processor(processor)
    chat(provider)
    provider.force_flush()

    spans = with_refs.get_finished_spans()
    for secret in SECRETS:
        assert secret not in said(spans)
        assert secret in said(before.get_finished_spans())
        assert secret in said(behind.get_finished_spans())
    span, original = named(spans, "chat gpt"), named(before.get_finished_spans(), "chat gpt")
    assert span.attributes is not None
    assert (span.context, span.parent, span.start_time) == (original.context, original.parent, original.start_time)
    assert (span.end_time, span.kind, span.resource) == (original.end_time, original.kind, original.resource)
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "no parcel")
    assert (span.attributes[names.SYSTEM], span.attributes["tags"]) == ("openai", ("a", "b"))
    assert [event.name for event in span.events] == ["gen_ai.client.inference.operation.details", "exception"]
    assert [link.context.span_id for link in span.links] == [2]
    seen = recording.read()
    assert seen.messages(str(span.attributes[names.INPUT_MESSAGES_REF])) == QUESTION
    assert seen.spans == [], "an exporter records content, and no spans"
    query, same = named(spans, "SELECT 1"), named(behind.get_finished_spans(), "SELECT 1")
    assert query.to_json() == same.to_json()


def test_over_otlp_nothing_of_the_content_is_sent(provider: TracerProvider):
    with FakeCollector(plain=True) as backend:
        exporter = OTLPSpanExporter(f"{backend.url}/v1/traces")
        provider.add_span_processor(BatchSpanProcessor(RefSpanExporter(exporter)))
        chat(provider)
        provider.shutdown()
    sent = {span.name: attributes_of(span) for span in backend.spans}
    assert len(sent) == 4
    assert names.INPUT_MESSAGES_REF in sent["chat gpt"]
    for request in backend.requests:
        assert not any(secret.encode() in request.body for secret in SECRETS)


def test_a_console_shows_refs(provider: TracerProvider):
    console = io.StringIO()
    provider.add_span_processor(SimpleSpanProcessor(RefSpanExporter(ConsoleSpanExporter(out=console))))
    chat(provider)
    shown = console.getvalue()
    assert "messages_ref" in shown
    assert not any(secret in shown for secret in SECRETS)


def test_spans_of_others_are_recorded_with_those_around_them_and_make_a_run(
    provider: TracerProvider, recording: Recording
):
    """Beside another exporter, and twice: a second processor brings nothing new."""
    inline, with_refs = InMemorySpanExporter(), InMemorySpanExporter()
    provider.add_span_processor(RefSpanProcessor())
    provider.add_span_processor(SimpleSpanProcessor(inline))
    provider.add_span_processor(RefSpanProcessor(SimpleSpanProcessor(with_refs), record=False))
    chat(provider)
    seen = recording.read()
    assert sorted(span.name for span in seen.spans) == ["GET /ask", "chat gpt", "invoke_agent shop"]
    [trace_id] = {span.trace_id for span in seen.spans}
    assert {span.scope for span in seen.spans} == {THEIRS, "web"}
    assert not any(secret in said(with_refs.get_finished_spans()) for secret in SECRETS)
    assert len(with_refs.get_finished_spans()) == len(inline.get_finished_spans()) == 4
    for span in seen.spans:
        span.attributes.setdefault(names.RUN_ID, trace_id)
    row = projected(seen, trace_id).row
    assert (row.llm_calls, row.errors, row.agents) == (1, 1, ("shop",))


def test_spans_of_a_provider_that_is_not_the_programs_global_one_belong_to_the_run_around_them(
    provider: TracerProvider, recording: Recording
):
    exporter = InMemorySpanExporter()
    provider.add_span_processor(RefSpanProcessor(SimpleSpanProcessor(exporter)))
    with playhead.run("support") as run:
        chat(provider)
    others = [span for span in recording.read().spans if span.scope in {THEIRS, "web"}]
    assert sorted(span.name for span in others) == ["GET /ask", "chat gpt", "invoke_agent shop"]
    assert {span.attributes.get(names.RUN_ID) for span in others} == {run.id}
    assert {str((span.attributes or {}).get(names.RUN_ID)) for span in exporter.get_finished_spans()} == {run.id}


@pytest.mark.parametrize("is_global", [False, True])
def test_the_outermost_span_around_calls_without_an_agent_is_recorded_once(
    provider: TracerProvider, recording: Recording, monkeypatch: pytest.MonkeyPatch, is_global: bool
):
    from opentelemetry import trace

    if is_global:
        monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    provider.add_span_processor(RefSpanProcessor())

    @playhead.observe(kind="tool")
    def look_up(order: str) -> str:
        return order

    with provider.get_tracer("web").start_as_current_span("GET /ask") as outermost:
        look_up("A1")
    trace_id = f"{outermost.get_span_context().trace_id:032x}"
    spans = recording.read().spans
    assert sorted(span.name for span in spans) == ["GET /ask", "execute_tool look_up"]
    assert {span.attributes.get(names.RUN_ID) for span in spans} == {trace_id}


def test_all_spans_are_recorded_where_that_is_asked_for(provider: TracerProvider, recording: Recording):
    provider.add_span_processor(RefSpanProcessor(all_spans=True))
    chat(provider)
    assert "SELECT 1" in {span.name for span in recording.read().spans}


def test_nothing_is_recorded_after_the_provider_was_shut_down(provider: TracerProvider, recording: Recording):
    """Libraries keep tracers, and tracers go on handing spans to processors."""
    provider.add_span_processor(RefSpanProcessor())
    tracer = provider.get_tracer(THEIRS)
    provider.shutdown()
    tracer.start_span("chat gpt", attributes={names.OPERATION: "chat"}).end()
    assert recording.read().spans == []


def test_spans_that_are_not_sampled_are_neither_recorded_nor_exported(recording: Recording):
    provider, exporter = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False), InMemorySpanExporter()
    provider.add_span_processor(RefSpanProcessor())
    provider.add_span_processor(SimpleSpanProcessor(RefSpanExporter(exporter)))
    chat(provider)
    provider.shutdown()
    assert recording.read().spans == []
    assert exporter.get_finished_spans() == ()
    assert recording.read().contents == {}


def test_our_own_spans_pass_as_they_are(
    provider: TracerProvider, recording: Recording, monkeypatch: pytest.MonkeyPatch
):
    from opentelemetry import trace

    exporter = InMemorySpanExporter()
    provider.add_span_processor(RefSpanProcessor())
    provider.add_span_processor(SimpleSpanProcessor(RefSpanExporter(exporter)))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)

    @playhead.observe(kind="tool")
    def look_up(order: str) -> str:
        return order

    look_up("A1")
    [span] = exporter.get_finished_spans()
    assert names.TOOL_ARGUMENTS_REF in (span.attributes or {})
    assert len(recording.read().spans) == 1


def test_without_content_there_is_neither_text_nor_ref(provider: TracerProvider, recording: Recording):
    recording.configure(capture_content=False)
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(RefSpanExporter(exporter)))
    provider.add_span_processor(RefSpanProcessor())
    chat(provider)
    spans = exporter.get_finished_spans()
    assert "_ref" not in said(spans)
    assert not any(secret in said(spans) for secret in (*SECRETS, "no parcel"))
    seen = recording.read()
    assert "_ref" not in repr([span.attributes for span in seen.spans])
    assert (len(seen.spans), seen.contents, seen.threads) == (3, {}, [])


def test_redaction_hooks_apply_to_what_others_recorded(provider: TracerProvider, recording: Recording):
    def hide(payload: Any) -> Any:
        return json.loads(json.dumps(payload).replace("Jane Doe", "...").replace("parcel", "item"))

    recording.configure(redact=hide)
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(RefSpanExporter(exporter)))
    chat(provider)
    span = named(exporter.get_finished_spans(), "chat gpt")
    seen = recording.read()
    [message] = seen.messages(str((span.attributes or {})[names.INPUT_MESSAGES_REF]))
    assert message["parts"][0]["content"] == "where is the item of ...?"
    assert "parcel" not in said([span])
    assert not any(b"Jane Doe" in content.data for content in seen.contents.values())


def test_reasoning_is_left_out_where_the_setting_says_so(provider: TracerProvider, recording: Recording):
    recording.configure(capture_reasoning=False)
    thought = [{"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}, *ANSWER[0]["parts"]]}]
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(RefSpanExporter(exporter)))
    chat(provider, **{names.INPUT_MESSAGES: json.dumps(QUESTION + thought), names.OUTPUT_MESSAGES: json.dumps(thought)})
    attributes = named(exporter.get_finished_spans(), "chat gpt").attributes or {}
    assert names.REASONING_REF not in attributes
    seen = recording.read()
    assert len(seen.messages(str(attributes[names.INPUT_MESSAGES_REF]))) == 2
    assert not any(b"hm" in content.data for content in seen.contents.values())


def test_a_huge_span_keeps_within_the_limit_of_a_content(provider: TracerProvider, recording: Recording):
    recording.configure(max_content_bytes=100_000)
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(RefSpanExporter(exporter)))
    huge = [{"role": "user", "parts": [{"type": "text", "content": "x" * 5_000_000}]}]
    chat(provider, **{names.INPUT_MESSAGES: json.dumps(huge), "note": "y" * 3_000_000})
    span = named(exporter.get_finished_spans(), "chat gpt")
    assert len(span.to_json()) < 10_000
    assert max(len(content.data) for content in recording.read().contents.values()) <= 100_000


def test_what_cannot_be_lifted_is_sent_without_what_may_be_content(
    provider: TracerProvider, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    from playhead.interop import readable_spans

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(readable_spans, "lift", broken)
    exporter, behind = InMemorySpanExporter(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(RefSpanExporter(exporter)))
    provider.add_span_processor(RefSpanProcessor(SimpleSpanProcessor(behind)))
    chat(provider)
    for spans in (exporter.get_finished_spans(), behind.get_finished_spans()):
        span = named(spans, "chat gpt")
        assert (span.attributes or {})[names.INPUT_TOKENS] == 12
        assert (span.attributes or {})["playhead.lift.failed"] == "RuntimeError"
        assert not any(secret in said(spans) for secret in (*SECRETS, "no parcel"))
    assert "your program is unaffected" in caplog.text


def test_nothing_raises_and_nothing_leaks_while_recording_is_switched_off(
    provider: TracerProvider, recording: Recording
):
    recording.configure(disabled=True)
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(RefSpanExporter(exporter)))
    provider.add_span_processor(RefSpanProcessor())
    chat(provider)
    assert len(exporter.get_finished_spans()) == 4
    assert not any(secret in said(exporter.get_finished_spans()) for secret in SECRETS)
    assert recording.read().contents == {}


def test_a_history_that_grows_is_recorded_once(provider: TracerProvider, recording: Recording):
    """And equal content has one ref, whoever recorded it: no memory is kept per span."""
    from playhead.interop import readable_spans

    provider.add_span_processor(RefSpanProcessor())
    history: list[Any] = []
    for turn in range(30):
        history += [{"role": "user", "parts": [{"type": "text", "content": f"turn {turn} " + "x" * 1000}]}]
        chat(provider, **{names.INPUT_MESSAGES: json.dumps(history)})
    seen = recording.read()
    large = [content for content in seen.contents.values() if len(content.data) > 1000 and b"turn" in content.data]
    assert len(large) == 30
    assert len(readable_spans._lifted) < 5


def test_log_events_get_refs_and_log_lines_stay(recording: Recording):
    provider, exporter = LoggerProvider(shutdown_on_exit=False), InMemoryLogRecordExporter()
    provider.add_log_record_processor(SimpleLogRecordProcessor(RefLogExporter(exporter)))
    logger = provider.get_logger("opentelemetry.instrumentation.genai.openai")
    details = {names.OPERATION: "chat", names.INPUT_MESSAGES: QUESTION}
    logger.emit(LogRecord(event_name="gen_ai.client.inference.operation.details", attributes=details))
    logger.emit(LogRecord(event_name="gen_ai.user.message", body={"content": "Jane Doe?", "role": "user"}))
    logger.emit(LogRecord(body="a line of the program", attributes={"code.line.number": 3}))
    provider.shutdown()
    event, older, line = (log.log_record for log in exporter.get_finished_logs())
    assert "Jane Doe" not in repr((event, older))
    ref = (event.attributes or {})[names.INPUT_MESSAGES_REF]
    assert recording.read().messages(str(ref)) == QUESTION
    assert details[names.INPUT_MESSAGES] is QUESTION
    assert older.body is None
    assert ContentRef.parse(str((older.attributes or {})[names.MESSAGE_REF])).plain in recording.read().contents
    assert (line.body, line.attributes) == ("a line of the program", {"code.line.number": 3})


def test_what_is_no_exporter_is_refused_with_an_example():
    with pytest.raises(TypeError, match=r"RefSpanExporter\(OTLPSpanExporter\(\)\)"):
        RefSpanExporter(InMemorySpanExporter)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="RefSpanExporter"):
        RefSpanProcessor(InMemorySpanExporter())  # pyright: ignore[reportArgumentType]

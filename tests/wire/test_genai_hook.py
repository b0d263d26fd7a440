"""OpenTelemetry's own GenAI instrumentations, and OpenInference's uploader, record through our hooks."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anthropic
import openai
import pytest
from openinference.instrumentation import _blob_upload
from opentelemetry.instrumentation.genai.anthropic import AnthropicInstrumentor
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.util.genai.completion_hook import load_completion_hook

from playhead import RefSpanProcessor
from playhead.interop.completion_hook import completion_hook
from playhead.model import names
from playhead.model.ref import ContentRef
from playhead.testing import MockModelServer, pytest_plugin, text, tool_call
from tests.support.journal_reader import Recording, read_journal, start_recording
from tests.support.projected import projected

server = pytest_plugin.mock_model_server
OFFICIAL = "opentelemetry.instrumentation.genai.openai"
TOOL: Any = {
    "type": "function",
    "function": {"name": "look_up", "description": "an order", "parameters": {"type": "object", "properties": {}}},
}
ASKED: list[Any] = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "where is A1?"}]


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK", "playhead")
    yield from start_recording(tmp_path / "journal", monkeypatch)


@pytest.fixture
def official() -> Iterator[OpenAIInstrumentor]:
    instrumentor = OpenAIInstrumentor()
    yield instrumentor
    instrumentor.uninstrument()


def ask(server: MockModelServer, **more: Any) -> Any:
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        return client.chat.completions.create(model="m", messages=ASKED, **more)


def test_the_hook_is_found_by_its_name_and_is_one_for_all():
    assert type(load_completion_hook()).__name__ == "_SafeCompletionHook"
    assert completion_hook() is completion_hook()


def test_content_of_an_official_instrumentation_is_recorded_and_its_spans_and_events_get_refs(
    recording: Recording, server: MockModelServer, official: OpenAIInstrumentor, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT", "true")
    provider, exporter = TracerProvider(shutdown_on_exit=False), InMemorySpanExporter()
    provider.add_span_processor(RefSpanProcessor())
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    logs, records = LoggerProvider(shutdown_on_exit=False), InMemoryLogRecordExporter()
    logs.add_log_record_processor(SimpleLogRecordProcessor(records))
    official.instrument(tracer_provider=provider, logger_provider=logs)
    server.otherwise(tool_call("look_up", {"order": "A1"}))
    ask(server, tools=[TOOL])

    [span] = exporter.get_finished_spans()
    attributes = dict(span.attributes or {})
    assert "A1" not in span.to_json(), "only refs are on the span"
    seen = recording.read()
    asked = seen.messages(str(attributes[names.INPUT_MESSAGES_REF]))
    assert [message["role"] for message in asked] == ["system", "user"]
    [answer] = seen.messages(str(attributes[names.OUTPUT_MESSAGES_REF]))
    [part] = answer["parts"]
    assert (part["type"], part["name"], part["arguments"]) == ("tool_call", "look_up", {"order": "A1"})
    [recorded] = seen.spans
    assert seen.value(recorded, names.TOOL_DEFINITIONS_REF)[0]["name"] == "look_up"
    [event] = records.get_finished_logs()
    assert (event.log_record.attributes or {})[names.INPUT_MESSAGES_REF] == attributes[names.INPUT_MESSAGES_REF]
    provider.shutdown()

    assert (recorded.scope, recorded.attributes[names.INPUT_MESSAGES_REF]) == (
        OFFICIAL,
        attributes["gen_ai.input.messages_ref"],
    )
    recorded.attributes[names.RUN_ID] = recorded.trace_id
    row = projected(seen, recorded.trace_id).row
    assert (row.llm_calls, row.input_tokens > 0) == (1, True)


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
def test_the_official_instrumentation_of_anthropic_records_through_the_hook(
    recording: Recording, server: MockModelServer, streamed: bool
):
    provider, instrumentor = TracerProvider(shutdown_on_exit=False), AnthropicInstrumentor()
    provider.add_span_processor(RefSpanProcessor())
    instrumentor.instrument(tracer_provider=provider)
    server.otherwise(text("It is sent."))
    asked: Any = {"model": "m", "max_tokens": 64, "system": "be kind", "messages": ASKED[1:]}
    try:
        with anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0) as client:
            if streamed:
                assert list(client.messages.create(**asked, stream=True))
            else:
                assert client.messages.create(**asked).content
    finally:
        instrumentor.uninstrument()
        provider.shutdown()
    seen = recording.read()
    [span] = [span for span in seen.spans if span.scope == "opentelemetry.instrumentation.genai.anthropic"]
    messages = seen.messages(str(span.attributes[names.INPUT_MESSAGES_REF]))
    assert [message["role"] for message in messages] == ["user"]
    assert "be kind" in str(seen.value(span, names.SYSTEM_INSTRUCTIONS_REF)), "apart, as Anthropic's API has it"
    [answer] = seen.messages(str(span.attributes[names.OUTPUT_MESSAGES_REF]))
    assert answer["parts"][0]["content"] == "It is sent."


def test_what_is_not_sampled_is_not_recorded(
    recording: Recording, server: MockModelServer, official: OpenAIInstrumentor
):
    provider = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    official.instrument(tracer_provider=provider)
    server.otherwise(text("fine"))
    ask(server)
    assert recording.read().contents == {}


@pytest.mark.parametrize("options", [{"disabled": True}, {"capture_content": False}], ids=str)
def test_the_hook_records_nothing_where_a_setting_says_so(
    recording: Recording, server: MockModelServer, official: OpenAIInstrumentor, options: dict[str, Any]
):
    recording.configure(**options)
    provider, exporter = TracerProvider(shutdown_on_exit=False), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    official.instrument(tracer_provider=provider)
    server.otherwise(text("fine"))
    ask(server)
    assert recording.read().contents == {}
    assert "_ref" not in exporter.get_finished_spans()[0].to_json()


def test_the_hook_survives_whatever_it_is_given(recording: Recording):
    class Broken:
        def is_recording(self) -> bool:
            raise RuntimeError("broken")

    completion_hook().on_completion(inputs=[object()], outputs=[3], system_instruction=["x"], span=Broken())
    completion_hook().on_completion(inputs=[object()], outputs=[3], system_instruction=[b"\xff"], tool_definitions=[{}])
    completion_hook().on_completion(new_argument=1)
    completion_hook().shutdown()


def test_openinferences_blobs_get_an_absolute_address_that_names_their_content(recording: Recording):
    recording.configure(endpoint="http://collector.example:4318")
    _blob_upload._UPLOADER_CACHE.clear()
    uploader = _blob_upload.load_blob_uploader("playhead")
    assert uploader is not None
    uri = uploader.upload(_blob_upload.Blob(data=b"\x89PNG-data", mime_type="image/png"))
    assert uri is not None
    assert _blob_upload.is_valid_reference_uri(uri)
    address, _, ref = uri.rpartition("/")
    assert address == "http://collector.example:4318/api/v1/content"
    assert recording.read().contents[ContentRef.parse(ref).plain].data == b"\x89PNG-data"
    uploader.shutdown()
    recording.configure(capture_content=False)
    assert uploader.upload(SimpleNamespace(data=b"x")) is None  # pyright: ignore[reportArgumentType]


# --- without code -----------------------------------------------------------------------------------------------------

PROGRAM = """
import openai
from opentelemetry import trace
{setup}
answer = openai.OpenAI().chat.completions.create(model="m", messages=[{{"role": "user", "content": "hello"}}])
print(answer.choices[0].message.content)
"""
OWN_PROVIDER = "from opentelemetry.sdk.trace import TracerProvider; trace.set_tracer_provider(TracerProvider())"


@pytest.mark.slow
@pytest.mark.parametrize("setup", ["", OWN_PROVIDER], ids=["a distribution's provider", "the program's provider"])
def test_without_code_official_instrumentations_record_through_us(server: MockModelServer, tmp_path: Path, setup: str):
    server.otherwise(text("fine"))
    (tmp_path / "app.py").write_text(PROGRAM.format(setup=setup))
    site = tmp_path / "site"
    if not setup:  # what `opentelemetry-distro` registers, which would change every other test if it were installed
        info = site / "set_up-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: set-up\nVersion: 1.0\n")
        configurator = "sdk = opentelemetry.sdk._configuration:_OTelSDKConfigurator"
        (info / "entry_points.txt").write_text(f"[opentelemetry_configurator]\n{configurator}\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "OTEL_", "PLAYHEAD_"))}
    kept |= {
        "PYTHONPATH": os.pathsep.join([str(site), *filter(None, sys.path)]), "NO_PROXY": "127.0.0.1",
        "PLAYHEAD_JOURNAL_DIR": str(tmp_path / "theirs"), "PLAYHEAD_ENDPOINT": "http://127.0.0.1:9",
        "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1", "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none",
        "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none",
        # Theirs alone: ours has a name of its own. (The others that are installed here have the same name as theirs.)
        "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "playhead-openai",
    }  # fmt: skip
    command = [
        str(Path(sys.executable).with_name("opentelemetry-instrument")),
        sys.executable,
        str(tmp_path / "app.py"),
    ]
    done = subprocess.run(command, env=kept, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr
    seen = read_journal(tmp_path / "theirs")
    [span] = [span for span in seen.spans if span.scope == OFFICIAL]
    [message] = seen.messages(span.attributes[names.INPUT_MESSAGES_REF])
    assert message["parts"] == [{"type": "text", "content": "hello"}]

"""Several instrumentations of `anthropic` on at a time, ours and those of three others: one call is one call."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest
from openinference.instrumentation.anthropic import AnthropicInstrumentor as OpenInferenceOfAnthropic
from opentelemetry import trace
from opentelemetry.instrumentation.anthropic import AnthropicInstrumentor as TraceloopOfAnthropic
from opentelemetry.instrumentation.genai.anthropic import AnthropicInstrumentor as OfficialOfAnthropic
from opentelemetry.sdk.trace import TracerProvider

from playhead import RefSpanProcessor, observe
from playhead.model.instrumentations import FAMILIES
from playhead.testing import MockModelServer, pytest_plugin, text
from tests.support.instrumentation_switches import Switches, counting_families, only_run
from tests.support.journal_reader import Recording, start_recording

server = pytest_plugin.mock_model_server
OURS, OFFICIAL, INFERENCE, LLMETRY = FAMILIES
THREE = (OFFICIAL, INFERENCE, LLMETRY)
FOREIGN: dict[str, Any] = {
    OFFICIAL: OfficialOfAnthropic, INFERENCE: OpenInferenceOfAnthropic, LLMETRY: TraceloopOfAnthropic,
}  # fmt: skip
ASKED: Any = {"model": "m", "max_tokens": 64, "messages": [{"role": "user", "content": "hello"}]}
CALLS = 3  # of each program


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    """All spans of the program are recorded by us."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(RefSpanProcessor())
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield from start_recording(tmp_path / "journal", monkeypatch)
    provider.shutdown()


@pytest.fixture
def switches() -> Iterator[Switches]:
    switches = Switches("anthropic", FOREIGN)
    yield switches
    switches.off()


def ask(server: MockModelServer) -> None:
    """Plain, streamed as events, and with the stream helper."""
    with anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0) as client:
        said = [client.messages.create(**ASKED).content[0]]
        assert "message_stop" in [event.type for event in client.messages.create(**ASKED, stream=True)]
        with client.messages.stream(**ASKED) as stream:
            said.append(stream.get_final_message().content[0])
    assert [block.type == "text" and block.text for block in said] == ["fine"] * 2


async def ask_async(server: MockModelServer) -> None:
    """As `ask`."""
    async with anthropic.AsyncAnthropic(base_url=server.url, api_key="none", max_retries=0) as client:
        said = [(await client.messages.create(**ASKED)).content[0]]
        events = await client.messages.create(**ASKED, stream=True)
        assert "message_stop" in [event.type async for event in events]
        async with client.messages.stream(**ASKED) as stream:
            said.append((await stream.get_final_message()).content[0])
    assert [block.type == "text" and block.text for block in said] == ["fine"] * 2


@pytest.fixture(params=["sync", "async"])
def agent(request: pytest.FixtureRequest, server: MockModelServer) -> Any:
    server.otherwise(text("fine"))
    return (lambda: ask(server)) if request.param == "sync" else (lambda: asyncio.run(ask_async(server)))


@pytest.mark.parametrize(
    "order",
    [(OURS, *THREE), (*THREE, OURS), (LLMETRY, OURS, INFERENCE, OFFICIAL), (INFERENCE, LLMETRY, OFFICIAL, OURS)],
    ids="-".join,
)
def test_four_instrumentations_of_anthropic_tell_of_one_call_which_is_ours(
    recording: Recording, switches: Switches, agent: Any, order: tuple[str, ...]
):
    switches.on(*order)
    observe(agent)()
    assert counting_families(only_run(recording), recording) == [OURS] * CALLS
    assert {span.scope for span in recording.read().spans} >= {"openinference.instrumentation.anthropic"}


@pytest.mark.parametrize(
    "several",
    [THREE, THREE[::-1], (OFFICIAL, LLMETRY), (INFERENCE, OFFICIAL), (LLMETRY, INFERENCE), (INFERENCE, LLMETRY)],
    ids="-".join,
)
def test_without_ours_one_of_theirs_is_the_call(
    recording: Recording, switches: Switches, agent: Any, several: tuple[str, ...]
):
    switches.on(*several)
    with trace.get_tracer("app").start_as_current_span("agent"):
        agent()
    first = min(several, key=FAMILIES.index)
    assert counting_families(only_run(recording), recording) == [first] * CALLS


@pytest.mark.parametrize("preferred", THREE)
def test_another_can_be_preferred_and_ours_leaves_anthropic_to_it(
    recording: Recording, switches: Switches, agent: Any, preferred: str
):
    recording.configure(prefer=preferred)
    switches.on(OURS, LLMETRY, INFERENCE, OFFICIAL)  # OpenInference's does not see streams of OpenTelemetry's inside it
    with trace.get_tracer("app").start_as_current_span("agent"):
        agent()
    assert counting_families(only_run(recording), recording) == [preferred] * CALLS

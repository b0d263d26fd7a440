"""Ours, OpenTelemetry's, OpenInference's and OpenLLMetry's instrumentation on at a time: one call is one call, whatever
the order in which they were switched on, and whichever of them there are."""

import warnings
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import openai
import openai.resources.chat.completions
import openai.resources.responses
import pytest
from openinference.instrumentation.openai import OpenAIInstrumentor as OpenInferenceOfOpenAI
from opentelemetry import trace
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor as OfficialOfOpenAI
from opentelemetry.instrumentation.openai import OpenAIInstrumentor as TraceloopOfOpenAI
from opentelemetry.sdk.trace import TracerProvider
from pydantic import PydanticDeprecatedSince20

from playhead import RefSpanProcessor, observe
from playhead.lift import DIALECTS
from playhead.model.instrumentations import FAMILIES
from playhead.testing import MockModelServer, pytest_plugin, text
from tests.support.instrumentation_switches import Switches, counting_families, only_run
from tests.support.journal_reader import Recording, start_recording

with warnings.catch_warnings():  # it defines a model of pydantic's in the old way
    warnings.simplefilter("ignore", PydanticDeprecatedSince20)
    from opentelemetry.instrumentation.openai.v1 import responses_wrappers

server = pytest_plugin.mock_model_server
OURS, OFFICIAL, INFERENCE, LLMETRY = FAMILIES
FOREIGN: dict[str, Any] = {
    OFFICIAL: OfficialOfOpenAI, INFERENCE: OpenInferenceOfOpenAI, LLMETRY: TraceloopOfOpenAI,
}  # fmt: skip
THREE = (OFFICIAL, INFERENCE, LLMETRY)
# What no dialect understands is kept, and is no call.
UNDERSTOOD = [family for family in THREE if family != INFERENCE or any(d.NAME == "openinference" for d in DIALECTS)]


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
    switches = Switches("openai", FOREIGN)
    responses_wrappers.responses.clear()  # by ids, which are the same for each test
    yield switches
    switches.off()


@pytest.fixture
def client(server: MockModelServer) -> Iterator[openai.OpenAI]:
    server.otherwise(text("fine"))
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        yield client


def agent(client: openai.OpenAI) -> None:
    """Four calls: plain, streamed, and both of Responses."""
    messages: Any = [{"role": "user", "content": "hello"}]
    client.chat.completions.create(model="m", messages=messages)
    for _ in client.chat.completions.create(model="m", messages=messages, stream=True):
        pass
    client.responses.create(model="m", input="hello")
    for _ in client.responses.create(model="m", input="hello again", stream=True):
        pass


@pytest.mark.parametrize("order", list(permutations((OURS, *THREE))), ids="-".join)
def test_four_instrumentations_of_openai_tell_of_one_call_which_is_ours(
    recording: Recording, switches: Switches, client: openai.OpenAI, order: tuple[str, ...]
):
    switches.on(*order)
    observe(agent)(client)
    run = only_run(recording)
    assert counting_families(run, recording) == [OURS] * 4
    assert {span.scope for span in recording.read().spans} >= {"openinference.instrumentation.openai"}


@pytest.mark.parametrize("several", [*permutations(THREE, 2), *permutations(THREE)], ids="-".join)
def test_without_ours_one_of_theirs_is_the_call(
    recording: Recording, switches: Switches, client: openai.OpenAI, several: tuple[str, ...]
):
    switches.on(*several)
    with trace.get_tracer("app").start_as_current_span("agent"):
        agent(client)
    first = min((family for family in several if family in UNDERSTOOD), key=FAMILIES.index)
    assert counting_families(only_run(recording), recording) == [first] * 4


@pytest.mark.parametrize("preferred", UNDERSTOOD)
def test_another_can_be_preferred_and_ours_leaves_its_library_to_it(
    recording: Recording, switches: Switches, client: openai.OpenAI, preferred: str
):
    recording.configure(prefer=preferred)
    switches.on(OURS, *THREE)
    with trace.get_tracer("app").start_as_current_span("agent"):
        agent(client)
    assert counting_families(only_run(recording), recording) == [preferred] * 4


def test_ours_records_what_the_preferred_one_is_not_there_for(
    recording: Recording, switches: Switches, client: openai.OpenAI
):
    recording.configure(prefer=INFERENCE)
    switches.on(OURS, OFFICIAL)
    observe(agent)(client)
    assert counting_families(only_run(recording), recording) == [OURS] * 4


def test_equal_calls_at_one_time_stay_as_many_as_they_are(
    recording: Recording, switches: Switches, client: openai.OpenAI
):
    """Each of two instrumentations tells of each: in threads, and with spans that are not inside each other."""
    from concurrent.futures import ThreadPoolExecutor

    switches.on(OFFICIAL, LLMETRY)
    around = trace.get_tracer("app").start_span("agent")

    def ask(_: int) -> None:
        with trace.use_span(around, end_on_exit=False):
            client.responses.create(model="m", input="hello")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ask, range(12)))
    around.end()
    assert counting_families(only_run(recording), recording) == [OFFICIAL] * 12

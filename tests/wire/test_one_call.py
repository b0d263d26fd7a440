"""Ours, OpenTelemetry's, OpenInference's and OpenLLMetry's instrumentation on at a time: one call is one call, whatever
the order in which they were switched on, and whichever of them there are."""

import sys
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

import playhead
from playhead import RefSpanProcessor, observe
from playhead.lift import DIALECTS
from playhead.model import event as ev
from playhead.model import names
from playhead.model.instrumentations import FAMILIES, family_of
from playhead.project.inputs import Projection
from playhead.testing import MockModelServer, pytest_plugin, text
from tests.support.journal_reader import Recording, start_recording
from tests.support.projected import projected

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


def methods_of(library: str) -> Iterator[tuple[type, str, Any]]:
    """All functions in the classes of a library's imported modules."""
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == library]
    owners = {value for module in modules for value in vars(module).values() if isinstance(value, type)}
    for owner in owners:
        if owner.__module__.partition(".")[0] == library:
            yield from ((owner, name, value) for name, value in vars(owner).items() if callable(value))


class Switches:
    """Switches instrumentations on, and all of them off."""

    def __init__(self, library: str, foreign: dict[str, Any]) -> None:
        self._library, self._foreign = library, foreign
        self._on: list[str] = []
        self._originals = list(methods_of(library))

    def on(self, *families: str) -> None:
        for family in families:
            if family == OURS:
                playhead.instrument(self._library)
            else:
                self._foreign[family]().instrument(skip_dep_check=True)
            self._on.append(family)

    def off(self) -> None:
        for family in reversed(self._on):
            if family == OURS:
                playhead.uninstrument(self._library)
            else:
                self._foreign[family]().uninstrument()
        for owner, name, method in self._originals:  # theirs do not find their wrappers beneath those of others
            if vars(owner).get(name) is not method:
                setattr(owner, name, method)


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


def told(recording: Recording) -> Projection:
    seen = recording.read()
    [run] = {str(span.attributes.get(names.RUN_ID) or span.trace_id) for span in seen.spans}
    for span in (*seen.announced, *seen.spans):
        span.attributes.setdefault(names.RUN_ID, run)
    return projected(seen, run)


def counted(run: Projection, recording: Recording) -> list[str]:
    """The families of those spans that give a call of a model, in the order of the calls."""
    scopes = {span.span_id: span.scope or names.SCOPE for span in recording.read().spans}
    answered = [event for event in run.events if isinstance(event, ev.LlmCompleted)]
    called = [event for event in run.events if isinstance(event, ev.LlmCalled)]
    assert len(answered) == len(called) == run.row.llm_calls
    return [str(family_of(scopes[str(event.span)])) for event in called]


@pytest.mark.parametrize("order", list(permutations((OURS, *THREE))), ids="-".join)
def test_four_instrumentations_of_openai_tell_of_one_call_which_is_ours(
    recording: Recording, switches: Switches, client: openai.OpenAI, order: tuple[str, ...]
):
    switches.on(*order)
    observe(agent)(client)
    run = told(recording)
    assert counted(run, recording) == [OURS] * 4
    assert {span.scope for span in recording.read().spans} >= {"openinference.instrumentation.openai"}


@pytest.mark.parametrize("several", [*permutations(THREE, 2), *permutations(THREE)], ids="-".join)
def test_without_ours_one_of_theirs_is_the_call(
    recording: Recording, switches: Switches, client: openai.OpenAI, several: tuple[str, ...]
):
    switches.on(*several)
    with trace.get_tracer("app").start_as_current_span("agent"):
        agent(client)
    first = min((family for family in several if family in UNDERSTOOD), key=FAMILIES.index)
    assert counted(told(recording), recording) == [first] * 4


@pytest.mark.parametrize("preferred", UNDERSTOOD)
def test_another_can_be_preferred_and_ours_leaves_its_library_to_it(
    recording: Recording, switches: Switches, client: openai.OpenAI, preferred: str
):
    recording.configure(prefer=preferred)
    switches.on(OURS, *THREE)
    with trace.get_tracer("app").start_as_current_span("agent"):
        agent(client)
    assert counted(told(recording), recording) == [preferred] * 4


def test_ours_records_what_the_preferred_one_is_not_there_for(
    recording: Recording, switches: Switches, client: openai.OpenAI
):
    recording.configure(prefer=INFERENCE)
    switches.on(OURS, OFFICIAL)
    observe(agent)(client)
    assert counted(told(recording), recording) == [OURS] * 4


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
    assert counted(told(recording), recording) == [OFFICIAL] * 12

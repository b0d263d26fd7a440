"""`playhead.doctor()`: what is instrumented in this process, with the real instrumentations of four families."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import anthropic
import openai
import openai.resources.chat
import pytest
from openinference.instrumentation.openai import OpenAIInstrumentor as OpenInference
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor as Official
from opentelemetry.instrumentation.openai import OpenAIInstrumentor as OpenLLMetry

import playhead
from playhead.calls import runtime
from playhead.capture.active import InstrumentedLibrary
from tests.support.instrumentation_switches import Switches


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    playhead.uninstrument()
    switches = Switches("openai", {})
    yield
    for instrumentor in (OpenLLMetry, Official, OpenInference):
        with_one: Any = instrumentor()
        if with_one.is_instrumented_by_opentelemetry:
            with_one.uninstrument()
    playhead.uninstrument()
    switches.off()  # takes off what OpenLLMetry leaves on


def described(library: str) -> InstrumentedLibrary:
    [found] = [each for each in playhead.doctor() if each.library == library]
    return found


def test_a_library_that_nobody_instruments_is_said_to_be_so():
    found = described("openai")
    assert (found.by, found.counted_by, found.is_seen_twice) == ((), None, False)
    assert found.version is None or found.version == openai.__version__
    assert "not instrumented" in str(found)


def test_who_is_on_is_said_and_which_functions_several_have_wrapped():
    playhead.instrument("openai", "anthropic")
    for instrumentor in (Official, OpenInference):
        one: Any = instrumentor()
        one.instrument()
    found = described("openai")
    assert found.by == ("playhead", "opentelemetry", "openinference")
    assert found.counted_by == "playhead"
    assert found.version == openai.__version__
    # OpenInference wraps the client's `request`, so it is not around the same function.
    create = "openai.resources.chat.completions.Completions.create"
    assert found.wrapped[create] == ("opentelemetry", "playhead")
    assert "playhead, opentelemetry, openinference; seen twice, counted once: by playhead" in str(found)
    assert f"{create}: opentelemetry > playhead" in str(found)
    alone = described("anthropic")
    assert (alone.by, alone.counted_by, dict(alone.wrapped)) == (("playhead",), "playhead", {})
    assert str(alone) == f"anthropic {anthropic.__version__}: playhead"


@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince20")  # in OpenLLMetry's package
def test_who_is_preferred_is_who_counts(monkeypatch: pytest.MonkeyPatch):
    playhead.instrument("openai")
    one: Any = OpenLLMetry()
    one.instrument()
    assert described("openai").counted_by == "playhead"
    runtime.recorder()
    monkeypatch.setattr(runtime, "current", replace(runtime.current, prefer="openllmetry"))
    assert described("openai").counted_by == "openllmetry"


def test_a_library_that_is_instrumented_no_more_is_said_to_be_so():
    playhead.instrument("openai")
    assert described("openai").by == ("playhead",)
    playhead.uninstrument("openai")
    assert described("openai").by == ()
    # Nothing is imported for the answer.
    assert {each.library for each in playhead.doctor()} <= {"openai", "anthropic", *loaded()}


def loaded() -> set[str]:
    import sys

    from playhead.capture.registry import LIBRARIES

    return {name for name in LIBRARIES if name in sys.modules}

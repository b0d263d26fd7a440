"""Switching instrumentation on and off: the shape of capture modules, and that nothing of it raises."""

import subprocess
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

import playhead
from playhead.capture import registry
from tests.support.logged import messages_of

MODELS = {"openai", "anthropic", "google.genai", "cohere", "mistralai.client", "ollama"}


@pytest.mark.parametrize("library", registry.LIBRARIES)
def test_every_capture_module_has_the_shape(library: str):
    shape = {"SUPPORTS", "patch", "unpatch"} | ({"read_request", "read_response"} if library in MODELS else set())
    assert shape <= set(vars(import_module(registry.LIBRARIES[library])))


def test_a_framework_is_not_imported_before_the_program_does():
    body = "import sys, playhead; playhead.instrument(); print(sorted({'agents', 'langchain_core', 'langgraph', 'mcp', "
    body += "'pydantic_ai'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", body], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_another_library_of_a_frameworks_name_is_left_alone(caplog: pytest.LogCaptureFixture):
    from playhead.capture.patching import Instrumentation, Wrap

    Instrumentation([Wrap(__name__, "FunctionTool.run", lambda *_: None)]).patch()
    assert "could not instrument" in caplog.text
    assert "your program is unaffected" in caplog.text


def test_a_library_that_we_do_not_know_is_a_warning(caplog: pytest.LogCaptureFixture):
    assert playhead.instrument("telepathy") == ()
    assert f"known are {', '.join(sorted(registry.LIBRARIES | registry.OPT_IN))}" in caplog.text


def test_a_library_that_is_not_installed_is_a_warning_when_it_was_asked_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    for name in list(registry.LIBRARIES):
        monkeypatch.delitem(registry.LIBRARIES, name)
    monkeypatch.setitem(registry.LIBRARIES, "not_there", "playhead.capture.not_there")
    monkeypatch.setitem(registry.LIBRARIES, "not_there.inside", "playhead.capture.not_there")
    assert playhead.instrument() == ()
    assert messages_of(caplog) == []
    assert playhead.instrument("not_there") == ()
    assert "is not installed" in caplog.text


def test_a_stub_in_place_of_a_library_is_survived(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    # A module made by hand has no spec, at which the import system raises.
    monkeypatch.setitem(sys.modules, "openai", ModuleType("openai"))
    assert playhead.instrument("openai") == ()
    playhead.uninstrument("openai")
    assert "your program is unaffected" in caplog.text


def test_a_capture_module_that_fails_is_survived(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    from playhead.capture import openai as module

    def broken() -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(module, "patch", broken)
    monkeypatch.setattr(module, "unpatch", broken)
    assert playhead.instrument("openai") == ()
    playhead.uninstrument()
    assert "could not instrument openai" in caplog.text


def test_opentelemetrys_instrumentors_find_ours():
    from opentelemetry.util._importlib_metadata import entry_points

    from playhead.capture.openai import OpenAIInstrumentor

    found = [point for point in entry_points(group="opentelemetry_instrumentor") if point.name == "playhead-openai"]
    assert all(point.load() is OpenAIInstrumentor for point in found)
    assert OpenAIInstrumentor().instrumentation_dependencies() == ("openai >= 1.60",)


@pytest.mark.parametrize("library", sorted(registry.LIBRARIES))
def test_a_library_that_is_imported_after_it_was_instrumented_is_instrumented(library: str):
    """Also a namespace package, whose own import nobody can be told of.  What records its calls is imported with it."""
    if not registry.is_installed(library):
        pytest.skip(f"{library} is not installed in this environment")
    first = {"langgraph": "langgraph.graph"}.get(library, library)
    program = f"""
import importlib, sys, playhead
playhead.instrument({library!r})
late = {{{registry.LIBRARIES[library]!r}, "playhead.configuring"}}
assert late.isdisjoint(sys.modules)
importlib.import_module({first!r})
assert late <= sys.modules.keys()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=300)

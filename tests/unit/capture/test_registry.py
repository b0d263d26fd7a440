"""Switching instrumentation on and off: the shape of capture modules, and that nothing of it raises."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

import playhead
from playhead.capture import registry


@pytest.mark.parametrize("name", registry.LIBRARIES.values())
def test_every_capture_module_has_the_shape(name: str):
    shape = {"SUPPORTS", "patch", "unpatch", "read_request", "read_response"}
    assert shape <= set(vars(import_module(name)))


def test_a_library_that_we_do_not_know_is_a_warning(caplog: pytest.LogCaptureFixture):
    assert playhead.instrument("telepathy") == ()
    assert "known are openai" in caplog.text


def test_a_library_that_is_not_installed_is_a_warning_when_it_was_asked_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setitem(registry.LIBRARIES, "not_there", "playhead.capture.not_there")
    monkeypatch.delitem(registry.LIBRARIES, "openai")
    assert playhead.instrument() == ()
    assert caplog.text == ""
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

"""What `playhead doctor` says about the libraries of this environment."""

from importlib.metadata import version

import pytest

from playhead.capture import registry
from playhead.cli import doctor


def line(library: str, prefer: str = "playhead") -> dict[str, str]:
    return next(each for each in doctor.libraries(prefer) if each["setting"].startswith(f"{library} "))


def test_an_installed_library_is_named_with_who_else_records_it_and_what_to_do():
    found = line("openai")
    assert found["setting"] == f"openai {version('openai')}"
    for name in ("opentelemetry-instrumentation-genai-openai", "openinference-instrumentation-openai"):
        assert f"{name} {version(name)}" in found["value"]
    assert (
        f"openllmetry (opentelemetry-instrumentation-openai {version('opentelemetry-instrumentation-openai')})"
        in (found["value"])
    )
    assert "counted once, by playhead (PLAYHEAD_PREFER)" in found["value"]
    assert "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS" in found["value"]
    assert "counted once, by openinference" in line("openai", "openinference")["value"]


def test_a_library_that_nobody_else_records_is_only_recorded():
    assert line("pydantic_ai")["value"] == "recorded"


def test_a_version_that_is_not_supported_is_told_with_what_it_needs(monkeypatch: pytest.MonkeyPatch):
    from playhead.capture import openai

    monkeypatch.setattr(openai, "SUPPORTS", "openai >= 999")
    assert line("openai")["value"].startswith("not recorded: this needs openai>=999; update it")
    assert "counted once" not in line("openai")["value"]


def test_what_is_not_installed_is_not_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registry, "LIBRARIES", {"no_such_library": "playhead.capture.openai"})
    assert list(doctor.libraries("playhead")) == []

"""`OTEL_PYTHON_DISABLED_INSTRUMENTATIONS` under `opentelemetry-instrument`: what it names stays off."""

import pytest

from playhead.capture.registry import LIBRARIES, is_installed
from playhead.interop import zero_code


@pytest.mark.parametrize(
    ("named", "off"),
    [
        ("", set[str]()),
        ("playhead-openai, playhead-mcp", {"openai", "mcp"}),
        ("playhead-google-genai", {"google.genai"}),  # as the entry point is called
        ("playhead-google.genai,playhead-langchain_core", {"google.genai", "langchain_core"}),
        ("playhead-langchain-core", {"langchain_core"}),
        ("*", set(LIBRARIES)),
    ],
)
def test_what_is_named_is_not_instrumented(monkeypatch: pytest.MonkeyPatch, named: str, off: set[str]):
    seen: list[str] = []
    monkeypatch.setattr(zero_code, "instrument", lambda *names: seen.extend(names))
    monkeypatch.setenv("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", named)
    zero_code.after_instrumentors()
    assert set(seen) == set(filter(is_installed, LIBRARIES)) - off

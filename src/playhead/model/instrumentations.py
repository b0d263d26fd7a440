"""The project that wrote an instrumentation, by the name of its scope (or module).  Pure.

| family | instrumentations |
|---|---|
| `playhead` | ours |
| `opentelemetry` | OpenTelemetry's own for GenAI |
| `openinference` | Arize's |
| `openllmetry` | Traceloop's: its packages have OpenTelemetry's old names |
"""

from typing import Final

from playhead.model import names

FAMILIES: Final = ("playhead", "opentelemetry", "openinference", "openllmetry")
"""In order of precedence, for calls that several instrumentations recorded."""

_OFFICIAL = (
    "opentelemetry.instrumentation.genai.", "opentelemetry.util.genai", "opentelemetry.instrumentation.openai_v2",
    "opentelemetry.instrumentation.openai_agents_v2", "opentelemetry.instrumentation.google_genai",
)  # fmt: skip
_PREFIXES = (
    "openinference.instrumentation.", "opentelemetry.instrumentation.genai.", "opentelemetry.instrumentation.",
)  # fmt: skip
# Libraries whose calls are model calls themselves; a framework's span is around such calls, and may be about several.
_CLIENTS = frozenset({
    "alephalpha", "anthropic", "bedrock", "botocore", "cohere", "google_genai", "google_generativeai", "groq",
    "litellm", "mistralai", "ollama", "openai", "openai_v2", "replicate", "sagemaker", "together", "vertexai",
    "voyageai", "watsonx", "writer",
})  # fmt: skip

# Scope prefix of spans that a client's own package makes without an instrumentation.
_OWN_TELEMETRY = "com.anthropic.sdk."


def family_of(scope: str) -> str | None:
    """The family of an instrumentation scope; None if it is in no family."""
    if scope == names.SCOPE:
        return "playhead"
    if scope.startswith("openinference."):
        return "openinference"
    if scope.startswith(_OFFICIAL):
        return "opentelemetry"
    return "openllmetry" if scope.startswith(("opentelemetry.instrumentation.", "traceloop.")) else None


def is_of_client(scope: str) -> bool:
    """Whether spans of this scope are calls of a model's client, each of them one request."""
    if scope.startswith(_OWN_TELEMETRY):
        return True
    for prefix in _PREFIXES:
        if scope.startswith(prefix):
            return scope.removeprefix(prefix).partition(".")[0] in _CLIENTS
    return False

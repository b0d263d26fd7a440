"""Settings of a model's request that say who asks, and cannot change the answer: recorded, and not compared on resume.

Some differ in each process (OpenHands draws a `prompt_cache_key`): no run could be resumed whose calls have one.
"""

from collections.abc import Collection, Mapping
from typing import Any, cast

CALLER_SETTINGS = frozenset(
    {
        # OpenAI, Azure, OpenRouter and what is compatible with them
        "user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "metadata", "session_id",
        "user_security_context", "trace",
        # Anthropic has `metadata`; Gemini and Vertex AI; Bedrock
        "labels", "requestMetadata",
        # LiteLLM
        "litellm_metadata", "litellm_call_id", "litellm_trace_id", "litellm_session_id", "proxy_server_request",
        # Headers, where frameworks have them among the settings; of clients none are recorded
        "extra_headers", "headers", "default_headers",
        # pydantic-ai's names of the same
        "openai_user", "openai_safety_identifier", "openai_prompt_cache_key", "openai_prompt_cache_retention",
        "anthropic_metadata", "google_labels", "bedrock_request_metadata",
    }
)  # fmt: skip
# Where clients and frameworks put what they do not know themselves.
_MORE_SETTINGS = ("extra_body", "extra_args", "model_kwargs", "additionalModelRequestFields")


class _Known:
    names: Collection[str] = CALLER_SETTINGS


def declare_caller_settings(more: Collection[str]) -> None:
    """Leaves out these, too, from now on; replaces what was declared before."""
    _Known.names = CALLER_SETTINGS.union(more)


def compared_settings(settings: Any) -> Any:
    """The settings without those that say who asks; the settings themselves if they have none of these."""
    if not isinstance(settings, Mapping):
        return settings
    given, known = cast("Mapping[str, Any]", settings), _Known.names
    kept = {name: value for name, value in given.items() if name not in known}
    for name in _MORE_SETTINGS:
        inner: Any = kept.get(name)
        if isinstance(inner, Mapping):
            less = {key: value for key, value in cast("Mapping[str, Any]", inner).items() if key not in known}
            if len(less) != len(cast("Mapping[str, Any]", inner)):
                kept = {key: value for key, value in kept.items() if key != name} | ({name: less} if less else {})
    return given if kept == given else kept

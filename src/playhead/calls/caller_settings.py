"""Settings of a model request that identify the caller and cannot change the answer: recorded, not compared on resume.

Some differ in each process (OpenHands draws a random `prompt_cache_key`): comparing them would make such runs
impossible to resume.
"""

from collections.abc import Collection, Mapping
from typing import Any, cast

CALLER_SETTINGS = frozenset(
    {
        # OpenAI, Azure, OpenRouter and what is compatible with them
        "user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "metadata", "session_id",
        "user_security_context", "trace",
        # Gemini and Vertex AI; Bedrock (Anthropic's `metadata` is above)
        "labels", "requestMetadata",
        # LiteLLM
        "litellm_metadata", "litellm_call_id", "litellm_trace_id", "litellm_session_id", "proxy_server_request",
        # Headers that frameworks keep among the settings; headers of clients are never recorded
        "extra_headers", "headers", "default_headers",
        # pydantic-ai's names of the same
        "openai_user", "openai_safety_identifier", "openai_prompt_cache_key", "openai_prompt_cache_retention",
        "anthropic_metadata", "google_labels", "bedrock_request_metadata",
    }
)  # fmt: skip
# Settings that hold further settings, which the client or framework passes on without knowing them.
_MORE_SETTINGS = ("extra_body", "extra_args", "model_kwargs", "additionalModelRequestFields")


class _Known:
    names: Collection[str] = CALLER_SETTINGS


def declare_caller_settings(more: Collection[str]) -> None:
    """Adds names to `CALLER_SETTINGS` from now on. Replaces the names of an earlier call."""
    _Known.names = CALLER_SETTINGS.union(more)


def compared_settings(settings: object) -> Any:
    """Returns the settings without caller settings; the same object if there are none."""
    if not isinstance(settings, Mapping):
        return settings
    all_settings, caller_settings = cast("Mapping[str, Any]", settings), _Known.names
    compared = {name: value for name, value in all_settings.items() if name not in caller_settings}
    for name in _MORE_SETTINGS:
        inner: Any = compared.get(name)
        if isinstance(inner, Mapping):
            less = {key: value for key, value in cast("Mapping[str, Any]", inner).items() if key not in caller_settings}
            if len(less) != len(cast("Mapping[str, Any]", inner)):
                compared = {key: value for key, value in compared.items() if key != name} | (
                    {name: less} if less else {}
                )
    return all_settings if compared == all_settings else compared

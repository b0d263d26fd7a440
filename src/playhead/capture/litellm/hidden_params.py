"""Reads and restores LiteLLM's metadata of an answer (`_hidden_params`): the provider that answered, and the price."""

from collections.abc import Mapping
from typing import Any, cast

from playhead.capture.litellm.arguments import provider_name

KEY = "_hidden_params"
"""Key of the metadata in a recorded answer."""
_KEPT = ("custom_llm_provider", "region_name", "model_id", "api_base", "response_cost", "litellm_model_name")


def hidden_params_of(answer: Any) -> dict[str, Any]:
    """Returns the part of the metadata that is recorded, without headers, call ids and times."""
    hidden: Any = getattr(answer, KEY, None)
    if not isinstance(hidden, Mapping):
        return {}
    params = cast("Mapping[str, Any]", hidden)
    return {key: value for key in _KEPT if isinstance(value := params.get(key), str | int | float) and value != ""}


def restore_hidden_params(answer: Any, raw: Mapping[str, Any]) -> Any:
    """Sets the recorded metadata on a rebuilt answer, and returns the answer."""
    params = raw.get(KEY)
    if params:
        answer._hidden_params = dict(cast("Mapping[str, Any]", params))
    return answer


def answering_provider(raw: Mapping[str, Any]) -> str | None:
    """Returns the provider of a recorded answer by its name in the GenAI conventions; None if unknown."""
    params: Mapping[str, Any] = raw.get(KEY) or {}
    provider = params.get("custom_llm_provider")
    return None if provider is None else provider_name(provider)

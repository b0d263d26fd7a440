"""LiteLLM's metadata of an answer (`_hidden_params`): the provider that answered, and the price."""

from collections.abc import Mapping
from typing import Any, cast

from playhead.capture.litellm.arguments import provider_name

KEY = "_hidden_params"
"""Key of the metadata in a recorded answer."""
_KEPT = ("custom_llm_provider", "region_name", "model_id", "api_base", "response_cost", "litellm_model_name")


def hidden_params_of(answer: Any) -> dict[str, Any]:
    """The part that is kept: no headers, ids of calls or times."""
    found: Any = getattr(answer, KEY, None)
    if not isinstance(found, Mapping):
        return {}
    params = cast("Mapping[str, Any]", found)
    return {key: value for key in _KEPT if isinstance(value := params.get(key), str | int | float) and value != ""}


def restore_hidden_params(answer: Any, raw: Mapping[str, Any]) -> Any:
    """Sets what was kept on a rebuilt answer, and returns the answer."""
    kept = raw.get(KEY)
    if kept:
        answer._hidden_params = dict(cast("Mapping[str, Any]", kept))
    return answer


def answering_provider(raw: Mapping[str, Any]) -> str | None:
    """The provider of a recorded answer, by its name in the GenAI conventions; None: unknown."""
    kept: Mapping[str, Any] = raw.get(KEY) or {}
    found = kept.get("custom_llm_provider")
    return None if found is None else provider_name(found)

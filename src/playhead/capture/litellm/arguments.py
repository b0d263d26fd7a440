"""Reads the arguments of LiteLLM's functions and its router, and the metadata of an answer (`_hidden_params`): the
provider that answered, and the price. Sets the recorded metadata on a rebuilt answer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from inspect import signature
from typing import Any, TypeVar

from playhead.capture.wrapping import MethodCall
from playhead.kernel.guard import guarded
from playhead.model.json_value import Json, JsonMapping, mapping_of, object_of

T = TypeVar("T")

# --- arguments --------------------------------------------------------------------------------------------------------

# Keys and other secrets, and objects of the program that are no part of the request.
_LEFT_OUT = frozenset(
    {
        "api_key", "azure_ad_token", "azure_ad_token_provider", "aws_access_key_id", "aws_secret_access_key",
        "aws_session_token", "aws_web_identity_token", "client", "client_secret", "credentials", "default_headers",
        "extra_headers", "headers", "http_client", "litellm_logging_obj", "logger_fn", "model_list", "organization",
        "shared_session", "timeout", "vertex_credentials",
    }
)  # fmt: skip
# LiteLLM's names of providers that the GenAI conventions call otherwise.
_PROVIDERS = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "bedrock_converse": "aws.bedrock",
    "cohere_chat": "cohere",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "vertex_ai_beta": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
_PLAIN = (str, int, float, bool)


def named_arguments(call: MethodCall) -> dict[str, Any]:
    """Returns all arguments by name, also those passed by position."""
    if not call.args:
        return call.kwargs
    client: object = call.client
    return call.arguments(*_parameters(type(client), call.method))


@cache
def _parameters(owner: type, method: str) -> tuple[str, ...]:
    """Returns the names of the parameters of a function of the library, or of a method of the router."""
    if owner is type(None):
        return tuple(signature(getattr(import_module("litellm"), method)).parameters)
    return tuple(signature(getattr(owner, method)).parameters)[1:]


def settings_of(
    arguments: Mapping[str, object], elsewhere: frozenset[str], attribute_names: Mapping[str, str]
) -> tuple[dict[str, object], dict[str, object]]:
    """Returns the request's other arguments without secrets, and attributes for those in `attribute_names` (argument →
    attribute)."""
    settings: dict[str, object] = {}
    attributes: dict[str, object] = {}
    for name, value in arguments.items():
        if value is None or name in elsewhere or name in _LEFT_OUT:
            continue
        if name in attribute_names and isinstance(value, _PLAIN):
            attributes[attribute_names[name]] = value
        settings[name] = described_class(value) if isinstance(value, type) else _without_secrets(value)
    return settings, attributes


def _without_secrets(value: Any) -> object:
    """Removes secrets at any depth: fallbacks may be complete sets of arguments, with their own keys."""
    fields: Mapping[object, object] = value
    items: Iterable[object] = value
    if isinstance(value, dict):
        return {key: _without_secrets(item) for key, item in fields.items() if key not in _LEFT_OUT}
    if isinstance(value, list | tuple):
        return [_without_secrets(item) for item in items]
    return value


def described_class(kind: type) -> object:
    """Returns the schema of a class given as response format, as LiteLLM sends it."""
    from playhead.capture.openai.chat import response_format  # noqa: PLC0415 - only where a class is given

    return response_format(kind)


def asked_provider(arguments: Mapping[str, object]) -> str:
    """Returns the provider according to the model's name; `litellm` for a router's model group or an unknown name."""
    with guarded("find the provider of a model", log=False):  # it raises for a name that it does not know
        find: Callable[..., Sequence[object]] = import_module("litellm").get_llm_provider
        provider = arguments.get("custom_llm_provider")
        return provider_name(find(str(arguments.get("model", "")), custom_llm_provider=provider)[1])
    return "litellm"


def provider_name(name: object) -> str:
    """Converts LiteLLM's name of a provider to the name in the GenAI conventions."""
    return _PROVIDERS.get(str(name), str(name))


# --- metadata of an answer --------------------------------------------------------------------------------------------

KEY = "_hidden_params"
"""Key of the metadata in a recorded answer."""
_KEPT_PARAMS = ("custom_llm_provider", "region_name", "model_id", "api_base", "response_cost", "litellm_model_name")


def hidden_params_of(answer: object) -> Json:
    """Returns the part of the metadata that is recorded, without headers, call ids and times."""
    params = mapping_of(getattr(answer, KEY, None))
    return {
        key: value for key in _KEPT_PARAMS if isinstance(value := params.get(key), str | int | float) and value != ""
    }


def restore_hidden_params(answer: T, raw: JsonMapping) -> T:
    """Sets the recorded metadata on a rebuilt answer, and returns the answer."""
    if params := object_of(raw.get(KEY)):
        setattr(answer, KEY, dict(params))
    return answer


def answering_provider(raw: JsonMapping) -> str | None:
    """Returns the provider of a recorded answer by its name in the GenAI conventions; None if unknown."""
    provider = object_of(raw.get(KEY)).get("custom_llm_provider")
    return None if provider is None else provider_name(provider)

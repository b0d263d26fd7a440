"""Reads requests of Gemini's API as the client is about to send them. Changes nothing."""

import copy
from collections.abc import Mapping
from typing import Any, cast

from playhead.capture.client_methods import MethodCall
from playhead.capture.model_values import ModelRequest
from playhead.dialect import google_genai as dialect
from playhead.model import names

_ELSEWHERE = frozenset({"contents", "systemInstruction", "tools"})
_REQUEST_ATTRIBUTES = {
    "temperature": names.REQUEST_TEMPERATURE,
    "topP": names.REQUEST_TOP_P,
    "maxOutputTokens": names.REQUEST_MAX_TOKENS,
    "seed": names.REQUEST_SEED,
}
_PLAIN = (int, float, str)


def method_of(kwargs: Mapping[str, Any]) -> str:
    """Returns the API method that the request calls, such as `generateContent`."""
    return str(kwargs.get("path", "")).partition("?")[0].rpartition(":")[2]


def model_of(kwargs: Mapping[str, Any]) -> str:
    """Returns the model's name; for a tuned model or an endpoint, its whole resource name."""
    resource = str(kwargs.get("path", "")).partition("?")[0].rpartition(":")[0]
    above, _, name = resource.rpartition("/")
    return name if name and (above == "models" or above.endswith("/models")) else resource


def provider_of(client: Any) -> str:
    """Returns the provider's name in the GenAI conventions."""
    return "gcp.vertex_ai" if getattr(client, "vertexai", False) else "gcp.gemini"


def body_of(call: MethodCall) -> dict[str, Any]:
    """Returns the request's body as it is sent."""
    request_dict = cast("dict[str, Any]", call.kwargs["request_dict"])
    options = call.kwargs.get("http_options")
    if _has_extra_body(options) or _has_extra_body(getattr(call.client, "_http_options", None)):
        # The client merges the extra body in place and in its own way, so it gets a copy.
        request = call.client._build_request("post", call.kwargs["path"], copy.deepcopy(request_dict), options)
        return cast("dict[str, Any]", request.data)
    return {key: value for key, value in request_dict.items() if not key.startswith("_")}


def read_request(call: MethodCall) -> ModelRequest:
    """Reads a request for content."""
    body = body_of(call)
    system = body.get("systemInstruction")
    if not isinstance(system, dict) or not isinstance(cast("dict[str, Any]", system).get("parts"), list):
        system = None
    contents = body.get("contents")
    thread, shape = dialect.thread_of(cast("list[Any]", contents) if isinstance(contents, list) else [], system)
    elsewhere = _ELSEWHERE if system is not None else _ELSEWHERE - {"systemInstruction"}
    return ModelRequest(
        provider=provider_of(call.client),
        operation="generate_content",
        model=model_of(call.kwargs),
        messages=thread,
        to_message=dialect.to_message,
        from_message=dialect.from_message,
        tools=body.get("tools"),
        settings={key: value for key, value in body.items() if key not in elsewhere},
        attributes=_attributes(body, is_streamed="streamed" in call.method),
        shape={"dialect": dialect.NAME, **shape},
        as_native=_as_content,
    )


def with_edit(call: MethodCall, messages: list[Any] | None) -> MethodCall:
    """Returns the call with other messages; the system instruction is the first of them."""
    if messages is None:
        return call
    contents, system = dialect.contents_of(messages, {})
    body = {**call.kwargs["request_dict"], "contents": contents}
    body.pop("systemInstruction", None)
    if system is not None:
        body["systemInstruction"] = system
    return call.with_kwargs({**call.kwargs, "request_dict": body})


def _as_content(message: Any) -> Any:
    """Converts a message whose `content` an edit has set to a text: its parts become the text, or a function response
    whose result is the text."""
    fields = cast("dict[str, Any]", message) if isinstance(message, dict) else {}
    text = fields.get("content")
    if not isinstance(text, str):
        return cast("object", message)
    parts: list[Any] = [{"text": text}]
    old_parts: Any = fields.get("parts")
    if isinstance(old_parts, list) and len(cast("list[Any]", old_parts)) == 1 and "functionResponse" in old_parts[0]:
        parts = [{"functionResponse": {**old_parts[0]["functionResponse"], "response": {"result": text}}}]
    role = fields.get("role")
    return {"role": "model" if role == "assistant" else role, "parts": parts}


def _attributes(body: Mapping[str, Any], *, is_streamed: bool) -> dict[str, Any]:
    generation_config = body.get("generationConfig")
    config = cast("dict[str, Any]", generation_config) if isinstance(generation_config, dict) else {}
    attributes: dict[str, Any] = {
        name: config[key] for key, name in _REQUEST_ATTRIBUTES.items() if isinstance(config.get(key), _PLAIN)
    }
    if (choices := config.get("candidateCount", 1)) != 1:
        attributes[names.REQUEST_CHOICES] = choices
    if is_streamed:
        attributes[names.REQUEST_STREAM] = True
    return attributes


def _has_extra_body(options: Any) -> bool:
    """Whether options of the client, or of one request, add to the body.  In older versions the options are
    dictionaries."""
    if isinstance(options, Mapping):
        return bool(cast("Mapping[str, Any]", options).get("extra_body"))
    return bool(getattr(options, "extra_body", None))

"""What a call of the `openai` client asks and what it answers, as the capture stage takes it.  Touches nothing."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from playhead.capture.model_call import ModelRequest, ModelResponse
from playhead.capture.openai_chunks import whole_completion
from playhead.model import names
from playhead.model.dialect import openai as dialect

# Not part of the request's content: transport, and headers may hold secrets.
_NOT_SETTINGS = frozenset({"messages", "tools", "extra_headers", "extra_query", "timeout"})
_REQUEST_ATTRIBUTES = {
    "temperature": names.REQUEST_TEMPERATURE,
    "top_p": names.REQUEST_TOP_P,
    "max_tokens": names.REQUEST_MAX_TOKENS,
    "max_completion_tokens": names.REQUEST_MAX_TOKENS,
    "seed": names.REQUEST_SEED,
    "stream": names.REQUEST_STREAM,
}
_PLAIN = frozenset({str, int, float, bool})
_USAGE = (
    ("", "prompt_tokens", names.INPUT_TOKENS),
    ("", "completion_tokens", names.OUTPUT_TOKENS),
    ("prompt_tokens_details", "cached_tokens", names.CACHE_READ_TOKENS),
    ("completion_tokens_details", "reasoning_tokens", names.REASONING_TOKENS),
)
# Added by the client after parsing; the provider did not send them.
_PARSED = {"parsed", "parsed_arguments"}


def read_request(client: Any, kwargs: Mapping[str, Any]) -> ModelRequest:
    """What the call asks, from its keyword arguments (the client takes no others)."""
    settings, attributes = settings_of(kwargs, _NOT_SETTINGS, _REQUEST_ATTRIBUTES)
    if (choices := settings.get("n", 1)) != 1:
        attributes[names.REQUEST_CHOICES] = choices
    tools = kwargs.get("tools")
    return ModelRequest(
        provider=provider_of(client),
        operation="chat",
        model=str(kwargs.get("model", "")),
        messages=_sent(kwargs.get("messages") or ()),
        to_message=dialect.to_message,
        tools=list(tools) if tools and isinstance(tools, Sequence) else None,  # pyright: ignore[reportUnknownArgumentType]
        settings=settings,
        attributes=attributes,
    )


def settings_of(
    kwargs: Mapping[str, Any], elsewhere: Collection[str], known: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A request's arguments but those that stand elsewhere; and attributes of those that have one that is known."""
    settings: dict[str, Any] = {}
    attributes: dict[str, Any] = {}
    for name, value in kwargs.items():
        if name in elsewhere or value is None:
            continue
        if type(value) in _PLAIN:
            attribute = known.get(name)
            if attribute is not None:
                attributes[attribute] = value
        elif type(value).__name__ in {"Omit", "NotGiven"}:
            continue
        settings[name] = _schema(value) if isinstance(value, type) else value
    return settings, attributes


def _sent(messages: Any) -> Sequence[Any]:
    """Messages as dictionaries.  The client's own objects hold what it parsed, too, which is no part of the message:
    without it, the answer of one call has the same ref in the next."""
    if {*map(type, messages)} == {dict}:
        return messages
    return [message if type(message) is dict else _dictionary(message) for message in messages]


def _dictionary(message: Any) -> Any:
    if not hasattr(message, "model_dump"):
        return message
    native: dict[str, Any] = message.model_dump(mode="json", exclude_unset=True, warnings=False)
    _drop_parsed(native)
    for tool_call in cast(list[dict[str, Any]], native.get("tool_calls") or ()):
        tool_call.pop("index", None)  # of chunks
    return native


def read_response(response: Any) -> ModelResponse | None:
    """What a `ChatCompletion` says; None for anything else."""
    if not hasattr(response, "choices"):
        return None
    return _response(response.model_dump(mode="json", exclude_unset=True, warnings=False))


def assemble(chunks: list[Any]) -> ModelResponse | None:
    """What the chunks of a stream amount to; None before the first."""
    dumped = [chunk.model_dump(mode="json", exclude_unset=True, warnings=False) for chunk in chunks]
    return _streamed(dumped) if dumped else None


def read_recorded(raw: dict[str, Any]) -> ModelResponse:
    """The same of a response that was recorded."""
    return _streamed(raw["stream"]) if "stream" in raw else _response(raw)


def _streamed(chunks: list[dict[str, Any]]) -> ModelResponse:
    response = _response(whole_completion(chunks))
    return ModelResponse(response.messages, {"stream": chunks}, response.reasoning, response.attributes)


def _response(completion: dict[str, Any]) -> ModelResponse:
    messages: list[Any] = []
    reasonings: list[Any] = []
    finish_reasons: list[str] = []
    for choice in cast(list[dict[str, Any]], completion.get("choices") or ()):
        native: dict[str, Any] = choice.get("message") or {}
        if not _PARSED.isdisjoint(native) or native.get("tool_calls"):
            _drop_parsed(native)
        message, reasoning = dialect.output_message(native)
        messages.append(message)
        if reasoning is not None:
            reasonings.append(reasoning)
        finish_reasons.append(choice.get("finish_reason") or "")
    attributes = {names.FINISH_REASONS: finish_reasons, **usage_of(completion.get("usage") or {}, _USAGE)}
    for key, name in (("id", names.RESPONSE_ID), ("model", names.RESPONSE_MODEL)):
        if completion.get(key):
            attributes[name] = completion[key]
    reasoning = reasonings[0] if len(reasonings) == 1 else reasonings or None
    return ModelResponse(messages, completion, reasoning, attributes)


def _drop_parsed(message: dict[str, Any]) -> None:
    message.pop("parsed", None)
    for tool_call in cast(list[dict[str, Any]], message.get("tool_calls") or ()):
        cast(dict[str, Any], tool_call.get("function") or {}).pop("parsed_arguments", None)


def usage_of(usage: Mapping[str, Any], known: Iterable[tuple[str, str, str]]) -> dict[str, int]:
    """Attributes of the counts that are known: group ("" for none), key, attribute."""
    # Providers may answer without usage; absent is not zero.
    found: dict[str, int] = {}
    for group, key, name in known:
        counts: Mapping[str, Any] | None = usage.get(group) if group else usage
        if counts and (value := counts.get(key)) is not None:
            found[name] = value
    return found


def provider_of(client: Any) -> str:
    """Whose API a resource of the client speaks to."""
    owner = type(getattr(client, "_client", None)).__name__
    return "azure.ai.openai" if "Azure" in owner else "openai"


def _schema(kind: type) -> dict[str, Any]:
    schema = getattr(kind, "model_json_schema", None)
    return {"type": kind.__qualname__, "json_schema": schema() if callable(schema) else None}

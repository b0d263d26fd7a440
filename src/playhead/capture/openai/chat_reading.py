"""Reads requests and answers of Chat Completions for the capture stage. Changes nothing."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from playhead.capture.model_values import ModelRequest, ModelResponse
from playhead.capture.openai.chat_chunks import whole_completion
from playhead.dialect import openai as dialect
from playhead.model import names
from playhead.model.message import Message
from playhead.model.objects.interrupts import let_through

# Not part of the request's content (extra_body is told apart): and headers may hold secrets.
TRANSPORT = frozenset({"extra_headers", "extra_query", "extra_body", "timeout"})
_NOT_SETTINGS = TRANSPORT | {"messages", "tools"}
_REQUEST_ATTRIBUTES = {
    "temperature": names.REQUEST_TEMPERATURE,
    "top_p": names.REQUEST_TOP_P,
    "max_tokens": names.REQUEST_MAX_TOKENS,
    "max_completion_tokens": names.REQUEST_MAX_TOKENS,
    "seed": names.REQUEST_SEED,
    "stream": names.REQUEST_STREAM,
}
_PLAIN = frozenset({str, int, float, bool})
_DICTIONARIES: set[type] = {dict}
# Types of the client's that say: not given.
LEFT_OUT = frozenset({"Omit", "NotGiven"})
_USAGE = (
    ("", "prompt_tokens", names.INPUT_TOKENS),
    ("", "completion_tokens", names.OUTPUT_TOKENS),
    ("prompt_tokens_details", "cached_tokens", names.CACHE_READ_TOKENS),
    ("completion_tokens_details", "reasoning_tokens", names.REASONING_TOKENS),
)
# Added by the client after parsing; the provider did not send them.
_PARSED = {"parsed", "parsed_arguments"}
_ADDED = frozenset({"parsed", "tool_calls"})


def read_request(client: Any, kwargs: Mapping[str, Any], method: str = "create") -> ModelRequest:
    """Reads a request from its keyword arguments (the client takes no others)."""
    settings, attributes = settings_of(kwargs, _NOT_SETTINGS, _REQUEST_ATTRIBUTES)
    if method == "parse":
        settings["stream"] = False  # which the client says by itself
    if (choices := settings.get("n", 1)) != 1:
        attributes[names.REQUEST_CHOICES] = choices
    tools = kwargs.get("tools")
    return ModelRequest(
        provider=provider_of(client),
        operation="chat",
        model=str(kwargs.get("model", "")),
        messages=_sent(kwargs.get("messages") or ()),
        to_message=_to_message,
        from_message=dialect.from_message,
        tools=listed(tools),
        settings=settings,
        attributes=attributes,
    )


def listed(tools: Any) -> list[Any] | None:
    """Tool definitions; None where there are none, or what the client does not take either."""
    kind: Any = type(tools)  # pyright: ignore[reportUnknownVariableType]
    if tools is None or kind is list:  # as nearly always
        return tools
    return list(cast("Sequence[Any]", tools)) if isinstance(tools, Sequence) else None


def settings_of(
    kwargs: Mapping[str, Any], elsewhere: Collection[str], known: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The request's other arguments as they are sent, and attributes for those that have a known name. `extra_body` is
    merged in, as the client does it; an argument that is recorded elsewhere is kept only if it is null.
    """
    settings: dict[str, Any] = {}
    attributes: dict[str, Any] = {}
    for name, value in kwargs.items():
        if name in elsewhere and (value is not None or name in TRANSPORT):
            continue
        if type(value) in _PLAIN:
            attribute = known.get(name)
            if attribute is not None:
                attributes[attribute] = value
        elif type(value).__name__ in LEFT_OUT:
            continue
        settings[name] = response_format(value) if isinstance(value, type) else value
    extra: Any = kwargs.get("extra_body")
    if extra is not None and isinstance(extra, Mapping):  # an abstract class takes its time to say no
        body = cast("Mapping[str, Any]", extra)
        settings |= {name: value for name, value in body.items() if type(value).__name__ not in LEFT_OUT}
    return settings, attributes


def _sent(messages: Any) -> Sequence[Any]:
    """Messages as dictionaries, as the client sends them."""
    if {*map(type, messages)} == _DICTIONARIES:
        return messages
    return [message if type(message) is dict else dumped(message) for message in messages]


def dumped(value: Any) -> Any:
    """An object of the client as the JSON that it sends; any other value unchanged."""
    if not hasattr(value, "model_dump"):
        return value
    left_out = getattr(value, "__api_exclude__", None)
    return value.model_dump(mode="json", exclude_unset=True, warnings=False, exclude=left_out)


def _to_message(native: Mapping[str, Any]) -> Message:
    """The canonical form. Parsed values and chunk indexes in the client's own objects are left out, so that the answer
    of one call has the same ref in the next.
    """
    if not _ADDED.isdisjoint(native):
        native = {**native}
        native.pop("parsed", None)
        if isinstance(calls := native.get("tool_calls"), list):
            native["tool_calls"] = [_plain_call(call) for call in cast("list[Any]", calls)]
    return dialect.to_message(native)


def _plain_call(call: Any) -> Any:
    if not isinstance(call, dict):
        return call
    plain = {key: value for key, value in cast("dict[str, Any]", call).items() if key != "index"}
    function: Any = plain.get("function")
    if isinstance(function, dict) and "parsed_arguments" in function:
        own = cast("dict[str, Any]", function)
        plain["function"] = {key: value for key, value in own.items() if key != "parsed_arguments"}
    return plain


def read_response(response: Any, *_: object) -> ModelResponse | None:
    """Reads a `ChatCompletion`; None for anything else."""
    if not hasattr(response, "choices"):
        return None
    return _response(response.model_dump(mode="json", exclude_unset=True, warnings=False))


def assemble(chunks: list[Any]) -> ModelResponse | None:
    """Reads the chunks of a stream; None if there are none."""
    dumped = [chunk.model_dump(mode="json", exclude_unset=True, warnings=False) for chunk in chunks]
    return _streamed(dumped) if dumped else None


def read_recorded(raw: dict[str, Any]) -> ModelResponse:
    """As `read_response`, from a recorded response."""
    return _streamed(raw["stream"]) if "stream" in raw else _response(raw)


def _streamed(chunks: list[dict[str, Any]]) -> ModelResponse:
    response = _response(whole_completion(chunks))
    return ModelResponse(response.messages, {"stream": chunks}, response.reasoning, response.attributes)


def _response(completion: dict[str, Any]) -> ModelResponse:
    messages: list[Any] = []
    reasonings: list[Any] = []
    finish_reasons: list[str] = []
    choices: Iterable[dict[str, Any]] = completion.get("choices") or ()
    for choice in choices:
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
    """The provider to whose API a resource of the client speaks."""
    owner = type(getattr(client, "_client", None)).__name__
    return "azure.ai.openai" if "Azure" in owner else "openai"


def response_format(kind: type) -> Any:
    """The schema that the client sends for a class given as response format."""
    try:
        from openai.lib._parsing import type_to_response_format_param  # noqa: PLC0415 - the library is the user's

        return type_to_response_format_param(kind)
    except BaseException as error:  # noqa: BLE001 - another version of the library, or a class that it does not take
        let_through(error)
        return described(kind)


def described(kind: type) -> dict[str, Any]:
    """A class as its name and schema; None if it has no schema."""
    try:
        schema = getattr(kind, "model_json_schema", None)
        said = schema() if callable(schema) else None
    except BaseException as error:  # noqa: BLE001 - the class is the user's
        let_through(error)
        said = None
    return {"type": kind.__qualname__, "json_schema": said}

"""Chat Completions of `openai`: reads requests and answers, joins the chunks of a stream, and puts another message into
a recorded answer. Changes none of the program's objects.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast
from weakref import WeakKeyDictionary

from playhead.capture.model_call import ObservedRequest, ObservedResponse
from playhead.capture.restoring import recorded_metadata
from playhead.capture.stainless import (
    TRANSPORT,
    DumpedModel,
    answer_json,
    as_list,
    audio_usage,
    request_json,
    schema_of_class,
    settings_of,
    usage_of,
)
from playhead.dialect import openai_chat as dialect
from playhead.kernel.guard import guarded
from playhead.model import names
from playhead.model.json_value import (
    Json,
    JsonMapping,
    JsonValue,
    int_at,
    list_at,
    object_at,
    objects_at,
    objects_of,
    text_at,
)
from playhead.model.message import Message

# --- requests and answers ---------------------------------------------------------------------------------------------

_NOT_SETTINGS = TRANSPORT | {"messages", "tools"}
_REQUEST_ATTRIBUTES = {
    "temperature": names.REQUEST_TEMPERATURE,
    "top_p": names.REQUEST_TOP_P,
    "max_tokens": names.REQUEST_MAX_TOKENS,
    "max_completion_tokens": names.REQUEST_MAX_TOKENS,
    "seed": names.REQUEST_SEED,
    "stream": names.REQUEST_STREAM,
}
_DICTIONARIES: set[type] = {dict}
_USAGE = (
    ("", "prompt_tokens", names.INPUT_TOKENS),
    ("", "completion_tokens", names.OUTPUT_TOKENS),
    ("prompt_tokens_details", "cached_tokens", names.CACHE_READ_TOKENS),
    ("completion_tokens_details", "reasoning_tokens", names.REASONING_TOKENS),
)
_AUDIO = {"prompt_tokens_details": names.AUDIO_INPUT_TOKENS, "completion_tokens_details": names.AUDIO_OUTPUT_TOKENS}
# Added by the client after parsing; the provider did not send them.
_PARSED = {"parsed", "parsed_arguments"}
_ADDED = frozenset({"parsed", "tool_calls"})


def read_request(client: object, kwargs: Mapping[str, object], method: str = "create") -> ObservedRequest:
    """Reads a request from its keyword arguments (the client takes no positional ones)."""
    request = chat_request(provider_of(client), kwargs, response_format)
    if method == "parse":
        request.settings = {**request.settings, "stream": False}  # `parse` sends it
    return request


def chat_request(provider: str, kwargs: Mapping[str, object], schema_of: Callable[[type], object]) -> ObservedRequest:
    """Reads a request of any client with an API like Chat Completions.  `schema_of` returns the schema that the client
    sends for a class."""
    settings, attributes = settings_of(kwargs, _NOT_SETTINGS, _REQUEST_ATTRIBUTES, schema_of)
    if (choices := settings.get("n", 1)) not in (1, None):
        attributes[names.REQUEST_CHOICES] = choices
    tools = kwargs.get("tools")
    return ObservedRequest(
        provider=provider,
        operation="chat",
        model=str(kwargs.get("model", "")),
        messages=_sent_messages(kwargs.get("messages") or ()),
        to_message=_to_message,
        from_message=dialect.from_message,
        tools=as_list(tools),
        settings=settings,
        attributes=attributes,
    )


def _sent_messages(messages: Any) -> Sequence[object]:
    """Returns the messages as dictionaries, as the client sends them."""
    natives: Sequence[object] = messages
    if {*map(type, natives)} == _DICTIONARIES:
        return natives
    return [native if type(native) in _DICTIONARIES else request_json(native) for native in natives]


def _to_message(native: JsonMapping) -> Message:
    """Returns the canonical message, without the parsed values and chunk indexes in the client's own objects, so that
    the answer of one call has the same ref in the next."""
    if not _ADDED.isdisjoint(native):
        native = {**native}
        native.pop("parsed", None)
        if isinstance(calls := native.get("tool_calls"), list):
            native["tool_calls"] = [_plain_call(call) for call in calls]
    return dialect.to_message(native)


def _plain_call(call: JsonValue) -> JsonValue:
    if not isinstance(call, dict):
        return call
    plain = {key: value for key, value in call.items() if key != "index"}
    function = plain.get("function")
    if isinstance(function, dict) and "parsed_arguments" in function:
        plain["function"] = {key: value for key, value in function.items() if key != "parsed_arguments"}
    return plain


def read_response(response: Any, *_: object) -> ObservedResponse | None:
    """Reads a `ChatCompletion`; None for anything else."""
    if not hasattr(response, "choices"):
        return None
    return _response(answer_json(response))


def assemble(chunks: Sequence[DumpedModel]) -> ObservedResponse | None:
    """Reads the chunks of a stream; None if there are none."""
    return _streamed_response([*map(answer_json, chunks)]) if chunks else None


def read_recorded(raw: Json) -> ObservedResponse:
    """Reads a recorded response, streamed or not."""
    return _streamed_response(objects_at(raw, "stream")) if "stream" in raw else _response(raw)


def _streamed_response(chunks: list[Json]) -> ObservedResponse:
    response = _response(joined_completion(chunks))
    return ObservedResponse(response.messages, {"stream": chunks}, response.reasoning, response.attributes)


def _response(completion: Json) -> ObservedResponse:
    messages: list[Message] = []
    reasonings: list[object] = []
    finish_reasons: list[str] = []
    for choice in objects_at(completion, "choices"):
        native = object_at(choice, "message")
        if not _PARSED.isdisjoint(native) or native.get("tool_calls"):
            _drop_parsed(native)
        message, reasoning = dialect.output_message(native)
        messages.append(message)
        if reasoning is not None:
            reasonings.append(reasoning)
        finish_reasons.append(text_at(choice, "finish_reason"))
    usage = object_at(completion, "usage")
    attributes: dict[str, object] = {
        names.FINISH_REASONS: finish_reasons,
        **usage_of(usage, _USAGE),
        **audio_usage(usage, _AUDIO),
    }
    for key, name in (("id", names.RESPONSE_ID), ("model", names.RESPONSE_MODEL)):
        if completion.get(key):
            attributes[name] = completion[key]
    reasoning = reasonings[0] if len(reasonings) == 1 else reasonings or None
    return ObservedResponse(messages, completion, reasoning, attributes)


def _drop_parsed(message: Json) -> None:
    message.pop("parsed", None)
    for tool_call in objects_at(message, "tool_calls"):
        object_at(tool_call, "function").pop("parsed_arguments", None)


def provider_of(client: object) -> str:
    """Returns the provider whose API a resource of the client calls, by its name in the GenAI conventions; `openai` for
    an unknown host, since it has OpenAI's protocol."""
    owner: object = getattr(client, "_client", None)
    try:
        return _provider_of_client[owner]
    except (KeyError, TypeError):
        pass
    provider = _provider_at(owner)
    with suppress(TypeError):  # no weak references to it: looked up each time
        _provider_of_client[owner] = provider
    return provider


# A cache: needed in each call, and reading the host of a URL takes microseconds.
_provider_of_client: WeakKeyDictionary[object, str] = WeakKeyDictionary()


def _provider_at(owner: object) -> str:
    if "Azure" in type(owner).__name__:
        return "azure.ai.openai"
    host = str(getattr(getattr(owner, "_base_url", None), "host", "") or "")
    return next((name for ending, name in _PROVIDERS.items() if host.endswith(ending)), "openai")


# Ending of the host ("api.host" ends with ".host", too) → name in the conventions.
_PROVIDERS = {
    "api.openai.com": "openai",
    ".openai.azure.com": "azure.ai.openai",
    ".services.ai.azure.com": "azure.ai.inference",
    ".anthropic.com": "anthropic",
    ".cohere.com": "cohere",
    ".deepseek.com": "deepseek",
    ".groq.com": "groq",
    ".mistral.ai": "mistral_ai",
    ".perplexity.ai": "perplexity",
    ".x.ai": "x_ai",
    "generativelanguage.googleapis.com": "gcp.gemini",
    "aiplatform.googleapis.com": "gcp.vertex_ai",
}


def response_format(kind: type) -> object:
    """Returns the schema that the client sends for a class given as response format."""
    # Fails in another version of the library, or for a class that it does not take.
    with guarded("read the schema of a class", log=False):
        from openai.lib._parsing import type_to_response_format_param  # noqa: PLC0415 - the library is the user's

        return type_to_response_format_param(kind)
    return schema_of_class(kind)


# --- chunks of a stream -----------------------------------------------------------------------------------------------

_JOINED_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")
_TOOL_FORMS = ("function", "custom")
_THINKING = "thinking"


def copy_of_chunk(chunk: Any) -> Any:
    """Returns a copy of a chunk that begins a tool call; any other chunk unchanged.

    Programs use the first delta of a tool call as the call, and add the arguments of later deltas to it in place.
    """
    for choice in getattr(chunk, "choices", None) or ():
        if any(called.id for called in getattr(choice.delta, "tool_calls", None) or ()):
            return chunk.model_copy(deep=True)
    return chunk


def joined_completion(chunks: Iterable[JsonMapping]) -> Json:
    """Returns the completion in its unstreamed form, as far as it was received."""
    whole: Json = {}
    choices: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        for key in ("id", "created", "model", "system_fingerprint", "service_tier", "usage"):
            if chunk.get(key) is not None:
                whole[key] = chunk[key]
        if groq_usage := object_at(chunk, "x_groq").get("usage"):  # where Groq has it if it was not asked for
            whole.setdefault("usage", groq_usage)
        for piece in objects_at(chunk, "choices"):
            index = int_at(piece, "index")
            choice = choices.setdefault(index, {"message": {}})
            choice["index"] = index
            if piece.get("finish_reason"):
                choice["finish_reason"] = piece["finish_reason"]
            _add_delta(choice["message"], object_at(piece, "delta"))
    whole["object"] = "chat.completion"
    whole["choices"] = [_with_calls_in_order(choices[index]) for index in sorted(choices)]
    return whole


def _add_delta(message: dict[str, Any], delta: JsonMapping) -> None:
    for key, value in delta.items():
        if key == "tool_calls":
            _add_tool_calls(message.setdefault("tool_calls", {}), objects_of(value))
        elif key == "function_call" and isinstance(value, dict):
            _join_strings(message.setdefault("function_call", {}), value)
        elif key == "content" and (isinstance(value, list) or isinstance(message.get(key), list)):
            message[key] = _joined_elements(message.get(key), value)
        elif key in _JOINED_TEXTS and isinstance(value, str):
            message[key] = (message.get(key) or "") + value
        elif value is not None or key not in message:
            message[key] = value


def _joined_elements(before: JsonValue, more: JsonValue) -> JsonValue:
    """Returns a content as a list of elements: Mistral sends thinking as elements, and the text after it as a text.
    Pieces of the same text, or of the same thinking, become one element."""
    joined: list[Json] = []
    for element in [*_elements(before), *_elements(more)]:
        kind = element.get("type")
        last = joined[-1] if joined and joined[-1].get("type") == kind else {}
        if kind == "text" and isinstance(text := element.get("text"), str) and last:
            last["text"] = text_at(last, "text") + text
        elif kind == _THINKING and isinstance(texts := element.get(_THINKING), list) and last:
            joined[-1] = {**last, **element, _THINKING: [*_joined_texts([*list_at(last, _THINKING), *texts])]}
        else:
            joined.append({**element})
    return [*joined]


def _elements(content: JsonValue) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return objects_of(content)


def _joined_texts(texts: Iterable[JsonValue]) -> list[Json]:
    joined: list[Json] = []
    for element in objects_of([*texts]):
        if joined and joined[-1].get("type") == element.get("type") == "text":
            joined[-1]["text"] = text_at(joined[-1], "text") + text_at(element, "text")
        else:
            joined.append({**element})
    return joined


def _add_tool_calls(calls: dict[int, dict[str, Any]], deltas: Iterable[JsonMapping]) -> None:
    for delta in deltas:
        call = calls.setdefault(int_at(delta, "index"), {})
        for key, value in delta.items():
            if key in _TOOL_FORMS and isinstance(value, dict):
                _join_strings(call.setdefault(key, {}), value)
            elif key != "index" and value is not None:
                call[key] = value


def _join_strings(whole: dict[str, Any], delta: JsonMapping) -> None:
    """Appends the strings of a delta: a name comes whole in the first delta, arguments come in many."""
    for key, value in delta.items():
        if isinstance(value, str):
            whole[key] = whole.get(key, "") + value


def _with_calls_in_order(choice: dict[str, Any]) -> Json:
    calls = choice["message"].get("tool_calls")
    if isinstance(calls, dict):
        by_index = cast("dict[int, Json]", calls)
        choice["message"]["tool_calls"] = [by_index[index] for index in sorted(by_index)]
    return choice


# --- answers with another message -------------------------------------------------------------------------------------

# Defaults for a call without a recorded answer: one that was in doubt.
_DEFAULTS = {"id": "chatcmpl-playhead", "created": 0}
# True of the recorded answer only, so not copied.
_RECORDED_KEYS_REPLACED = {"choices", "usage", "stream"}


def with_message(recorded: object, message: str | JsonMapping, *, model: str, streamed: bool) -> Json:
    """Returns the recorded response with this message: a text, or a message in OpenAI's form."""
    fields = {"content": message} if isinstance(message, str) else message
    native: Json = {"role": "assistant", "content": None, **fields}
    ending = "tool_calls" if native.get("tool_calls") else "stop"
    about: Json = {**_DEFAULTS, "model": model, **recorded_metadata(recorded, _RECORDED_KEYS_REPLACED)}
    about["object"] = "chat.completion.chunk" if streamed else "chat.completion"
    if not streamed:
        choice: Json = {"index": 0, "finish_reason": ending, "logprobs": None, "message": native}
        return {**about, "choices": [choice]}
    if native.get("tool_calls"):
        native["tool_calls"] = [{"index": index, **call} for index, call in enumerate(objects_at(native, "tool_calls"))]
    pieces: list[Json] = [
        {"index": 0, "delta": native, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": ending},
    ]
    return {"stream": [{**about, "choices": [piece]} for piece in pieces]}

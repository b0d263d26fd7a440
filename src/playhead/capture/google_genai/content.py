"""Content of Gemini's API (`generateContent`): reads requests as the client is about to send them, reads answers, and
gives the client recorded answers in the place of the server's. Changes none of the program's objects.

The wrapped methods receive the answer to a request, so the client makes its own objects from recorded answers as from
live ones: chunk by chunk, parsed to the requested schema, in chats and in automatic function calling. Nothing leaves
the process.
"""

import copy
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

from playhead.capture.model_call import ObservedRequest, ObservedResponse
from playhead.capture.restoring import as_awaitable, kept_answer, recorded_chunks, recorded_metadata
from playhead.capture.wrapping import MethodCall
from playhead.compat.google_genai import built_body, http_options_of, response_class
from playhead.dialect import google_genai as dialect
from playhead.errors import CannotRestore
from playhead.model import names
from playhead.model.canonical import parse_json
from playhead.model.json_value import (
    Json,
    JsonMapping,
    JsonValue,
    int_at,
    list_at,
    list_of,
    mapping_of,
    object_at,
    object_of,
    objects_at,
)

# --- requests ---------------------------------------------------------------------------------------------------------

_NOT_SETTINGS = frozenset({"contents", "systemInstruction", "tools"})
_REQUEST_ATTRIBUTES = {
    "temperature": names.REQUEST_TEMPERATURE,
    "topP": names.REQUEST_TOP_P,
    "maxOutputTokens": names.REQUEST_MAX_TOKENS,
    "seed": names.REQUEST_SEED,
}
_PLAIN = (int, float, str)


def is_streamed(call: MethodCall) -> bool:
    """Whether the client reads the answer in chunks."""
    return "streamed" in call.method


def method_of(kwargs: JsonMapping) -> str:
    """Returns the API method that the request calls, such as `generateContent`."""
    return str(kwargs.get("path", "")).partition("?")[0].rpartition(":")[2]


def model_of(kwargs: JsonMapping) -> str:
    """Returns the model's name; for a tuned model or an endpoint, its whole resource name."""
    resource = str(kwargs.get("path", "")).partition("?")[0].rpartition(":")[0]
    above, _, name = resource.rpartition("/")
    return name if name and (above == "models" or above.endswith("/models")) else resource


def provider_of(client: object) -> str:
    """Returns the provider's name in the GenAI conventions."""
    return "gcp.vertex_ai" if getattr(client, "vertexai", False) else "gcp.gemini"


def body_of(call: MethodCall) -> Json:
    """Returns the request's body as it is sent."""
    request_dict = call.kwargs["request_dict"]
    options = call.kwargs.get("http_options")
    if _has_extra_body(options) or _has_extra_body(http_options_of(call.client)):
        # The client merges the extra body in place and in its own way, so it gets a copy.
        return built_body(call.client, call.kwargs["path"], copy.deepcopy(request_dict), options)
    return {key: value for key, value in request_dict.items() if not key.startswith("_")}


def read_request(call: MethodCall) -> ObservedRequest:
    """Reads a request for content."""
    body = body_of(call)
    system = body.get("systemInstruction")
    if not isinstance(system, dict) or not isinstance(system.get("parts"), list):
        system = None
    contents = body.get("contents")
    thread, shape = dialect.thread_of(list_of(contents), system)
    elsewhere = _NOT_SETTINGS if system is not None else _NOT_SETTINGS - {"systemInstruction"}
    return ObservedRequest(
        provider=provider_of(call.client),
        operation="generate_content",
        model=model_of(call.kwargs),
        messages=thread,
        to_message=dialect.to_message,
        from_message=dialect.from_message,
        tools=body.get("tools"),
        settings={key: value for key, value in body.items() if key not in elsewhere},
        attributes=_request_attributes(body, is_streamed="streamed" in call.method),
        shape={"dialect": dialect.NAME, **shape},
        as_native=_as_content,
    )


def with_edit(call: MethodCall, messages: list[JsonValue] | None) -> MethodCall:
    """Returns the call with other messages; the system instruction is the first of them."""
    if messages is None:
        return call
    contents, system = dialect.contents_of(messages, {})
    body = {**call.kwargs["request_dict"], "contents": contents}
    body.pop("systemInstruction", None)
    if system is not None:
        body["systemInstruction"] = system
    return call.with_kwargs({**call.kwargs, "request_dict": body})


def _as_content(message: JsonValue) -> JsonValue:
    """Converts a message whose `content` an edit has set to a text: its parts become the text, or a function response
    whose result is the text."""
    fields = object_of(message)
    text = fields.get("content")
    if not isinstance(text, str):
        return message
    parts: list[JsonValue] = [{"text": text}]
    old_parts = list_at(fields, "parts")
    if len(old_parts) == 1 and "functionResponse" in object_of(old_parts[0]):
        parts = [{"functionResponse": {**object_at(old_parts[0], "functionResponse"), "response": {"result": text}}}]
    role = fields.get("role")
    return {"role": "model" if role == "assistant" else role, "parts": parts}


def _request_attributes(body: JsonMapping, *, is_streamed: bool) -> Json:
    generation_config = body.get("generationConfig")
    config = object_of(generation_config)
    attributes: Json = {
        name: config[key] for key, name in _REQUEST_ATTRIBUTES.items() if isinstance(config.get(key), _PLAIN)
    }
    if (choices := config.get("candidateCount", 1)) != 1:
        attributes[names.REQUEST_CHOICES] = choices
    if is_streamed:
        attributes[names.REQUEST_STREAM] = True
    return attributes


def _has_extra_body(options: object) -> bool:
    """Whether options of the client, or of one request, add to the body.  In older versions the options are
    dictionaries."""
    return bool(mapping_of(options).get("extra_body") or getattr(options, "extra_body", None))


# --- answers ----------------------------------------------------------------------------------------------------------

# Gemini's reasons that are `content_filter` in Chat Completions.
_FILTERED = frozenset({
    "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY", "IMAGE_RECITATION",
    "IMAGE_PROHIBITED_CONTENT",
})  # fmt: skip
_AUDIO = {
    names.AUDIO_INPUT_TOKENS: "promptTokensDetails",
    names.AUDIO_OUTPUT_TOKENS: "candidatesTokensDetails",
}
_TOOL_CALLS = "tool_calls"
_CONTENT_FILTER = "content_filter"


def json_of(answer: object) -> Json | None:
    """Returns the JSON that the client received: the body of an HTTP response, or in older versions the JSON itself;
    None for any other value."""
    received = object_of(answer)
    if isinstance(answer, dict):
        return received
    body = getattr(answer, "body", None)
    value: JsonValue = parse_json(body) if isinstance(body, str | bytes) and body else None
    return value if isinstance(value, dict) else None


def read_response(answer: object) -> ObservedResponse | None:
    """Reads an answer that is not streamed; None for anything else."""
    raw = json_of(answer)
    return None if raw is None else _response(raw, raw)


def asks_for_functions(chunk: object) -> bool:
    """Whether a chunk may request a function call."""
    body: object = getattr(chunk, "body", None)
    return "functionCall" in (body if isinstance(body, str) else repr(chunk))


def assemble(chunks: Sequence[object]) -> ObservedResponse | None:
    """Reads the chunks of a stream; None if there are none."""
    read = [raw for chunk in chunks if (raw := json_of(chunk)) is not None]
    return _response(joined_response(read), {"stream": [*read]}) if read else None


def read_recorded(raw: Json) -> ObservedResponse:
    """Reads a recorded response, streamed or not."""
    return _response(joined_response(objects_at(raw, "stream")) if "stream" in raw else raw, raw)


def joined_response(chunks: Sequence[JsonMapping]) -> Json:
    """Returns the response in its unstreamed form, as far as it was received."""
    whole: Json = {}
    candidates: dict[int, Json] = {}
    contents: dict[int, list[JsonValue]] = {}
    for chunk in chunks:
        whole |= {key: value for key, value in chunk.items() if key not in ("candidates", "usageMetadata")}
        if isinstance(usage := chunk.get("usageMetadata"), dict):
            whole["usageMetadata"] = {**object_at(whole, "usageMetadata"), **usage}
        for candidate in objects_at(chunk, "candidates"):
            index = int_at(candidate, "index")
            about = {key: value for key, value in candidate.items() if key != "content"}
            candidates[index] = {**candidates.get(index, {}), **about}
            if _parts(candidate):
                contents.setdefault(index, []).append({"role": "model", "parts": _parts(candidate)})
    for index, turns in contents.items():
        candidates[index]["content"] = dialect.joined_turn(turns)
    return {**whole, "candidates": [candidates[index] for index in sorted(candidates)]}


def _response(response: JsonMapping, raw: Json) -> ObservedResponse:
    candidates = objects_at(response, "candidates")
    read = [dialect.output_message(object_at(candidate, "content")) for candidate in candidates if _parts(candidate)]
    reasonings = [reasoning for _, reasoning in read if reasoning is not None]
    attributes = usage_of(response.get("usageMetadata"))
    attributes[names.FINISH_REASONS] = _finish_reasons(response, candidates)
    for key, name in (("responseId", names.RESPONSE_ID), ("modelVersion", names.RESPONSE_MODEL)):
        if response.get(key):
            attributes[name] = response[key]
    reasoning = reasonings[0] if len(reasonings) == 1 else reasonings or None
    arguments = [_function_call(part).get("args") for candidate in candidates for part in _parts(candidate)]
    return ObservedResponse(
        [message for message, _ in read], raw, reasoning, attributes, ordered=[value for value in arguments if value]
    )


def usage_of(usage: JsonValue) -> dict[str, object]:
    """Returns attributes with the token counts.  In the conventions, input includes cached tokens, and output includes
    reasoning; Gemini counts reasoning, and the tokens that its own tools add to the prompt, separately."""
    counts = object_of(usage)
    sums = {
        names.INPUT_TOKENS: ("promptTokenCount", "toolUsePromptTokenCount"),
        names.OUTPUT_TOKENS: ("candidatesTokenCount", "thoughtsTokenCount"),
        names.CACHE_READ_TOKENS: ("cachedContentTokenCount",),
        names.REASONING_TOKENS: ("thoughtsTokenCount",),
    }
    attributes: dict[str, object] = {}
    for name, keys in sums.items():
        numbers = [number for key in keys if (number := int_at(counts, key, None)) is not None]
        if numbers:  # absent is not zero
            attributes[name] = sum(numbers)
    for name, key in _AUDIO.items():
        details = [detail for detail in objects_at(counts, key) if detail.get("modality") == "AUDIO"]
        numbers = [number for detail in details if (number := int_at(detail, "tokenCount", None)) is not None]
        if numbers:
            attributes[name] = sum(numbers)
    return attributes


def _finish_reasons(response: JsonMapping, candidates: Sequence[JsonMapping]) -> list[str]:
    feedback = response.get("promptFeedback")
    if not candidates and isinstance(feedback, dict) and feedback.get("blockReason"):
        return [_CONTENT_FILTER]
    return [_finish_reason(candidate) for candidate in candidates]


def _finish_reason(candidate: JsonMapping) -> str:
    reason = str(candidate.get("finishReason") or "")
    if reason in _FILTERED:
        return _CONTENT_FILTER
    if reason == "STOP" and any(_function_call(part) for part in _parts(candidate)):
        return _TOOL_CALLS
    return dialect.finish_reason(reason)


def _parts(candidate: JsonMapping) -> list[JsonValue]:
    return list_at(candidate.get("content"), "parts")


def _function_call(part: JsonValue) -> Json:
    return object_at(part, "functionCall")


# --- recorded answers -------------------------------------------------------------------------------------------------

_ANSWER_HEADERS = {"content-type": "application/json"}
# True of the recorded answer only, so not copied.
_RECORDED_KEYS_REPLACED = frozenset({"candidates", "usageMetadata", "promptFeedback", "stream"})


def restore(raw: object, call: MethodCall, ending: BaseException | None) -> object:
    """Rebuilds what the client's method returned from `raw`; see `ClientApi.restore`.  Raises CannotRestore."""
    recorded = kept_answer(raw)
    make = _answer_maker()
    if is_streamed(call):
        chunks = recorded_chunks(recorded)
        return (
            as_awaitable(_recorded_chunks_async(chunks, make, ending))
            if call.is_async
            else _recorded_chunks(chunks, make, ending)
        )
    if "stream" in recorded or not isinstance(raw, dict):
        raise CannotRestore("an unstreamed answer is asked for, and none was recorded")
    answer = make(recorded)
    return as_awaitable(answer) if call.is_async else answer


def with_message(recorded: object, message: str | JsonMapping, call: MethodCall) -> Json:
    """Returns the recorded response with this answer: a text, or a content as the API writes it."""
    content: Json = {"parts": [{"text": message}]} if isinstance(message, str) else dict(message)
    response = {"modelVersion": model_of(call.kwargs), **recorded_metadata(recorded, _RECORDED_KEYS_REPLACED)}
    candidate: Json = {"content": {"role": "model", **content}, "finishReason": "STOP", "index": 0}
    whole: Json = {**response, "candidates": [candidate]}
    return {"stream": [whole]} if is_streamed(call) else whole


def _answer_maker() -> Callable[[JsonValue], object]:
    """Returns a function that makes the return value of the client's methods from JSON: an HTTP response, or in older
    versions the JSON itself."""
    kind = response_class()
    if kind is None:
        return lambda value: value
    return lambda value: kind(headers=dict(_ANSWER_HEADERS), body=json.dumps(value))


def _recorded_chunks(
    chunks: Sequence[JsonValue], make: Callable[[JsonValue], object], ending: BaseException | None
) -> Iterator[object]:
    for chunk in chunks:
        yield make(chunk)
    if ending is not None:
        raise ending


async def _recorded_chunks_async(
    chunks: Sequence[JsonValue], make: Callable[[JsonValue], object], ending: BaseException | None
) -> AsyncIterator[object]:
    for chunk in _recorded_chunks(chunks, make, ending):
        yield chunk

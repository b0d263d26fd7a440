"""InvokeModel: reads and writes the APIs of the models behind it: Anthropic's, Nova's (as Converse), APIs like Chat
Completions, APIs with one text, embeddings. Changes none of the program's objects.

The API is recognized by the form of the request: the model id alone does not tell, since it may be the name of a
profile. A request is read if its body is a JSON object of a known form. Any other body (of an image model, or a file to
read from) is recorded as a call without messages.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Protocol, Self

from playhead.capture.anthropic import messages as messages_api
from playhead.capture.anthropic.messages import joined_message
from playhead.capture.botocore import converse
from playhead.capture.botocore.converse import PROVIDER, events_of, joined_answer, sent, usage_attributes
from playhead.capture.botocore.streams import STREAMED, body_bytes
from playhead.capture.model_call import ObservedRequest, ObservedResponse
from playhead.capture.restoring import no_message
from playhead.capture.wrapping import MethodCall
from playhead.dialect import bedrock, openai_chat
from playhead.errors import CannotRestore
from playhead.model import names
from playhead.model.canonical import canonical_json, parse_json
from playhead.model.json_value import (
    Json,
    JsonMapping,
    JsonValue,
    list_at,
    list_of,
    object_at,
    object_of,
    objects_at,
    objects_of,
    text_at,
    value_at,
)
from playhead.model.message import Message, text_message

_METRICS = "amazon-bedrock-invocationMetrics"


class Family(Protocol):
    """One API.  Requests, answers and chunks are JSON objects."""

    def read_request(self, model: str, body: Json) -> ObservedRequest:
        """Reads the request."""
        ...

    def join_chunks(self, chunks: Sequence[Json]) -> Json:
        """Joins the chunks of a stream to one answer, as far as they were received."""
        ...

    def read_answer(self, answer: Json, raw: object) -> ObservedResponse:
        """Reads the answer; `raw` is its recorded form."""
        ...

    def with_message(self, recorded: Sequence[Json], message: JsonValue, *, streamed: bool) -> list[Json]:
        """Returns the answer, or the chunks, with this message.  `recorded`: those recorded.  Raises CannotRestore."""
        ...

    def with_messages(self, body: Json, messages: Sequence[JsonValue]) -> Json | None:
        """Returns the request with other messages; None if it cannot be edited."""
        ...


def family_of(model: str, body: Json | None) -> Family | None:
    """Returns the API that the request uses; None if it is unknown."""
    if body is None:
        return None
    if "embed" in model or ("texts" in body and "input_type" in body):
        return _EMBEDDINGS
    messages = body.get("messages")
    if isinstance(messages, list):
        if "anthropic_version" in body:
            return _ANTHROPIC
        return _NOVA if _is_nova(model, body) else _CHAT
    return OneText.of(body)


def _is_nova(model: str, body: JsonMapping) -> bool:
    return "amazon.nova" in model or "schemaVersion" in body or "inferenceConfig" in body


# --- Anthropic --------------------------------------------------------------------------------------------------------


class _Anthropic:
    """Anthropic's Messages.  Model and streaming are parameters of the client, and not in the body."""

    def read_request(self, model: str, body: Json) -> ObservedRequest:
        request = messages_api.read_request(None, body)
        request.provider, request.model = converse.PROVIDER, model
        return request

    def join_chunks(self, chunks: Sequence[Json]) -> Json:
        return joined_message([{name: value for name, value in chunk.items() if name != _METRICS} for chunk in chunks])

    def read_answer(self, answer: Json, raw: object) -> ObservedResponse:
        response = messages_api.read_recorded(dict(answer), None, {})
        return ObservedResponse(response.messages, raw, response.reasoning, response.attributes)

    def with_message(self, recorded: Sequence[Json], message: JsonValue, *, streamed: bool) -> list[Json]:
        recorded_answer: Json = {}
        if recorded:
            recorded_answer = {"stream": [*recorded]} if recorded[0].get("type") == "message_start" else recorded[0]
        answer = messages_api.with_message(recorded_answer, message, model="", streamed=streamed)
        return objects_at(answer, "stream") if streamed else [answer]

    def with_messages(self, body: Json, messages: Sequence[JsonValue]) -> Json | None:
        changed = messages_api.with_edit(body, messages)
        return None if changed is None else object_of(changed)


# --- Nova -------------------------------------------------------------------------------------------------------------


class _Nova:
    """Amazon Nova's API: requests, answers and the events of streams are those of Converse."""

    def read_request(self, model: str, body: Json) -> ObservedRequest:
        return converse.request_of(model, body, streamed=False)

    def join_chunks(self, chunks: Sequence[Json]) -> Json:
        return joined_answer([{name: value for name, value in chunk.items() if name != _METRICS} for chunk in chunks])

    def read_answer(self, answer: Json, raw: object) -> ObservedResponse:
        return converse.response_of(answer, raw)

    def with_message(self, recorded: Sequence[Json], message: JsonValue, *, streamed: bool) -> list[Json]:
        answer = object_at(converse.with_message(None, message, streamed=False), "body")
        return events_of(answer) if streamed else [answer]

    def with_messages(self, body: Json, messages: Sequence[JsonValue]) -> Json | None:
        as_blocks = [
            {**native, "content": [{"text": native["content"]}]} if isinstance(native.get("content"), str) else native
            for native in map(object_of, messages)
        ]
        system, joined = bedrock.merge_turns(as_blocks)
        changed: Json = {**{name: value for name, value in body.items() if name != "system"}, "messages": joined}
        return changed if system is None else {**changed, "system": system}


# --- Chat Completions -------------------------------------------------------------------------------------------------

_CHAT_REQUEST_ATTRIBUTES = {
    "temperature": names.REQUEST_TEMPERATURE,
    "top_p": names.REQUEST_TOP_P,
    "max_tokens": names.REQUEST_MAX_TOKENS,
    "max_completion_tokens": names.REQUEST_MAX_TOKENS,
}
_CHAT_USAGE = {"prompt_tokens": names.INPUT_TOKENS, "completion_tokens": names.OUTPUT_TOKENS}


class _Chat:
    """APIs like Chat Completions: Mistral's, OpenAI's open models, DeepSeek's, Qwen's."""

    def read_request(self, model: str, body: Json) -> ObservedRequest:
        settings = {name: value for name, value in body.items() if name not in ("messages", "tools")}
        attributes = {to: body[name] for name, to in _CHAT_REQUEST_ATTRIBUTES.items() if body.get(name) is not None}
        return ObservedRequest(
            provider=converse.PROVIDER,
            operation="chat",
            model=model,
            messages=list_at(body, "messages"),
            to_message=openai_chat.to_message,
            from_message=openai_chat.from_message,
            tools=body.get("tools"),
            settings=settings,
            attributes=attributes,
        )

    def join_chunks(self, chunks: Sequence[Json]) -> Json:
        """Joins texts and arguments of tool calls.  Mistral's chunks have a `message` where others have a `delta`."""
        choice: Json = {}
        message: Json = {"role": "assistant"}
        answer: Json = {}
        for chunk in chunks:
            answer |= {name: value for name, value in chunk.items() if name not in ("choices", _METRICS)}
            for piece in objects_at(chunk, "choices"):
                _add_delta(message, object_at(piece, "delta") or object_at(piece, "message"))
                choice |= {name: piece[name] for name in ("finish_reason", "stop_reason") if piece.get(name)}
        return {**answer, "choices": [{"message": message, **choice}]}

    def read_answer(self, answer: Json, raw: object) -> ObservedResponse:
        choices = objects_at(answer, "choices")
        read = [openai_chat.output_message(object_at(choice, "message")) for choice in choices]
        reasonings = [reasoning for _, reasoning in read if reasoning is not None]
        reasons = [choice.get("finish_reason") or choice.get("stop_reason") for choice in choices]
        usage = object_at(answer, "usage")
        attributes: dict[str, object] = {to: usage[name] for name, to in _CHAT_USAGE.items() if name in usage}
        if any(reasons):
            attributes[names.FINISH_REASONS] = [str(reason) for reason in reasons]
        if model := answer.get("model"):
            attributes[names.RESPONSE_MODEL] = model
        return ObservedResponse(
            [message for message, _ in read], raw, reasonings[0] if reasonings else None, attributes
        )

    def with_message(self, recorded: Sequence[Json], message: JsonValue, *, streamed: bool) -> list[Json]:
        fields: Json = {"content": message} if isinstance(message, str) else object_of(message)
        native: Json = {"role": "assistant", **fields}
        about = {} if not recorded else recorded[0]
        choice: Json = {**object_at(list_at(about, "choices"), 0), "index": 0}
        key = "delta" if streamed and "message" not in choice else "message"
        reason = "stop_reason" if "stop_reason" in choice else "finish_reason"
        choice = {**choice, key: native, reason: "tool_calls" if native.get("tool_calls") else "stop"}
        return [{**{name: value for name, value in about.items() if name != _METRICS}, "choices": [choice]}]

    def with_messages(self, body: Json, messages: Sequence[JsonValue]) -> Json | None:
        return {**body, "messages": [*messages]}


def _add_delta(message: Json, piece: JsonMapping) -> None:
    for name, value in piece.items():
        if name == "tool_calls" and isinstance(value, list):
            calls = objects_at(message, name)
            for call in objects_of(value):
                _add_call_delta(calls, call)
            message[name] = [*calls]
        elif isinstance(value, str) and name != "role":
            message[name] = text_at(message, name) + value
        elif value is not None:
            message[name] = value


def _add_call_delta(calls: list[Json], piece: JsonMapping) -> None:
    index, function = piece.get("index"), object_at(piece, "function")
    entry = next((call for call in calls if index is not None and call.get("index") == index), None)
    if entry is None:
        calls.append({**piece, "function": {**function}})
        return
    begun = object_at(entry, "function")
    entry["function"] = {**begun, "arguments": text_at(begun, "arguments") + text_at(function, "arguments")}


# --- one text: Llama, older Mistral, Cohere Command, Titan Text -------------------------------------------------------

_PROMPT_KEYS = ("prompt", "inputText", "message")
"""Keys of the request's text.  Requests with `message` (Cohere's) also contain the earlier messages."""
_TEXT_REQUEST_ATTRIBUTES = {
    "temperature": names.REQUEST_TEMPERATURE,
    "top_p": names.REQUEST_TOP_P,
    "p": names.REQUEST_TOP_P,
    "max_gen_len": names.REQUEST_MAX_TOKENS,
    "max_tokens": names.REQUEST_MAX_TOKENS,
}
_ANSWER_KEYS = ("generation", "outputText", "text", "completion")
"""Keys of the answer's text, which is at the top, or in the first item of one of `_ANSWER_LISTS`."""
_ANSWER_LISTS = ("outputs", "results", "generations")
_REASON_KEYS = ("stop_reason", "finish_reason", "completionReason")
_TEXT_USAGE = {
    "prompt_token_count": names.INPUT_TOKENS,
    "inputTextTokenCount": names.INPUT_TOKENS,
    "generation_token_count": names.OUTPUT_TOKENS,
    "tokenCount": names.OUTPUT_TOKENS,
    "totalOutputTextTokenCount": names.OUTPUT_TOKENS,
}
_COHERE_ROLES = {"USER": "user", "CHATBOT": "assistant", "SYSTEM": "system"}
DIALECT = "bedrock_text"


class OneText:
    """An API with one text as request and answer; see `Family`."""

    def __init__(self, key: str):
        self._key = key

    @classmethod
    def of(cls, body: JsonMapping) -> Self | None:
        """Returns the API of a request; None if the request has no text."""
        key = next((key for key in _PROMPT_KEYS if isinstance(body.get(key), str)), None)
        return None if key is None else cls(key)

    def read_request(self, model: str, body: Json) -> ObservedRequest:
        settings = {name: value for name, value in body.items() if name != self._key}
        attributes = {to: body[name] for name, to in _TEXT_REQUEST_ATTRIBUTES.items() if body.get(name) is not None}
        earlier = _earlier_messages(body) if self._key == "message" else []
        return ObservedRequest(
            provider=PROVIDER,
            operation="chat",
            model=model,
            messages=[*earlier, {"role": "user", "content": body[self._key]}],
            to_message=openai_chat.to_message,
            from_message=openai_chat.from_message,
            settings=settings,
            attributes=attributes,
            shape={"dialect": DIALECT, "input": self._key, "before": len(earlier)},
        )

    def join_chunks(self, chunks: Sequence[Json]) -> Json:
        texts: list[str] = []
        answer: Json = {}
        for chunk in chunks:
            path = _text_path(chunk)
            if path is not None and isinstance(text := path[0].get(path[1]), str):
                texts.append(text)
            flat = _flat_answer(chunk)
            answer |= {name: value for name, value in flat.items() if value is not None and name not in _ANSWER_KEYS}
        return {**answer, "text": "".join(texts)}

    def read_answer(self, answer: Json, raw: object) -> ObservedResponse:
        path = _text_path(answer)
        text = path[0].get(path[1]) if path is not None else None
        messages: list[Message] = [text_message("assistant", text)] if isinstance(text, str) else []
        flat = _flat_answer(answer)
        attributes: dict[str, object] = {
            to: flat[name] for name, to in _TEXT_USAGE.items() if isinstance(flat.get(name), int)
        }
        if reason := next((flat[name] for name in _REASON_KEYS if flat.get(name)), None):
            attributes[names.FINISH_REASONS] = [str(reason).lower()]
        return ObservedResponse(messages, raw, attributes=attributes)

    def with_message(self, recorded: Sequence[Json], message: JsonValue, *, streamed: bool) -> list[Json]:
        content = message.get("content") if isinstance(message, dict) else message
        if not recorded or not isinstance(content, str):
            raise CannotRestore(
                "this model's answer is one text, and none was recorded to put it into: give the outcome as "
                '{"result": ...}'
            )
        changed = copy.deepcopy(recorded[0])
        path = _text_path(changed)
        if path is None:
            raise CannotRestore('the form of the recorded answer is not known: give the outcome as {"result": ...}')
        path[0][path[1]] = content
        return [changed, *([recorded[-1]] if streamed and len(recorded) > 1 and not _has_text(recorded[-1]) else [])]

    def with_messages(self, body: Json, messages: Sequence[JsonValue]) -> Json | None:
        content = value_at(messages[0], "content") if len(messages) == 1 else None
        return {**body, self._key: content} if isinstance(content, str) else None


def _earlier_messages(body: JsonMapping) -> list[Json]:
    """Returns Cohere's preamble (the system prompt) and the earlier messages."""
    messages: list[Json] = []
    if isinstance(preamble := body.get("preamble"), str):
        messages.append({"role": "system", "content": preamble})
    for entry in objects_at(body, "chat_history"):
        role = str(entry.get("role"))
        messages.append({"role": _COHERE_ROLES.get(role.upper(), role.lower()), "content": entry.get("message") or ""})
    return messages


def _text_path(answer: Json) -> tuple[Json, str] | None:
    """Returns the object that has the answer's text, and the key of the text; None if there is none."""
    for name in _ANSWER_LISTS:
        if first := object_at(list_at(answer, name), 0):
            return _text_path(first)
    key = next((key for key in _ANSWER_KEYS if key in answer), None)
    return None if key is None else (answer, key)


def _has_text(chunk: Json) -> bool:
    path = _text_path(chunk)
    return path is not None and bool(path[0].get(path[1]))


def _flat_answer(answer: JsonMapping) -> Json:
    """Returns the answer's values and those of the first item of each of its lists."""
    flat = dict(answer)
    for name in _ANSWER_LISTS:
        flat |= object_at(list_of(flat.pop(name, None)), 0)
    return flat


# --- embeddings -------------------------------------------------------------------------------------------------------


class _Embeddings:
    """Titan's and Cohere's embeddings."""

    def read_request(self, model: str, body: Json) -> ObservedRequest:
        key = next((name for name in ("inputText", "texts", "inputs", "inputImage", "images") if name in body), None)
        inputs = body[key] if key is not None else body
        settings = {name: value for name, value in body.items() if name != key}
        dimensions = body.get("dimensions") or body.get("output_dimension")
        attributes = {} if dimensions is None else {names.EMBEDDING_DIMENSIONS: dimensions}
        return ObservedRequest.of_embeddings(converse.PROVIDER, model, inputs, settings=settings, attributes=attributes)

    def join_chunks(self, chunks: Sequence[Json]) -> Json:
        return dict(chunks[0]) if chunks else {}

    def read_answer(self, answer: Json, raw: object) -> ObservedResponse:
        count = answer.get("inputTextTokenCount")
        return ObservedResponse([], raw, attributes={} if count is None else {names.INPUT_TOKENS: count})

    def with_message(self, recorded: Sequence[Json], message: JsonValue, *, streamed: bool) -> list[Json]:
        return no_message()

    def with_messages(self, body: Json, messages: Sequence[JsonValue]) -> Json | None:
        return None


_ANTHROPIC, _NOVA, _CHAT, _EMBEDDINGS = _Anthropic(), _Nova(), _Chat(), _Embeddings()


# --- requests and answers ---------------------------------------------------------------------------------------------

# Sent as headers, so not part of the body that `context` shows.
_HEADER_PARAMETERS = ("contentType", "accept")
_HEADER_COUNTS = {
    "x-amzn-bedrock-input-token-count": "inputTokens",
    "x-amzn-bedrock-output-token-count": "outputTokens",
    "x-amzn-bedrock-cache-read-input-token-count": "cacheReadInputTokens",
    "x-amzn-bedrock-cache-write-input-token-count": "cacheWriteInputTokens",
}
_METRIC_COUNTS = {
    "inputTokenCount": "inputTokens",
    "outputTokenCount": "outputTokens",
    "cacheReadInputTokenCount": "cacheReadInputTokens",
    "cacheWriteInputTokenCount": "cacheWriteInputTokens",
}


def read_request(call: MethodCall) -> ObservedRequest:
    """Reads a request from the client's parameters."""
    operation: str = call.args[0]
    parameters: Mapping[str, object] = call.args[1]
    model, body = str(parameters.get("modelId") or ""), _body(parameters)
    family = family_of(model, body)
    if body is None or family is None:
        rest = {
            name: sent(value)
            for name, value in parameters.items()
            if name not in ("modelId", "body", *_HEADER_PARAMETERS)
        }
        return ObservedRequest(
            PROVIDER,
            "chat",
            model,
            (),
            openai_chat.to_message,
            openai_chat.from_message,
            settings=body if body else rest,
        )
    request = family.read_request(model, body)
    if operation in STREAMED:
        request.attributes = {**request.attributes, names.REQUEST_STREAM: True}
    return request


def read_recorded(raw: JsonMapping, call: MethodCall) -> ObservedResponse:
    """Reads a recorded answer: the bytes of its body, or the chunks of a stream."""
    chunks = _json_chunks(objects_at(raw, "stream")) if "stream" in raw else None
    answer = object_of(_json_or_none(body_bytes(raw))) if chunks is None else None
    family = _family(call)
    headers = object_at(raw, "headers")
    response = ObservedResponse([], raw)
    if family is not None and (chunks or answer):
        response = family.read_answer(family.join_chunks(chunks) if chunks else answer or {}, raw)
    in_headers = {to: text_at(headers, name) for name, to in _HEADER_COUNTS.items()}
    counts: Json = {to: int(text) for to, text in in_headers.items() if text.isdecimal()}
    metrics = object_at(chunks[-1], _METRICS) if chunks else {}
    counts |= {to: metrics[name] for name, to in _METRIC_COUNTS.items() if name in metrics}
    about = {} if names.INPUT_TOKENS in response.attributes else usage_attributes(counts)
    if request_id := headers.get("x-amzn-requestid"):
        about[names.RESPONSE_ID] = request_id
    response.attributes = {**about, **response.attributes}
    return response


def with_message(raw: object, message: JsonValue, call: MethodCall) -> Json:
    """Returns the recorded answer with this message: a text, or a message in the model's own form.  Raises
    CannotRestore."""
    family, streamed = _family(call), call.args[0] in STREAMED
    if family is None:
        raise CannotRestore('the form of this model\'s answers is not known: give the outcome as {"result": ...}')
    recorded = object_of(raw)
    headers = {name: value for name, value in object_at(recorded, "headers").items() if name not in _HEADER_COUNTS}
    answers: list[Json] = []
    if "stream" in recorded:
        answers = _json_chunks(objects_at(recorded, "stream"))
    elif raw:
        answers = objects_of([_json_or_none(body_bytes(recorded))])
    new_answers = family.with_message(answers, message, streamed=streamed)
    texts = [canonical_json(answer).decode() for answer in new_answers]
    if streamed:
        return {"headers": headers, "stream": [{"chunk": {"text": text}} for text in texts]}
    return {"headers": headers, "text": texts[0]}


def with_edit(call: MethodCall, messages: list[JsonValue] | None) -> MethodCall | None:
    """Returns the call with other messages, which include the system prompt; None if it cannot be edited."""
    operation, parameters = call.args
    body, family = _body(parameters), _family(call)
    if messages is None:
        return call
    changed = family.with_messages(body, messages) if body is not None and family is not None else None
    if changed is None:
        return None
    return MethodCall(call.client, call.method, (operation, {**parameters, "body": canonical_json(changed)}), {})


def _family(call: MethodCall) -> Family | None:
    parameters = call.args[1]
    return family_of(str(parameters.get("modelId") or ""), _body(parameters))


def _body(parameters: Mapping[str, object]) -> Json | None:
    body = parameters.get("body")
    if isinstance(body, bytearray):
        body = bytes(body)
    value = _json_or_none(body) if isinstance(body, str | bytes) else None
    return value if isinstance(value, dict) else None


def _json_or_none(data: str | bytes) -> JsonValue:
    try:
        return parse_json(data)
    except ValueError:
        return None


def _json_chunks(events: Sequence[JsonMapping]) -> list[Json]:
    """Returns the JSON objects of a stream's chunks."""
    chunks = [_json_or_none(body_bytes(object_at(event, "chunk"))) for event in events if "chunk" in event]
    return objects_of(chunks)

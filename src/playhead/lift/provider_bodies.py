"""Reads the JSON of a whole request or answer: its messages, apart from its other fields.

The other fields are small and rarely change from call to call, so they are stored once.
"""

from dataclasses import dataclass, field
from typing import Final

from playhead.dialect import anthropic, google_genai, openai_chat
from playhead.lift.provider_messages import (
    EVENT_CONTENT,
    bedrock_to_chat,
    canonical_messages,
    list_in,
    to_answer,
    to_message,
    to_messages,
    tool_call,
    tool_definition,
)
from playhead.model.canonical import parse_bounded
from playhead.model.json_value import Json, JsonMapping, JsonValue, list_at, object_of, objects_of, value_at
from playhead.model.message import Message


@dataclass(slots=True)
class RequestBody:
    """A model's request. `system` and `tools` in the provider's form; `rest`: the other fields, None if there are
    none."""

    messages: list[Message]
    system: JsonValue = None
    tools: JsonValue = None
    rest: Json | None = None


@dataclass(slots=True)
class AnswerBody:
    """A model's answer, with its reasoning separate. `rest`: the other fields, None if there are none."""

    messages: list[Message]
    reasoning: list[JsonValue] = field(default_factory=list[JsonValue])
    finish_reasons: list[str] = field(default_factory=list[str])
    rest: Json | None = None


_SYSTEM: Final = ("system", "instructions", "system_prompt")
_TOOLS: Final = ("tools", "functions")
# The fields of Strands' event with an answer as text. An object with any other field is no such event.
_CHOICE_KEYS: Final = frozenset({"message", "finish_reason", "index", "tool.result"})


def read_request(value: JsonValue) -> RequestBody | None:
    """Reads a request's body or a list of messages; None for anything else."""
    if isinstance(value, list):
        listed = value
        if len(value) == 1 and isinstance(value[0], list):  # a LangChain batch of one conversation
            listed = value[0]
        definitions: list[JsonValue] = [
            definition for native in listed if (definition := tool_definition(native)) is not None
        ]
        natives = [native for native in listed if tool_definition(native) is None] if definitions else listed
        if len(natives) == 1 and isinstance(text := natives[0], str):  # the only prompt of a text completion
            natives = [{"role": "user", "content": text}]
        messages = to_messages(natives) if natives else None
        return None if messages is None else RequestBody(messages, tools=[*definitions] or None)
    if not isinstance(value, dict):
        return None
    if _CONTENTS in value:
        return _gemini_request(value)
    for key in ("messages", "input"):
        natives = value.get(key)
        if isinstance(natives, str) and key == "input" and ("model" in value or "instructions" in value):
            natives: JsonValue = [{"role": "user", "content": natives}]
        if isinstance(natives, list) and key == "messages" and "system" in value:  # only in Anthropic's requests
            natives = _cut(natives)
        inner = read_request(natives) if isinstance(natives, list) else None
        if inner is not None:
            return _with_rest(inner, value, key)
    return None


def read_answer(value: JsonValue) -> AnswerBody | None:
    """Reads an answer's body, a message, or a list of messages; None for anything else."""
    if isinstance(value, list):
        calls = objects_of(value)
        if calls and len(calls) == len(value) and all(map(_is_vercel_call, calls)):
            native: Json = {"role": "assistant", "tool_calls": [tool_call(call) for call in calls]}
            return AnswerBody([openai_chat.to_message(native)])
        return _joined([_element(native) for native in value])
    if not isinstance(value, dict):
        return None
    if (answer := _of_event(value) or _of_bedrock(value)) is not None:
        return answer
    for key, read in (
        ("choices", _choice), ("generations", _generation), ("output", _one), ("candidates", _candidate),
    ):  # fmt: skip
        natives = value.get(key)
        if isinstance(natives, list) and natives:
            answer = _joined([read(native) for native in natives])
            if answer is not None:
                rest: Json = {name: item for name, item in value.items() if name != key and item is not None}
                answer.rest = rest or None
                return answer
    return _element(value)


def _element(native: JsonValue) -> AnswerBody | None:
    """Reads a message, or an element of a provider's list of answers, by itself."""
    if not isinstance(native, dict):
        return None
    if (answer := _of_event(native)) is not None:
        return answer
    return _candidate(native) if isinstance(value_at(native.get("content"), "parts"), list) else _one(native)


def _of_event(value: Json) -> AnswerBody | None:
    """Reads a choice, or an event with the answer; None for any other value."""
    if isinstance(text := value.get(EVENT_CONTENT), str):
        return _event_answer(text)
    message = value.get("message")
    if "role" in value or not isinstance(message, dict | str):
        return None
    if isinstance(message, dict):
        return _choice(value)
    if not value.keys() <= _CHOICE_KEYS:
        return None
    reason = value.get("finish_reason")
    chats = bedrock_to_chat("assistant", list_in(message))
    if chats is None:
        if reason is None:  # such as `{"message": "Rate limit reached"}`, an error
            return None
        chats = [{"role": "assistant", "content": message}]
    return AnswerBody([*map(openai_chat.to_message, chats)], [], [reason] if isinstance(reason, str) else [])


def _of_bedrock(value: JsonMapping) -> AnswerBody | None:
    """Reads an answer of Bedrock's Converse; None for any other value."""
    message = object_of(value_at(value.get("output"), "message"))
    chats = bedrock_to_chat("assistant", message.get("content"))
    if chats is None:
        return None
    reason = value.get("stopReason")
    rest: Json = {name: item for name, item in value.items() if name not in ("output", "stopReason")}
    reasons = [reason] if isinstance(reason, str) else []
    return AnswerBody([*map(openai_chat.to_message, chats)], [], reasons, rest or None)


def _with_rest(request: RequestBody, body: JsonMapping, key: str) -> RequestBody:
    rest: Json = {}
    for name, value in body.items():
        if name == key or value is None:
            continue
        if name in (*_SYSTEM, *_TOOLS) and value == "":  # what Mistral's client was not given, by OpenInference
            continue
        if name in _SYSTEM:
            request.system = value
        elif name in _TOOLS:
            request.tools = value
        else:
            rest[name] = value
    request.rest = rest or None
    return request


def _cut(natives: list[JsonValue]) -> list[JsonValue]:
    messages = objects_of(natives)
    return [dict(turn) for turn in anthropic.split_turns(messages)] if len(messages) == len(natives) else natives


def _one(native: JsonValue) -> AnswerBody | None:
    if not isinstance(native, dict):
        return None
    reason = native.get("finish_reason") or native.get("stop_reason")
    fields = {key: value for key, value in native.items() if key != "finish_reason"}
    message, reasoning = to_answer(fields)
    if message is None:
        return None
    rest: Json = {}
    if "stop_reason" in native:
        rest = {key: value for key, value in native.items() if key not in ("role", "content") and value is not None}
    reasons = [reason] if isinstance(reason, str) else []
    return AnswerBody([message], [] if reasoning is None else [reasoning], reasons, rest or None)


def _event_answer(text: str) -> AnswerBody | None:
    """Reads an answer that is an event with its whole content as JSON text."""
    try:
        fields = object_of(parse_bounded(text))
    except ValueError:
        return None
    message = object_of(fields.get("message")) or fields
    role = message.get("role")
    plain = {**message, "role": role.lower() if isinstance(role, str) else "assistant"}
    return _choice({**fields, "message": plain})


def _is_vercel_call(native: JsonMapping) -> bool:
    return isinstance(native.get("toolCallId"), str) and isinstance(native.get("toolName"), str)


def _choice(native: JsonValue) -> AnswerBody | None:
    if not isinstance(native, dict):
        return None
    choice: Json = native
    if isinstance(choice.get("text"), str):
        choice = {**choice, "message": {"role": "assistant", "content": choice["text"]}}
    answered = choice.get("message")
    if not isinstance(answered, dict):
        return None
    message, reasoning = to_answer(choice if choice.keys() == {"message"} else answered)
    if message is None:
        message, reasoning = openai_chat.output_message(answered)
    reason = choice.get("finish_reason")
    return AnswerBody([message], [] if reasoning is None else [reasoning], [reason] if isinstance(reason, str) else [])


def _generation(native: JsonValue) -> AnswerBody | None:
    """Reads an element of LangChain's `generations`, which has a list of answers per prompt."""
    if isinstance(native, list):
        return _joined([_generation(item) for item in native])
    if not isinstance(native, dict):
        return None
    message = to_message(native.get("message"))
    if message is None:
        if not isinstance(native.get("text"), str):
            return None
        message = openai_chat.to_message({"role": "assistant", "content": native["text"]})
    info = native.get("generation_info")
    reason = value_at(info, "finish_reason")
    return AnswerBody([message], [], [reason] if isinstance(reason, str) else [])


def _joined(answers: list[AnswerBody | None]) -> AnswerBody | None:
    bodies = [answer for answer in answers if answer is not None]
    if not bodies or len(bodies) != len(answers):
        return None
    return AnswerBody(
        [message for answer in bodies for message in answer.messages],
        [thought for answer in bodies for thought in answer.reasoning],
        [reason for answer in bodies for reason in answer.finish_reasons],
    )


# --- Gemini -----------------------------------------------------------------------------------------------------------


_CONTENTS: Final = "contents"
_INSTRUCTION: Final = ("system_instruction", "systemInstruction")
_CONFIG: Final = "config"  # Google's clients and ADK have instructions and tools there


def _gemini_request(body: JsonMapping) -> RequestBody | None:
    contents = body[_CONTENTS]
    natives = [_content(native) for native in (contents if isinstance(contents, list) else [contents])]
    if not natives or not all(isinstance(value_at(native, "parts"), list) for native in natives):
        inner = read_request(contents) if isinstance(contents, list) else None
        return None if inner is None else _with_rest(inner, body, _CONTENTS)
    messages = canonical_messages(google_genai.to_messages(objects_of(natives)))
    config = object_of(body.get(_CONFIG))
    request = _with_rest(RequestBody(messages), {**body, **config, _CONFIG: None}, _CONTENTS)
    rest = request.rest or {}
    for key in _INSTRUCTION:
        instruction = rest.pop(key, None)
        if instruction is not None:
            parts = list_at(instruction, "parts")
            request.system = [*map(google_genai.content_part, parts)] if parts else instruction
    request.rest = rest or None
    return request


def _content(native: JsonValue) -> JsonValue:
    """Returns a content for a text or a part, which Google's clients also take; any other value unchanged."""
    if isinstance(native, str):
        return {"role": "user", "parts": [{"text": native}]}
    if isinstance(native, dict) and "parts" not in native and isinstance(native.get("text"), str):
        return {"role": "user", "parts": [native]}
    if isinstance(native, dict) and isinstance(parts := native.get("parts"), list):
        return {**native, "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}
    return native


def _candidate(native: JsonValue) -> AnswerBody | None:
    """Reads an element of `candidates`, or the answer of Google ADK, which has the same fields."""
    content = value_at(native, "content")
    if not isinstance(native, dict) or not isinstance(content, dict):
        return _one(native)
    message, reasoning = google_genai.output_message(content)
    reason = native.get("finish_reason") or native.get("finishReason")
    reasons = [google_genai.finish_reason(reason)] if isinstance(reason, str) else []
    if reasons == ["stop"] and any(part.get("type") == "tool_call" for part in message["parts"]):
        reasons = ["tool_calls"]  # as in Chat Completions
    rest: Json = {
        key: value
        for key, value in native.items()
        if key not in ("content", "finish_reason", "finishReason", "index") and value is not None
    }
    return AnswerBody([message], [] if reasoning is None else [reasoning], reasons, rest or None)

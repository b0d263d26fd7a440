"""Reads the JSON of a whole request or answer: its messages, apart from its other fields.

The other fields are small and rarely change from call to call, so they are stored once.
"""

from dataclasses import dataclass, field
from typing import Final

from playhead.dialect import anthropic, openai_chat
from playhead.lift.provider_messages import to_answer, to_message, to_messages
from playhead.model.json_value import Json, JsonMapping, JsonValue, objects_of, value_at
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


def read_request(value: JsonValue) -> RequestBody | None:
    """Reads a request's body or a list of messages; None for anything else."""
    if isinstance(value, list):
        listed = value
        if len(value) == 1 and isinstance(value[0], list):  # a LangChain batch of one conversation
            listed = value[0]
        messages = to_messages(listed) if listed else None
        return None if messages is None else RequestBody(messages)
    if not isinstance(value, dict):
        return None
    for key in ("messages", "input", "contents"):
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
        return _joined([_one(native) for native in value])
    if not isinstance(value, dict):
        return None
    for key, read in (("choices", _choice), ("generations", _generation), ("output", _one), ("candidates", _one)):
        natives = value.get(key)
        if isinstance(natives, list) and natives:
            answer = _joined([read(native) for native in natives])
            if answer is not None:
                rest: Json = {name: item for name, item in value.items() if name != key and item is not None}
                answer.rest = rest or None
                return answer
    return _one(value)


def _with_rest(request: RequestBody, body: JsonMapping, key: str) -> RequestBody:
    rest: Json = {}
    for name, value in body.items():
        if name == key or value is None:
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


def _choice(native: JsonValue) -> AnswerBody | None:
    if not isinstance(native, dict):
        return None
    choice = native
    if isinstance(choice.get("text"), str):
        choice = {**choice, "message": {"role": "assistant", "content": choice["text"]}}
    answered = choice.get("message")
    if not isinstance(answered, dict):
        return None
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

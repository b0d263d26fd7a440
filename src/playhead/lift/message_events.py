"""Conversations that were recorded one message at a time: OpenTelemetry's older events, of a span or as log records.

Each event is one input or output message of a model call. The message becomes content, and its event keeps the ref; the
messages in a span's events are joined, and the span gets the refs of the threads. Values are structured, JSON text, or
Bedrock's content blocks (Strands).
"""

from typing import Final

from playhead.dialect import openai_chat
from playhead.lift.extraction import ExtractedContent, extract_answer, extract_request, extract_value, json_or_text
from playhead.lift.provider_bodies import AnswerBody, RequestBody
from playhead.lift.provider_messages import (
    EVENT_CONTENT,
    bedrock_to_chat,
    canonical_messages,
    only_text,
    to_answer,
    to_message,
)
from playhead.model import names
from playhead.model.json_value import Json, JsonMapping, JsonValue
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.model.span import Attributes, SpanEvent

_ROLES: Final = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CHOICE: Final = "gen_ai.choice"
# An even older form: the whole prompt, or the whole answer, in one attribute.
_WHOLE: Final = {"gen_ai.content.prompt": "gen_ai.prompt", "gen_ai.content.completion": "gen_ai.completion"}
_BODY: Final = "body"  # of a log record, when it is a map
_FIELDS: Final = ("content", "role", "tool_calls", "id", "name", "message", "tool.result", "finish_reason", "index")
_CONTENTS: Final = ("content", "tool_calls", "message", "tool.result", _BODY, names.LOG_BODY, EVENT_CONTENT)
# Keys of which one is in every message, or choice, that is the whole content of an event.
_WHOLE_KEYS: Final = frozenset({"content", "tool_calls", "message"})
# Fields that are not content and stay.
_KEPT: Final = ("role", "id", "name", "index", "finish_reason")


def is_message(name: str) -> bool:
    """Whether an event of this name is a message of a conversation."""
    return name in _ROLES or name == _CHOICE or name in _WHOLE


def is_answer(name: str) -> bool:
    """Whether a message of this name is the output of a model or a tool."""
    return name in (_CHOICE, "gen_ai.content.completion")


def message_of(name: str, fields: JsonMapping) -> tuple[list[Message], JsonValue]:
    """Returns the messages of an event (several for Bedrock's blocks), and an answer's reasoning (None: there is
    none)."""
    if name == _CHOICE:
        answer = _read(fields.get("message", fields.get("content")))
        if isinstance(answer, dict) and "finish_reason" in answer:
            answer = {key: value for key, value in answer.items() if key != "finish_reason"}
        chat = bedrock_to_chat("assistant", answer)
        if chat is not None:
            return [openai_chat.to_message(item) for item in chat], None
        native: Json = answer if isinstance(answer, dict) else {"role": "assistant", "content": answer}
        calls = _read(fields.get("tool_calls"))
        message, reasoning = to_answer({**native, "tool_calls": calls} if calls else native)
        return canonical_messages([message]) if message is not None else [], reasoning
    return _input(_ROLES[name], fields), None


def _input(role: str, fields: JsonMapping) -> list[Message]:
    content = _read(fields.get("content"))
    chat = bedrock_to_chat(role, content)
    if chat is not None:
        return [openai_chat.to_message(item) for item in chat]
    native: Json = {"role": fields.get("role") or role}
    if native["role"] in ("human", "ai"):
        native["role"] = role
    if content is not None:
        native["content"] = content
    calls = _read(fields.get("tool_calls"))
    if calls:
        native["tool_calls"] = calls
    if role == "tool":
        native["tool_call_id"] = fields.get("tool_call_id", fields.get("id"))
    elif isinstance(fields.get("name"), str):
        native["name"] = fields["name"]
    message = to_message(native)
    return canonical_messages([message]) if message is not None else []


class MessageEvents:
    """The messages in the events of one span, in order."""

    def __init__(self) -> None:
        self.any = False
        self.latest: list[Message] = []  # messages of the last event
        self._asked: list[Message] = []
        self._answered = AnswerBody([])
        self._arguments: JsonValue = None
        self._result: JsonValue = None

    def extract(self, event: SpanEvent, contents: ExtractedContent) -> Attributes:
        """Returns the event's attributes without the message's content; the same object if the event has none."""
        if not is_message(event.name):
            return event.attributes
        self.any = True
        self.latest = []
        whole = _WHOLE.get(event.name)
        keys = (*_CONTENTS, whole) if whole else _CONTENTS
        if all(event.attributes.get(key) is None for key in keys):
            return event.attributes  # its sender does not record content, or it was lifted before
        attributes = dict(event.attributes)
        text = attributes.pop(names.LOG_BODY, None)
        text = attributes.pop(EVENT_CONTENT, text)
        body = attributes.pop(_BODY, text)
        fields = {key: attributes.pop(key) for key in _FIELDS if key in attributes}
        body = body if whole else _whole_event(body)
        if isinstance(body, dict):
            fields |= body
        elif body is not None:
            fields.setdefault("content", body)
        if whole:
            fields["content"] = attributes.pop(whole, fields.get("content"))
        self._note_tool(event.name, fields)
        if "tool.result" in fields:
            attributes["tool.result" + names.REF_SUFFIX] = contents.content(_read(fields["tool.result"]))
        attributes |= {key: fields[key] for key in _KEPT if isinstance(fields.get(key), str | int)}
        self.latest = messages = self._read(event.name, fields)
        if len(messages) == 1:
            attributes[names.MESSAGE_REF] = contents.message(messages[0])
        elif fields:
            attributes[names.MESSAGE_REF] = contents.content(fields)
        return attributes

    def _note_tool(self, name: str, fields: JsonMapping) -> None:
        """Remembers a tool's arguments and result, which are in the tool message and in the choice on its span."""
        if name == "gen_ai.tool.message":
            self._arguments = fields.get("content")
        elif name == _CHOICE:
            self._result = fields.get("message")

    def _read(self, name: str, fields: JsonMapping) -> list[Message]:
        if name in _WHOLE:
            return self._whole(name, fields.get("content"))
        messages, reasoning = message_of(name, fields)
        if name != _CHOICE:
            self._asked += messages
            return messages
        self._answered.messages += messages
        if reasoning is not None:
            self._answered.reasoning.append(reasoning)
        if isinstance(reason := fields.get("finish_reason"), str):
            self._answered.finish_reasons.append(reason)
        return messages

    def _whole(self, name: str, content: JsonValue) -> list[Message]:
        role = "user" if name == "gen_ai.content.prompt" else "assistant"
        value = _read(content)
        listed = value if isinstance(value, list) else [value]
        read = [to_message(item) or openai_chat.to_message({"role": role, "content": item}) for item in listed]
        messages = canonical_messages(read) if value is not None else []
        (self._asked if role == "user" else self._answered.messages).extend(messages)
        return messages

    def all(self, contents: ExtractedContent) -> ContentRef | None:
        """Returns the thread of all messages, input and output. For an agent's span, whose events are from several
        model calls."""
        return contents.thread([*self._asked, *self._answered.messages])

    def set_refs(self, attributes: Attributes, contents: ExtractedContent, kind: str | None = None) -> None:
        """Sets the refs of the conversation on the span, unless it has them; on a tool's span, arguments and result."""
        if kind == "tool":
            if self._arguments is not None:
                extract_value(attributes, names.TOOL_ARGUMENTS_REF, self._arguments, "gen_ai.tool.message", contents)
            if self._result is not None:
                extract_value(attributes, names.TOOL_RESULT_REF, only_text(_read(self._result)), _CHOICE, contents)
            return
        if self._asked and names.INPUT_MESSAGES_REF not in attributes:
            extract_request(attributes, RequestBody(self._asked), "gen_ai.input", contents)
        if self._answered.messages and names.OUTPUT_MESSAGES_REF not in attributes:
            extract_answer(attributes, self._answered, "gen_ai.output", contents)


def _whole_event(body: JsonValue) -> JsonValue:
    """Returns the fields of a message or choice that is JSON text in an event (Semantic Kernel); any other value
    unchanged."""
    fields = _read(body) if isinstance(body, str) and body.startswith("{") else None
    if not isinstance(fields, dict) or _WHOLE_KEYS.isdisjoint(fields) or not {"role", "message"} & fields.keys():
        return body
    message = fields.get("message")
    return (
        {**_with_plain_role(fields), "message": _with_plain_role(message)}
        if isinstance(message, dict)
        else (_with_plain_role(fields))
    )


def _with_plain_role(fields: Json) -> Json:
    role = fields.get("role")
    return {**fields, "role": role.lower()} if isinstance(role, str) else fields


def _read(value: JsonValue) -> JsonValue:
    try:
        return json_or_text(value)
    except ValueError:
        return value

"""Messages in the parts shape → the chat format that Langfuse and OpenInference share.

An entry has texts and media, or requested tool calls, or the result of one call. A message with several results becomes
several entries, because readers of this format expect one result per entry of role `tool`.
"""

import base64
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, cast

from playhead.model import names
from playhead.model.canonical import BYTES, canonical_json
from playhead.model.json_value import Json, JsonOrBytes, JsonValue
from playhead.model.message import Message, Part
from playhead.outbound.content_modes import ShownContent
from playhead.outbound.span import OutboundSpan

_RESULTS: Final = ("tool_call_response", "server_tool_call_response")
_CALLS: Final = ("tool_call", "server_tool_call")


@dataclass(frozen=True, slots=True)
class ChatPiece:
    """A text, or a medium with its address: a `data:` URI with its bytes, or a URL."""

    kind: Literal["text", "reasoning", "image", "audio", "file"]
    text: str = ""
    url: str = ""
    mime_type: str | None = None


@dataclass(frozen=True, slots=True)
class ChatCall:
    """A tool call that a model requested; `arguments` as JSON text."""

    id: str | None
    name: str
    arguments: str


@dataclass(slots=True)
class ChatEntry:
    """One entry of a chat."""

    role: str
    pieces: list[ChatPiece] = field(default_factory=list[ChatPiece])
    calls: list[ChatCall] = field(default_factory=list[ChatCall])
    answers: str | None = None
    """For a tool's result: the id of the tool call."""
    name: str | None = None

    @property
    def text(self) -> str:
        """All texts without reasoning, one per line."""
        return "\n".join(piece.text for piece in self.pieces if piece.kind == "text")


def input_chat(span: OutboundSpan, content: ShownContent) -> list[ChatEntry] | None:
    """Returns the input of a model call, the system instructions first. None: the span has no messages, or only links
    are sent."""
    messages = content.messages(span.ref(names.INPUT_MESSAGES_REF))
    if messages is None:
        return None
    chat = chat_of(messages)
    system = content.value(span.ref(names.SYSTEM_INSTRUCTIONS_REF))
    if system and not any(entry.role == "system" for entry in chat):
        return [ChatEntry("system", [ChatPiece("text", _instructions(system))]), *chat]
    return chat


def output_chat(span: OutboundSpan, content: ShownContent) -> list[ChatEntry] | None:
    """Returns the answer of a model call, its reasoning first. None: the span has no messages, or only links are
    sent."""
    messages = content.messages(span.ref(names.OUTPUT_MESSAGES_REF))
    if messages is None:
        return None
    chat = chat_of(messages)
    thought = content.value(span.ref(names.REASONING_REF))
    if thought and chat and not any(piece.kind == "reasoning" for piece in chat[0].pieces):
        chat[0].pieces.insert(0, ChatPiece("reasoning", _reasoning(thought)))
    return chat


def chat_of(messages: Iterable[Message]) -> list[ChatEntry]:
    """Converts messages to entries."""
    return [entry for message in messages for entry in _entries(message)]


def tool_fields(entry: ChatEntry) -> Json:
    """Returns the tool calls of an entry, or the call that it answers, under the names of OpenAI's chat API."""
    fields: Json = {}
    if entry.answers is not None:
        fields["tool_call_id"] = entry.answers
    if entry.calls:
        fields["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in entry.calls
        ]
    return fields


def as_text(value: object) -> str:
    """Returns a value as text for people: a text unchanged, bytes as a `data:` URI, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return f"data:{BYTES};base64,{base64.b64encode(value).decode()}"
    return canonical_json(value).decode("utf-8", "replace")


def _entries(message: Message) -> Iterable[ChatEntry]:
    entry = ChatEntry(message["role"], name=message.get("name"))
    for part in message["parts"]:
        kind = part.get("type")
        if kind in _RESULTS:
            if entry.pieces or entry.calls:
                yield entry
            yield _result(part, kind, message.get("name"))
            entry = ChatEntry(message["role"], name=message.get("name"))
        elif kind in _CALLS:
            entry.calls.append(_call(part, kind))
        else:
            entry.pieces.append(_piece(part))
    if entry.pieces or entry.calls or not message["parts"]:
        yield entry


def _result(part: Part, kind: str, name: str | None) -> ChatEntry:
    response: JsonValue = part.get("response") if kind == _RESULTS[0] else part.get(kind)
    pieces = [ChatPiece("text", as_text(response))]
    if isinstance(response, list) and response and all(_is_part(item) for item in response):
        pieces = [_piece(item) for item in cast("list[Part]", response)]
    answers = part.get("id")
    return ChatEntry("tool", pieces, answers=answers if isinstance(answers, str) else None, name=name)


def _is_part(value: JsonValue) -> bool:
    """Whether a value is an element of a result that consists of texts and media."""
    return isinstance(value, dict) and value.get("type") in ("text", "blob", "uri")


def _call(part: Part, kind: str) -> ChatCall:
    arguments = part.get("arguments") if kind == _CALLS[0] else part.get(kind)
    call = part.get("id")
    return ChatCall(call if isinstance(call, str) else None, str(part.get("name") or ""), as_text(arguments or {}))


def _piece(part: Part) -> ChatPiece:
    kind, content = part.get("type"), part.get("content")
    mime_type = part.get("mime_type") if isinstance(part.get("mime_type"), str) else None
    if kind in ("text", "refusal") and isinstance(content, str):
        return ChatPiece("text", content)
    if kind == "reasoning":
        return ChatPiece("reasoning", as_text(content))
    if kind == "blob" and isinstance(content, str):
        return ChatPiece(_medium(part), url=f"data:{mime_type or BYTES};base64,{content}", mime_type=mime_type)
    if kind == "uri" and isinstance(part.get("uri"), str):
        return ChatPiece(_medium(part), url=part["uri"], mime_type=mime_type)
    return ChatPiece("text", as_text(part.get("value") if kind == "playhead.as_is" else part))


def _medium(part: Part) -> Literal["image", "audio", "file"]:
    match part.get("modality"), str(part.get("mime_type") or "").partition("/")[0]:
        case ("image", _) | (_, "image"):
            return "image"
        case ("audio", _) | (_, "audio"):
            return "audio"
        case _:
            return "file"


def _instructions(system: JsonOrBytes) -> str:
    return _texts(system, "content", "text")


def _reasoning(thought: JsonOrBytes) -> str:
    return _texts(thought, "content", "text", "thinking", "reasoning_content")


def _texts(value: JsonOrBytes, *keys: str) -> str:
    """Returns the texts of a list of parts, or of an object with one of these keys, one per line; anything else as
    JSON."""
    listed = value if isinstance(value, list) else [value]
    texts: list[str] = []
    for item in listed:
        named: list[JsonValue] = [item.get(key) for key in keys] if isinstance(item, dict) else []
        text = next((text for text in named if isinstance(text, str)), None)
        texts.append(as_text(item) if text is None else text)
    return "\n".join(texts)

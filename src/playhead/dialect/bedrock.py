"""Bedrock Converse ↔ parts: the messages of Amazon Bedrock's Converse API, for all its models, and their blocks.

Requests of Amazon Nova's own API have the same messages. They are JSON values as they are sent: bytes are base64.

The messages of a request are cut before they are converted (`split_turns`): the system prompt becomes the first
message, and each tool result a message, as in all dialects. A user message that answers several tool calls, and may
continue with text, is cut into one message per result and one per sequence of other blocks. The cuts need not be
stored: the API requires all results of a turn in one message, so consecutive results belong together, and nothing else
does. A message for which this rule is wrong has a mark under `PLACE`.

`cachePoint` blocks are dropped: they control the server's cache, the model does not see them, and they move to a later
block with every turn. `status: "success"` of a tool's result is dropped, too: it is the default. Everything else is
restored: signatures of thoughts, redacted thoughts, guarded texts, citations. Clients send thoughts back, so they stay
in the message (`output_message`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from playhead.dialect.parts import AS_IS, NO_ROLE, extra_of, message_of_blocks, opaque_part, unknown_keys, with_extra
from playhead.model.json_value import Json, JsonMapping, JsonValue, object_at
from playhead.model.message import Message, Part

__all__ = [
    "NAME",
    "from_message",
    "from_messages",
    "merge_turns",
    "output_message",
    "split_turns",
    "to_message",
    "to_messages",
]


# --- blocks -----------------------------------------------------------------------------------------------------------


RESULT = "toolResult"
_CACHE = "cachePoint"
_SUCCESS = "success"  # the default status of a tool's result
_MODALITIES = {"image": "image", "video": "video", "audio": "audio", "document": "file"}
_BLOCK_OF_MODALITY = {modality: kind for kind, modality in _MODALITIES.items()}
_MIME_TYPES = {
    ("image", "jpeg"): "image/jpeg",
    ("audio", "mp3"): "audio/mpeg",
    ("document", "pdf"): "application/pdf",
    ("document", "csv"): "text/csv",
    ("document", "html"): "text/html",
    ("document", "txt"): "text/plain",
    ("document", "md"): "text/markdown",
    ("document", "doc"): "application/msword",
    ("document", "docx"): "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ("document", "xls"): "application/vnd.ms-excel",
    ("document", "xlsx"): "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_FORMATS = {(kind, mime_type): name for (kind, name), mime_type in _MIME_TYPES.items()}


def content_part(native: JsonValue) -> Part:
    """Returns the part for a block. An unknown block is wrapped with `opaque_part`."""
    if not isinstance(native, dict):
        return opaque_part(native)
    block = {key: value for key, value in native.items() if value is not None}
    if len(block) != 1:
        return opaque_part(native)
    [(kind, body)] = block.items()
    if kind == "text" and isinstance(body, str):
        return {"type": "text", "content": body}
    reader = _READERS.get(kind)
    part = reader(kind, body) if reader is not None and isinstance(body, dict) else None
    return opaque_part(native) if part is None else part


def is_cache_point(native: JsonValue) -> bool:
    """Whether the block marks the end of what the server caches for later requests."""
    if not isinstance(native, Mapping):
        return False
    point = native.get(_CACHE)
    return len(native) == 1 and isinstance(point, Mapping) and "type" in point


def native_block(part: Part) -> Any:
    """Returns the block for a part: the inverse of `content_part`."""
    kind, extra = part.get("type"), extra_of(part)
    match kind:
        case "text":
            return _native_text(part, extra)
        case "reasoning":
            return {"reasoningContent": _native_reasoning(part, extra)}
        case "tool_call" if "name" in part:
            id_field = {"toolUseId": part["id"]} if "id" in part else {}
            return {"toolUse": {**id_field, "name": part["name"], "input": part.get("arguments", {}), **extra}}
        case "tool_call_response":
            id_field = {"toolUseId": part["id"]} if "id" in part else {}
            return {RESULT: {**id_field, "content": _native_result_content(part.get("response")), **extra}}
        case "blob" | "uri":
            return _native_media(part, extra)
        case _ if kind == AS_IS:
            return part.get("value")
        case _:
            return part  # a part that only other dialects have


def _read_guarded(kind: str, body: Json) -> Part | None:
    """Reads a text that a guardrail checks. For the model it is a text like any other."""
    match body.get("text"):
        case {"text": str(text)} as fields if len(body) == 1:
            more = unknown_keys(fields, ("text",))
            return {"type": "text", "content": text, "extra": {kind: more}}
        case _:
            return None


def _read_cited(kind: str, body: Json) -> Part | None:
    match body.get("content"):
        case [{"text": str(text)} as only] if len(only) == 1:
            return {"type": "text", "content": text, "extra": {kind: unknown_keys(body, ("content",))}}
        case _:
            return None


def _native_text(part: Part, extra: Json) -> Any:
    if "guardContent" in extra:
        return {"guardContent": {"text": {"text": part.get("content"), **object_at(extra, "guardContent")}}}
    if "citationsContent" in extra:
        return {
            "citationsContent": {"content": [{"text": part.get("content")}], **object_at(extra, "citationsContent")}
        }
    return {"text": part.get("content")}


def _read_reasoning(kind: str, body: Json) -> Part | None:
    """Keeps the signature in the part: the model refuses a thought that is sent back changed or without its
    signature."""
    match body:
        case {"reasoningText": {"text": str(text)} as fields} if len(body) == 1:
            return with_extra({"type": "reasoning", "content": text}, unknown_keys(fields, ("text",)))
        case {"redactedContent": str(data)} if len(body) == 1:
            return {"type": "reasoning", "extra": {"redactedContent": data}}
        case _:
            return None


def _native_reasoning(part: Part, extra: Json) -> Any:
    return {"reasoningText": {"text": part["content"], **extra}} if "content" in part else extra


def _read_tool_use(kind: str, body: Json) -> Part | None:
    call_id, name = body.get("toolUseId"), body.get("name")
    if not (isinstance(call_id, str) and isinstance(name, str) and body.get("input") is not None):
        return None
    part: Part = {"type": "tool_call", "id": call_id, "name": name, "arguments": body["input"]}
    return with_extra(part, unknown_keys(body, ("toolUseId", "name", "input")))


def _read_tool_result(kind: str, body: Json) -> Part | None:
    call_id, content = body.get("toolUseId"), body.get("content")
    if not isinstance(call_id, str) or not isinstance(content, list):
        return None
    part: Part = {
        "type": "tool_call_response",
        "id": call_id,
        "response": _result_content(content),
    }
    extra = unknown_keys(body, ("toolUseId", "content"))
    if extra.get("status") == _SUCCESS:
        del extra["status"]
    return with_extra(part, extra)


def _result_content(content: list[JsonValue]) -> Any:
    """Returns the text of a result of one text, as other providers send it; any other content stays unchanged."""
    match content:
        case [{"text": str(text)} as only] if len(only) == 1:
            return text
        case _:
            return content


def _native_result_content(response: JsonValue) -> Any:
    if isinstance(response, list):
        return response
    return [{"text": response}] if isinstance(response, str) else [{"json": response}]


def _read_media(kind: str, body: Json) -> Part | None:
    """Reads an image, document, video or audio, inline or in S3. Returns None for a document of text, which is kept as
    it is."""
    name, modality = body.get("format"), _MODALITIES[kind]
    extra = unknown_keys(body, ("format", "source"))
    match body.get("source"):
        case {"bytes": str(data)} as source if len(source) == 1 and isinstance(name, str):
            mime_type = _MIME_TYPES.get((kind, name), f"{_mime_family(kind)}/{name}")
            if _media_format(kind, mime_type) != name:
                return None
            return with_extra({"type": "blob", "mime_type": mime_type, "modality": modality, "content": data}, extra)
        case {"s3Location": {"uri": str(uri)} as location} as source if len(source) == 1 and "s3Location" not in extra:
            more = {"format": name, "s3Location": unknown_keys(location, ("uri",)) or None}
            extra |= {key: value for key, value in more.items() if value is not None}
            return with_extra({"type": "uri", "modality": modality, "uri": uri}, extra)
        case _:
            return None


def _native_media(part: Part, extra: Json) -> Any:
    kind = _BLOCK_OF_MODALITY.get(str(part.get("modality")))
    if kind is None:
        return part
    if part.get("type") == "blob":
        name = _media_format(kind, str(part.get("mime_type")))
        return {kind: {"format": name, "source": {"bytes": part.get("content")}, **extra}}
    location = {"uri": part.get("uri"), **object_at(extra, "s3Location")}
    return {kind: {"source": {"s3Location": location}, **unknown_keys(extra, ("s3Location",))}}


def _media_format(kind: str, mime_type: str) -> str:
    return _FORMATS.get((kind, mime_type)) or mime_type.removeprefix(f"{_mime_family(kind)}/")


def _mime_family(kind: str) -> str:
    return "application" if kind == "document" else kind


_READERS: dict[str, Callable[[str, Json], Part | None]] = {
    "toolUse": _read_tool_use,
    RESULT: _read_tool_result,
    "reasoningContent": _read_reasoning,
    "guardContent": _read_guarded,
    "citationsContent": _read_cited,
    **dict.fromkeys(_MODALITIES, _read_media),
}


# --- cutting and joining turns ----------------------------------------------------------------------------------------


PLACE = "playhead.place"
_JOINED, _APART = "joined", "apart"
"""Values of `PLACE`: part of the message before; a message of its own."""
_SYSTEM = "system"
_CUTTABLE_KEYS = {"role", "content", PLACE}


def split_turns(messages: Iterable[Any], system: Any = None) -> list[Any]:
    """Cuts the messages of a request. `system`: its system blocks, None if it has none."""
    cut: list[Any] = [] if system is None else [{"role": _SYSTEM, "content": system}]
    for message in messages:
        if _has_results(message):
            _cut_results(cast("Mapping[str, Any]", message)["content"], cut)
        else:
            cut.append(message)
    return cut


def merge_turns(cut: Iterable[Mapping[str, Any]]) -> tuple[Any, list[Any]]:
    """Joins cut messages. Returns the request's system blocks (None: it has none) and its messages."""
    system: Any = None
    joined: list[Any] = []
    was_result = False
    for number, message in enumerate(cut):
        if number == 0 and message.get("role") == _SYSTEM:
            system = message.get("content")
            continue
        place, is_result = message.get(PLACE), _is_result_message(message)
        native = {key: value for key, value in message.items() if key != PLACE}
        if joined and (place == _JOINED or (is_result and was_result and place != _APART)):
            joined[-1]["content"] = [*joined[-1]["content"], *native["content"]]
        else:
            joined.append(native)
        was_result = is_result
    return system, joined


def _cut_results(content: Sequence[Any], cut: list[Any]) -> None:
    was_result = bool(cut) and _is_result_message(cut[-1])
    is_begin = True
    for piece in _pieces(content):
        native: dict[str, Any] = {"role": "user", "content": piece}
        is_result = _is_result_block(piece[0])
        if is_begin and is_result and was_result:
            native[PLACE] = _APART
        elif not is_begin and not (is_result and was_result):
            native[PLACE] = _JOINED
        cut.append(native)
        is_begin, was_result = False, is_result


def _pieces(content: Sequence[Any]) -> list[list[Any]]:
    """Returns each result with the cache points after it, and each sequence of other blocks between results."""
    pieces: list[list[Any]] = []
    for block in content:
        follows = bool(pieces) and (is_cache_point(block) or not _is_result_block(pieces[-1][0]))
        if follows and not _is_result_block(block):
            pieces[-1].append(block)
        else:
            pieces.append([block])
    return pieces


def _has_results(message: Any) -> bool:
    if not isinstance(message, Mapping):
        return False
    fields = cast("Mapping[str, Any]", message)
    content = fields.get("content")
    if fields.get("role") != "user" or not fields.keys() <= _CUTTABLE_KEYS or not isinstance(content, list | tuple):
        return False
    return any(map(_is_result_block, cast("Sequence[Any]", content)))


def _is_result_message(message: Any) -> bool:
    if not _has_results(message):
        return False
    first, *others = message["content"]
    return _is_result_block(first) and all(map(is_cache_point, others))


def _is_result_block(block: Any) -> bool:
    return isinstance(block, Mapping) and RESULT in block


# --- messages ---------------------------------------------------------------------------------------------------------


NAME = "bedrock"

_READ_KEYS = frozenset({"role", "content", PLACE})


def to_message(native: JsonMapping) -> Message:
    """Returns the canonical form of one element of `messages`, cut or not."""
    role, content = native.get("role"), native.get("content")
    extra: Json = {key: value for key, value in native.items() if value is not None and key not in _READ_KEYS}
    ours = role if isinstance(role, str) else NO_ROLE
    if ours == NO_ROLE:
        extra["role"] = role
    parts: list[Part] = []
    if isinstance(content, list | tuple):
        parts = [content_part(block) for block in content if not is_cache_point(block)]
    else:
        extra["content"] = content
    return message_of_blocks(role, ours, parts, extra)


def from_message(message: Message) -> Json:
    """Returns one cut element of `messages`."""
    role = message["role"]
    native: Json = {"role": "user" if role == "tool" else role}
    native["content"] = [native_block(part) for part in message["parts"]]
    native |= extra_of(message)
    return {key: value for key, value in native.items() if value is not None}


def to_messages(natives: Iterable[JsonMapping]) -> list[Message]:
    """Converts the `messages` of a request; each tool result becomes a message."""
    return [to_message(native) for native in split_turns(natives)]


def from_messages(messages: Iterable[Message]) -> list[Json]:
    """Returns the `messages` of a request; a system prompt is the first element."""
    system, joined = merge_turns(map(from_message, messages))
    return joined if system is None else [{"role": "system", "content": system}, *joined]


def output_message(native: JsonMapping) -> tuple[Message, Any]:
    """Returns a response's `message` as the client sends it back, and the text of its thoughts (None: there are
    none)."""
    message = to_message({"role": "assistant", **native})
    thoughts = [part["content"] for part in message["parts"] if part.get("type") == "reasoning" and part.get("content")]
    return message, "\n\n".join(thoughts) or None

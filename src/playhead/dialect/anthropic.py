"""Anthropic Messages ↔ parts: the messages of Anthropic's API, and the blocks of their `content`.

The messages of a request are cut before they are converted (`split_turns`): the system prompt becomes the first
message, and each tool result a message, as in all dialects. A user message that answers several tool calls, and may
continue with text, is cut into one message per result and one per sequence of other blocks. The cuts need not be
stored: the API requires all results of a turn in one message, so consecutive results belong together, and nothing else
does. A message for which this rule is wrong has a mark under `PLACE`.

Forms that the API treats as equal give equal messages, because programs use all of them, even within one conversation:

- a text, and a list of one block with that text;
- a block with and without `cache_control`, which moves to a later block with every turn, and with or without keys that
  have their default value (`is_error: false`, `caller: {"type": "direct"}`);
- null keys and missing keys.

Everything else is restored: signatures of thoughts, redacted thoughts, the blocks of server tools. Clients send
thoughts back, so they stay in the message (`output_message`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, cast

from playhead.dialect.parts import (
    AS_IS,
    NO_ROLE,
    PART_TYPES,
    extra_of,
    message_of_blocks,
    opaque_part,
    unknown_keys,
    with_extra,
    without_nulls,
)
from playhead.model.json_value import Json, JsonMapping, JsonValue, text_at
from playhead.model.message import Message, Part

__all__ = [
    "NAME",
    "count_uncut",
    "from_message",
    "from_messages",
    "merge_turns",
    "output_message",
    "split_plain_turns",
    "split_turns",
    "to_message",
    "to_messages",
]


# --- cutting and joining turns ----------------------------------------------------------------------------------------


PLACE = "playhead.place"
# Values of `PLACE`: part of the message before; a message of its own; a system message that is not the system prompt.
_JOINED, _APART, _INSIDE = "joined", "apart", "messages"

_RESULT = "tool_result"
_CUTTABLE_KEYS = {"role", "content", PLACE}
_DICTIONARIES: set[type] = {dict}


def split_turns(messages: Iterable[Mapping[str, Any]], system: Any = None) -> list[Mapping[str, Any]]:
    """Cuts the messages of a request. `system`: its system prompt, None if it has none."""
    cut: list[Mapping[str, Any]] = []
    if system is not None:
        cut.append({"role": "system", "content": system})
    was_result = False
    for message in messages:
        content: Any = message.get("content")
        role = message.get("role")
        if role == "system" and not cut:
            cut.append({**message, PLACE: _INSIDE})
            was_result = False
        elif role != "user" or type(content) is str or not isinstance(content, list | tuple):
            cut.append(message)
            was_result = False
        else:  # a cast is a call
            was_result = _cut_message(message, content, was_result, cut)  # pyright: ignore[reportUnknownArgumentType]
    return cut


def split_plain_turns(
    messages: Any, system: Any = None, begin: list[Any] | None = None
) -> tuple[list[Any], int] | None:
    """Does the same as `split_turns`, faster, for messages and blocks that are dictionaries, as in most programs.
    Returns the cut messages and how many of the first ones needed no cutting (see `count_uncut`). None: use
    `split_turns`, because there are other types, or the first message has role `system` and `system` is None.

    `begin`: the first messages (with the system prompt, if there is one), which are known to need no cutting. This list
    is extended by the other messages and returned.
    """
    cut: list[Any]
    rest: list[Any]
    if begin:
        cut, rest = begin, messages[len(begin) - (system is not None) :]
    else:
        cut, rest = [] if system is None else [{"role": "system", "content": system}], [*messages]
        if system is None and rest and isinstance(rest[0], dict) and cast("Any", rest[0]).get("role") == "system":
            return None
    whole, was_result = _count_uncut(rest, cut[-1] if cut else None)
    if whole == len(rest):  # the usual case
        cut += rest
        return cut, len(cut)
    cut += rest[:whole]
    whole_count = len(cut)
    kind: Any = None
    for message in rest[whole:]:
        kind = type(message)  # pyright: ignore[reportUnknownVariableType]
        content: Any = message.get("content") if kind is dict else None
        kind = type(content)  # pyright: ignore[reportUnknownVariableType]
        if kind is not str and (kind is not list or {*map(type, content)} - _DICTIONARIES):
            return None
        if kind is list and message.get("role") == "user":
            was_result = _cut_message(message, content, was_result, cut)
        else:
            cut.append(message)
            was_result = False
    return cut, whole_count


def count_uncut(messages: Sequence[Any], whole_count: int = 0) -> int:
    """Returns how many of the first messages need no cutting; the first `whole_count` are known to need none. Stops at
    a message that is not a dictionary with a text or with blocks that are dictionaries."""
    return whole_count + _count_uncut(messages[whole_count:], messages[whole_count - 1] if whole_count else None)[0]


def _count_uncut(messages: Sequence[Any], before: Any) -> tuple[int, bool]:
    """Counts like `count_uncut` after the message `before` (None: there is none). Also returns whether the last counted
    message is a tool result.

    Runs for the new messages of each model call.
    """
    count = 0
    was_result: bool | None = None  # None: the message before was not examined; most calls need not examine it
    kind: Any = None
    for message in messages:
        kind = type(message)  # pyright: ignore[reportUnknownVariableType]
        if kind is not dict:
            break
        content: Any = message.get("content")
        kind = type(content)  # pyright: ignore[reportUnknownVariableType]
        if kind is str:
            was_result = False
        elif kind is not list or PLACE in message:
            break
        else:
            has_result = False
            for block in content:
                kind = type(block)  # pyright: ignore[reportUnknownVariableType]
                if kind is not dict:
                    return count, _was_result(was_result, before)
                if block.get("type") == _RESULT:
                    has_result = message.get("role") == "user"
            if has_result and (len(content) != 1 or len(message) != 2 or _was_result(was_result, before)):
                break
            was_result = has_result
        count += 1
    return count, _was_result(was_result, before)


def _was_result(was_result: bool | None, before: Any) -> bool:
    return (before is not None and _is_result_message(before)) if was_result is None else was_result


def merge_turns(cut: Iterable[Mapping[str, Any]]) -> tuple[Any, list[dict[str, Any]]]:
    """Joins cut messages. Returns the request's system prompt (None: it has none) and its messages."""
    system: Any = None
    joined: list[dict[str, Any]] = []
    is_first = True
    was_result = False
    for message in cut:
        place = message.get(PLACE)
        native = {key: value for key, value in message.items() if key != PLACE} if place else dict(message)
        if is_first and place != _INSIDE and native.get("role") == "system" and len(native) == 2:
            system = native["content"]
        else:
            is_result = _is_result_message(native)
            if joined and (place == _JOINED or (is_result and was_result and place != _APART)):
                joined[-1]["content"] = [*_blocks_of(joined[-1].get("content")), *_blocks_of(native.get("content"))]
            else:
                joined.append(native)
            was_result = is_result
        is_first = False
    return system, joined


def _cut_message(
    message: Mapping[str, Any], content: Sequence[Any], was_result: bool, cut: list[Mapping[str, Any]]
) -> bool:
    """Appends the pieces of a user message to `cut`. Returns whether the last piece is a tool result."""
    if len(content) == 1 and len(message) == 2:
        is_result = _block_type(content[0]) == _RESULT
        cut.append({**message, PLACE: _APART} if is_result and was_result else message)
        return is_result
    kinds = [_block_type(block) for block in content]
    if _RESULT not in kinds or not message.keys() <= _CUTTABLE_KEYS:
        cut.append(message)
        return _is_result_message(message)
    is_begin = True
    blocks = iter(content)
    for is_result, group in groupby(kinds, lambda kind: kind == _RESULT):
        count = len(list(group))
        pieces = [[next(blocks)] for _ in range(count)] if is_result else [[next(blocks) for _ in range(count)]]
        for piece in pieces:
            native: dict[str, Any] = {"role": "user", "content": piece}
            if is_begin and is_result and was_result:
                native[PLACE] = _APART
            elif not is_begin and not (is_result and was_result):
                native[PLACE] = _JOINED
            cut.append(native)
            is_begin, was_result = False, is_result
    return was_result


def _is_result_message(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    if type(content) is str or message.get("role") != "user":
        return False
    if type(content) is not list and not isinstance(content, tuple | list):
        return False
    if len(content) != 1 or _block_type(content[0]) != _RESULT:  # pyright: ignore[reportUnknownArgumentType]
        return False
    return len(message) == 2 or message.keys() <= _CUTTABLE_KEYS


def _block_type(block: Any) -> Any:
    if type(block) is dict:
        return block.get("type")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return cast("Mapping[str, Any]", block).get("type") if isinstance(block, Mapping) else None


def _blocks_of(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


# --- blocks -----------------------------------------------------------------------------------------------------------


# Ignored: it controls the server's cache, the model does not see it, and it moves to a later block with every turn.
_CACHE = "cache_control"
# Default of `caller`: the model itself called the tool, not another tool.
_DIRECT = {"type": "direct"}
_SOURCE = "source"
_MODALITIES = {"image": "image", "document": "file"}
_BLOCK_OF_MODALITY = {modality: kind for kind, modality in _MODALITIES.items()}


def content_part(native: JsonValue) -> Part:
    """Returns the part for a block. An unknown block is kept, without nulls and `cache_control`."""
    if not isinstance(native, dict):
        return opaque_part(native)
    kind: Any = native.get("type")
    if kind == "text" and len(native) == 2 and type(text := native.get("text")) is str:
        return {"type": "text", "content": text}

    if not isinstance(kind, str):
        return opaque_part(native)
    native = {key: value for key, value in native.items() if value is not None and key != _CACHE}
    reader = _READERS.get(kind)
    part = reader(native) if reader else None
    if part is not None:
        return part
    return opaque_part(native) if kind in PART_TYPES or "extra" in native else native


def native_block(part: Part) -> Any:
    """Returns the block for a part: the inverse of `content_part`."""
    kind, extra = part.get("type"), extra_of(part)
    if kind == AS_IS:
        return part.get("value")
    match kind:
        case "text":
            return {**extra, "type": "text", "text": part.get("content")}
        case "reasoning":
            return {**extra, "type": "thinking", "thinking": part.get("content")}
        case "tool_call" if "name" in part:
            id_field = {"id": part["id"]} if "id" in part else {}
            return {**extra, "type": "tool_use", **id_field, "name": part["name"], "input": part.get("arguments", {})}
        case "tool_call_response":
            id_field = {"tool_use_id": part["id"]} if "id" in part else {}
            content_field = {"content": part["response"]} if "response" in part else {}
            return {**extra, "type": "tool_result", **id_field, **content_field}
        case "blob" | "uri" | "file":
            return _native_media(part, extra)
        case _:
            return part  # unknown here, or a part that only other dialects have


def _read_text(native: Json) -> Part | None:
    text = native.get("text")
    if not isinstance(text, str):
        return None
    # `parsed_output` is added by the client after parsing; the provider did not send it.
    return with_extra({"type": "text", "content": text}, unknown_keys(native, ("type", "text", "parsed_output")))


def _read_thinking(native: Json) -> Part | None:
    """Keeps the signature in the part: the server refuses a thought that is sent back changed or without its
    signature."""
    text = native.get("thinking")
    if not isinstance(text, str):
        return None
    return with_extra({"type": "reasoning", "content": text}, unknown_keys(native, ("type", "thinking")))


def _read_tool_use(native: Json) -> Part | None:
    call_id, name = native.get("id"), native.get("name")
    if not (isinstance(call_id, str) and isinstance(name, str) and "input" in native):
        return None
    part: Part = {"type": "tool_call", "id": call_id, "name": name, "arguments": native["input"]}
    extra = unknown_keys(native, ("type", "id", "name", "input"))
    if extra.get("caller") == _DIRECT:
        del extra["caller"]
    return with_extra(part, extra)


def _read_tool_result(native: Json) -> Part | None:
    call_id = native.get("tool_use_id")
    if not isinstance(call_id, str):
        return None
    part: Part = {"type": "tool_call_response", "id": call_id}
    if "content" in native:
        part["response"] = _result_content(native["content"])
    extra = unknown_keys(native, ("type", "tool_use_id", "content"))
    if extra.get("is_error") is False:
        del extra["is_error"]
    return with_extra(part, extra)


def _result_content(content: JsonValue) -> Any:
    """Returns a tool's result unchanged, but without `cache_control` in its blocks."""
    if not isinstance(content, list | tuple):
        return content
    return [
        {key: value for key, value in block.items() if key != _CACHE} if isinstance(block, dict) else block
        for block in content
    ]


def _read_media(native: Json) -> Part | None:
    """Reads an image, or a document that is a file. Returns None for a document of text or blocks, which is kept as it
    is."""
    source = native.get(_SOURCE)
    if not isinstance(source, dict):
        return None
    fields, modality = source, _MODALITIES[text_at(native, "type")]
    extra = unknown_keys(native, ("type", _SOURCE))
    match fields:
        case {"type": "base64", "media_type": str(mime_type), "data": str(data)} if len(fields) == 3:
            return with_extra({"type": "blob", "mime_type": mime_type, "modality": modality, "content": data}, extra)
        case {"type": "url", "url": str(url)} if len(fields) == 2:
            return with_extra({"type": "uri", "modality": modality, "uri": url}, extra)
        case {"type": "file", "file_id": str(file_id)} if len(fields) == 2:
            return with_extra({"type": "file", "modality": modality, "file_id": file_id}, extra)
        case _:
            return None


def _native_media(part: Part, extra: Json) -> Any:
    kind = _BLOCK_OF_MODALITY.get(str(part.get("modality")))
    if kind is None:
        return part
    match part.get("type"):
        case "blob":
            source = {"type": "base64", "media_type": part.get("mime_type"), "data": part.get("content")}
        case "uri":
            source = {"type": "url", "url": part.get("uri")}
        case _:
            source = {"type": "file", "file_id": part.get("file_id")}
    return {**extra, "type": kind, _SOURCE: without_nulls(source)}


_READERS: dict[str, Callable[[Json], Part | None]] = {
    "text": _read_text,
    "thinking": _read_thinking,
    "tool_use": _read_tool_use,
    "tool_result": _read_tool_result,
    "image": _read_media,
    "document": _read_media,
}


# --- messages ---------------------------------------------------------------------------------------------------------


NAME = "anthropic"

_ROLES = frozenset({"system", "user", "assistant"})
_READ_KEYS = frozenset({"role", "content", PLACE})
_TEXT_PART_KEYS = {"type", "content"}


def to_message(native: JsonMapping) -> Message:
    """Returns the canonical form of one element of `messages`, cut or not."""
    role, content = native.get("role"), native.get("content")
    if len(native) == 2 and type(role) is str and role in _ROLES:
        if type(content) is str:
            return {"role": role, "parts": [{"type": "text", "content": content}]}
        if type(content) is list and len(content) == 1 and role == "assistant":
            part = content_part(content[0])  # not a tool result, and there are no other keys
            return {"role": role, "parts": [part]}
    extra: Json = {key: value for key, value in native.items() if value is not None and key not in _READ_KEYS}
    if isinstance(role, str):
        ours = role
    else:
        ours, extra["role"] = NO_ROLE, role
    parts: list[Part] = []
    if isinstance(content, str):
        parts = [{"type": "text", "content": content}]
    elif isinstance(content, list | tuple):
        parts = [content_part(block) for block in content]
    else:
        extra["content"] = content
    return message_of_blocks(role, ours, parts, extra)


def from_message(message: Message) -> Json:
    """Returns one cut element of `messages`. A single text becomes a plain text unless the role is `assistant`; any
    other content becomes a list of blocks."""
    extra, parts, role = extra_of(message), message["parts"], message["role"]
    native: Json = {"role": "user" if role == "tool" else role}
    if len(parts) == 1 and role != "assistant" and parts[0].keys() == _TEXT_PART_KEYS and parts[0]["type"] == "text":
        native["content"] = parts[0]["content"]
    else:
        native["content"] = [native_block(part) for part in parts]
    native |= extra
    return {key: value for key, value in native.items() if value is not None}


def to_messages(natives: Iterable[JsonMapping]) -> list[Message]:
    """Converts the `messages` of a request; each tool result becomes a message."""
    return [to_message(native) for native in split_turns(natives)]


def from_messages(messages: Iterable[Message]) -> list[Json]:
    """Returns the `messages` of a request; a system prompt is the first element."""
    system, joined = merge_turns(map(from_message, messages))
    return joined if system is None else [{"role": "system", "content": system}, *joined]


def output_message(native: JsonMapping) -> tuple[Message, Any]:
    """Returns a response's `content` as the message that the client sends back, and the text of its thoughts (None:
    there are none)."""
    message = to_message({"role": native.get("role", "assistant"), "content": native.get("content")})
    thoughts: list[str] = []
    for part in message["parts"]:
        if part.get("type") == "reasoning" and part.get("content"):
            thoughts.append(part["content"])  # noqa: PERF401 - most answers have none: a comprehension is a call
    return message, "\n\n".join(thoughts) if thoughts else None

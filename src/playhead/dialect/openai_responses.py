"""Responses items ↔ parts: items of OpenAI's Responses API, of a request's `input` and of a response's `output`.

Each item is one message. Forms that the API treats as equal give equal messages, because clients send answers back in
all of them:

- ignored are `type: "message"`, `status: "completed"`, the `id` of a message, a call or a result (these items are
  complete without it), empty `annotations` and `logprobs` of a text, and null keys;
- an assistant's text equals a list of one `output_text`.
"""

from collections.abc import Callable, Iterable
from typing import Any

from playhead.dialect.parts import (
    AS_IS,
    NO_ROLE,
    PART_TYPES,
    data_uri,
    extra_of,
    opaque_part,
    read_arguments,
    read_data_uri,
    unknown_keys,
    with_extra,
    with_name,
    without_nulls,
    write_arguments,
)
from playhead.model.json_value import Json, JsonMapping, JsonValue, list_at, object_of, objects_of, text_at
from playhead.model.message import Message, Part

# --- elements of a message's `content` --------------------------------------------------------------------------------


_TEXT_OF_MODEL, _TEXT_FOR_MODEL = "output_text", "input_text"
_TEXT_TYPES = frozenset({_TEXT_OF_MODEL, _TEXT_FOR_MODEL})
# Keys that may hold an image or a file; the first one present is used.
_VALUE_KEYS = {"input_image": ("image_url", "file_id"), "input_file": ("file_data", "file_url", "file_id")}


def text_type(role: str) -> str:
    """Returns the type of a text element in a message of this role."""
    return _TEXT_OF_MODEL if role == "assistant" else _TEXT_FOR_MODEL


def content_part(native: JsonValue, role: str) -> Part:
    """Returns the part for an element of `content`. An unknown element is kept, without nulls."""
    if not isinstance(native, dict):
        return opaque_part(native)
    kind = native.get("type")
    if not isinstance(kind, str):
        return opaque_part(native)
    reader = _READERS.get(kind)
    part = reader(native, role) if reader else None
    if part is not None:
        return part
    return opaque_part(native) if kind in PART_TYPES else without_nulls(native)


def native_part(part: Part, role: str) -> Any:
    """Returns the element for a part: the inverse of `content_part`."""
    kind, extra = part.get("type"), extra_of(part)
    if kind == AS_IS:
        return part.get("value")
    if kind == "text":
        return {**extra, "type": extra.get("type") or text_type(role), "text": part.get("content")}
    if kind == "refusal":
        return {**extra, "type": "refusal", "refusal": part.get("content")}
    match kind, part.get("modality"):
        case "blob" | "uri" | "file", "image" | "file" as modality:
            value = data_uri(part) if kind == "blob" else part.get("uri" if kind == "uri" else "file_id")
            return {**extra, "type": f"input_{modality}", _value_key(kind, modality): value}
        case _:
            return part  # unknown here, or a part that only other dialects have


def _value_key(kind: str, modality: str) -> str:
    if kind == "file":
        return "file_id"
    if modality == "image":
        return "image_url"
    return "file_data" if kind == "blob" else "file_url"


def _read_text(native: Json, role: str) -> Part | None:
    text = native.get("text")
    if not isinstance(text, str):
        return None
    extra = unknown_keys(native, ("type", "text"))
    for key in ("annotations", "logprobs"):
        if extra.get(key) == []:
            del extra[key]
    if native["type"] != text_type(role):
        extra["type"] = native["type"]
    return with_extra({"type": "text", "content": text}, extra)


def _read_refusal(native: Json, role: str) -> Part | None:
    text = native.get("refusal")
    if not isinstance(text, str):
        return None
    return with_extra({"type": "refusal", "content": text}, unknown_keys(native, ("type", "refusal")))


def _read_media(native: Json, role: str) -> Part | None:
    kind = text_at(native, "type")
    modality = kind.removeprefix("input_")
    key = next((key for key in _VALUE_KEYS[kind] if isinstance(native.get(key), str)), None)
    if key is None:
        return None
    value = native[key]
    if key == "file_id":
        part: Part | None = {"type": "file", "modality": modality, "file_id": value}
    elif key == "file_url":
        part = {"type": "uri", "modality": modality, "uri": value}
    else:
        part = read_data_uri(value, modality)
        if part is None and key == "image_url":
            part = {"type": "uri", "modality": modality, "uri": value}
    return None if part is None else with_extra(part, unknown_keys(native, ("type", key)))


_READERS: dict[str, Callable[[Json, str], Part | None]] = {
    **dict.fromkeys(_TEXT_TYPES, _read_text),
    "refusal": _read_refusal,
    **dict.fromkeys(_VALUE_KEYS, _read_media),
}


# --- items ------------------------------------------------------------------------------------------------------------


NAME = "openai_responses"

_PLAIN_ROLES = frozenset({"system", "user"})
_MESSAGE = "message"
_REASONING = "reasoning"
# Item types of calls, with the key of their arguments; item types of results.
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})
_FUNCTION, _FUNCTION_RESULT = "function_call", "function_call_output"
# Keys of a reasoning item that hold lists of texts, with the type of these texts.
_THOUGHTS = {"summary": "summary_text", "content": "reasoning_text"}


def to_message(native: JsonMapping) -> Message:
    """Returns the canonical form of one item."""
    role, content, kind = native.get("role"), native.get("content"), native.get("type")
    if not isinstance(kind, str | None):
        return _read_other(native)
    if type(content) is str and len(native) == 2 and type(role) is str and role in _PLAIN_ROLES:
        return {"role": role, "parts": [{"type": "text", "content": content}]}
    if kind is None or kind == _MESSAGE:
        return _read_message(native, role) if isinstance(role, str) else _read_other(native)
    read = None
    if kind in _CALLS:
        read = _read_call(native, kind)
    elif kind in _RESULTS:
        read = _read_result(native, kind)
    elif kind == _REASONING:
        read = _read_reasoning(native)
    return read or _read_other(native)


def from_message(message: Message) -> Json:
    """Returns one item. A message that no other type of item can express becomes an item of type `message` with all its
    parts in the content."""
    extra, parts = extra_of(message), message["parts"]
    kind = extra.get("type", _MESSAGE)
    if kind == _REASONING and all(part.get("type") == _REASONING for part in parts):
        return _native_reasoning(parts, extra)
    if kind != _MESSAGE and len(parts) == 1:
        return parts[0].get("value", {}) if parts[0].get("type") == AS_IS else dict(parts[0])
    if len(parts) == 1 and "id" in parts[0]:
        if parts[0].get("type") == "tool_call" and "name" in parts[0]:
            return _native_call(parts[0])
        if parts[0].get("type") == "tool_call_response":
            return _native_result(parts[0])
    return _native_message(message, extra)


def to_messages(natives: Iterable[JsonMapping]) -> list[Message]:
    """Converts the items of a request's `input`, or of a response's `output`."""
    return [to_message(native) for native in natives]


def from_messages(messages: Iterable[Message]) -> list[Json]:
    """Returns the items for the messages."""
    return [from_message(message) for message in messages]


def output_message(native: JsonMapping) -> tuple[Message, Any]:
    """Returns the message of one item of a response's `output`, and its reasoning text (None: there is none that can be
    read).

    Reasoning is an item of its own that clients send back, so it also stays in the message.
    """
    message = to_message(native)
    if native.get("type") != _REASONING:
        return message, None
    thoughts = [part["content"] for part in message["parts"] if part.get("type") == _REASONING and part.get("content")]
    return message, "\n\n".join(thoughts) or None


def _unread_keys(native: JsonMapping, read: Iterable[str]) -> Json:
    more = unknown_keys(native, read)
    if more.get("status") == "completed":
        del more["status"]
    if isinstance(more.get("id"), str):
        del more["id"]
    return more


def _read_message(native: JsonMapping, role: str) -> Message:
    extra = _unread_keys(native, ("role", "content", "name", "type"))
    if role == "developer":
        extra["role"] = role
    parts: list[Part] = []
    content = native.get("content")
    if isinstance(content, str):
        parts.append({"type": "text", "content": content})
    elif isinstance(content, list | tuple) and content:
        parts += [content_part(part, role) for part in content]
        if len(parts) == 1 and role != "assistant" and parts[0].get("type") == "text" and "extra" not in parts[0]:
            parts[0]["extra"] = {"type": text_type(role)}  # a list of one text must stay different from the text alone
    elif content is not None:
        extra["content"] = content
    message: Message = {"role": "system" if role == "developer" else role, "parts": parts}
    return with_name(message, native, extra)


def _native_message(message: Message, extra: Json) -> Json:
    role = extra.get("role", message["role"])
    native: Json = {"role": role}
    parts = message["parts"]
    text = parts[0] if len(parts) == 1 and parts[0].get("type") == "text" else None
    if text is not None and "extra" not in text and role != "assistant":
        native["content"] = text.get("content")
    elif parts:
        native["content"] = [native_part(part, str(role)) for part in parts]
    if "name" in message:
        native["name"] = message["name"]
    return {**native, **extra, "role": role}


def _read_call(native: JsonMapping, kind: str) -> Message | None:
    where = _CALLS[kind]
    call_id, name, arguments = native.get("call_id"), native.get("name"), native.get(where)
    if not (isinstance(call_id, str) and isinstance(name, str) and isinstance(arguments, str)):
        return None
    parsed = read_arguments(arguments) if kind == _FUNCTION else arguments
    part: Part = {"type": "tool_call", "id": call_id, "name": name, "arguments": parsed}
    extra = _unread_keys(native, ("type", "call_id", "name", where))
    return {"role": "assistant", "parts": [_with_extra_and_type(part, extra, kind, _FUNCTION)]}


def _native_call(part: Part) -> Json:
    extra = extra_of(part)
    kind = text_at(extra, "type", _FUNCTION)
    arguments = write_arguments(part.get("arguments", ""))
    fields = {"call_id": part["id"], "name": part["name"], _CALLS.get(kind, "arguments"): arguments}
    return {**extra, "type": kind, **fields}


def _read_result(native: JsonMapping, kind: str) -> Message | None:
    call_id = native.get("call_id")
    if not isinstance(call_id, str):
        return None
    part: Part = {"type": "tool_call_response", "id": call_id}
    if (output := native.get("output")) is not None:
        part["response"] = output
    extra = _unread_keys(native, ("type", "call_id", "output"))
    return {"role": "tool", "parts": [_with_extra_and_type(part, extra, kind, _FUNCTION_RESULT)]}


def _native_result(part: Part) -> Json:
    extra = extra_of(part)
    output_field = {"output": part["response"]} if "response" in part else {}
    return {**extra, "type": extra.get("type", _FUNCTION_RESULT), "call_id": part["id"], **output_field}


def _with_extra_and_type(part: Part, extra: Json, kind: str, usual: str) -> Part:
    if kind != usual:
        extra["type"] = kind
    return with_extra(part, extra)


def _read_reasoning(native: JsonMapping) -> Message | None:
    extra = unknown_keys(native, ("content", "summary"))  # its `id` stays: the server finds the full reasoning by it
    if extra.get("status") == "completed":
        del extra["status"]
    parts: list[Part] = []
    for key, kind in _THOUGHTS.items():
        texts = native.get(key)
        if isinstance(texts, list) and texts and all(_is_thought(text, kind) for text in texts):
            extra_field = {} if key == "summary" else {"extra": {"type": kind}}
            parts += [{"type": _REASONING, "content": text["text"], **extra_field} for text in objects_of(texts)]
        elif texts is not None and texts != []:
            return None
        elif (texts is None) == (key == "summary"):  # the usual item has a summary, even if it is empty, and no content
            extra[key] = texts
    return {"role": "assistant", "parts": parts, "extra": extra}


def _is_thought(text: Any, kind: str) -> bool:
    fields = object_of(text)
    return len(fields) == 2 and fields.get("type") == kind and isinstance(fields.get("text"), str)


def _native_reasoning(parts: list[Part], extra: Json) -> Json:
    native: Json = {"summary": [], **extra}
    for part in parts:
        kind = extra_of(part).get("type", _THOUGHTS["summary"])
        key = "summary" if kind == _THOUGHTS["summary"] else "content"
        native[key] = [*list_at(native, key), {"type": kind, "text": part.get("content")}]
    return without_nulls(native)


def _read_other(native: JsonMapping) -> Message:
    """Makes an item that only this API has, or that is unknown, the only part of a message."""
    kind = native.get("type")
    if not isinstance(kind, str) or kind == _MESSAGE:
        return {"role": NO_ROLE, "parts": [opaque_part(dict(native))], "extra": {"type": None}}
    part = content_part(dict(native), "")
    if part.get("type") != kind or "extra" in part:  # it was read as an element of a message's content
        part = opaque_part(dict(native))
    return {"role": _role_of_item(kind), "parts": [part], "extra": {"type": kind}}


def _role_of_item(kind: str) -> str:
    if kind.endswith("_output"):
        return "tool"
    return "user" if kind == "mcp_approval_response" else "assistant"

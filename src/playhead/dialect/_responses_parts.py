"""Converts the elements of a message's `content` in the Responses API to parts, and back."""

from collections.abc import Callable
from typing import Any, cast

from playhead.dialect._shape import AS_IS, RESERVED, as_is, data_uri, extra_of, read_data_uri, rest, without_nulls
from playhead.model.message import Part

_TEXT_OF_MODEL, _TEXT_FOR_MODEL = "output_text", "input_text"
_TEXTS = frozenset({_TEXT_OF_MODEL, _TEXT_FOR_MODEL})
# Types that mean something as a part. A native element of such a type that no reader below can read is wrapped with
# `as_is`.
_OURS = RESERVED | {"text", "refusal", "reasoning", "tool_call", "tool_call_response", "blob", "uri", "file"}
# Keys that may hold an image or a file; the first one present is used.
_VALUE_KEYS = {"input_image": ("image_url", "file_id"), "input_file": ("file_data", "file_url", "file_id")}


def text_type(role: str) -> str:
    """Returns the type of a text element in a message of this role."""
    return _TEXT_OF_MODEL if role == "assistant" else _TEXT_FOR_MODEL


def content_part(native: Any, role: str) -> Part:
    """Returns the part for an element of `content`. An unknown element is kept, without nulls."""
    if not isinstance(native, dict):
        return as_is(native)
    native = cast(dict[str, Any], native)
    kind = native.get("type")
    if not isinstance(kind, str):
        return as_is(native)
    reader = _READERS.get(kind)
    part = reader(native, role) if reader else None
    if part is not None:
        return part
    return as_is(native) if kind in _OURS else without_nulls(native)


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


def _text(native: dict[str, Any], role: str) -> Part | None:
    text = native.get("text")
    if not isinstance(text, str):
        return None
    extra = rest(native, ("type", "text"))
    for key in ("annotations", "logprobs"):
        if extra.get(key) == []:
            del extra[key]
    if native["type"] != text_type(role):
        extra["type"] = native["type"]
    return _extended({"type": "text", "content": text}, extra)


def _refusal(native: dict[str, Any], role: str) -> Part | None:
    text = native.get("refusal")
    if not isinstance(text, str):
        return None
    return _extended({"type": "refusal", "content": text}, rest(native, ("type", "refusal")))


def _media(native: dict[str, Any], role: str) -> Part | None:
    kind = native["type"]
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
    return None if part is None else _extended(part, rest(native, ("type", key)))


def _extended(part: Part, extra: dict[str, Any]) -> Part:
    if extra:
        part["extra"] = extra
    return part


_READERS: dict[str, Callable[[dict[str, Any], str], Part | None]] = {
    **dict.fromkeys(_TEXTS, _text),
    "refusal": _refusal,
    **dict.fromkeys(_VALUE_KEYS, _media),
}

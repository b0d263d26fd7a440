"""Converts the elements of a `content` list in Chat Completions to parts, and back."""

from collections.abc import Callable
from typing import Any, cast

from playhead.dialect._shape import AS_IS, RESERVED, as_is, data_uri, extra_of, read_data_uri, rest, without_nulls
from playhead.model.message import Part

_AUDIO_TYPES = {"wav": "audio/wav", "mp3": "audio/mpeg"}
_AUDIO_FORMATS = {mime_type: name for name, mime_type in _AUDIO_TYPES.items()}
# Types that mean something to `native_part` and to the writer of messages. A native element of such a type that no
# reader below can read is wrapped with `as_is`.
_OURS = RESERVED | {"text", "refusal", "reasoning", "tool_call", "tool_call_response", "blob", "uri", "file"}


def content_part(native: Any) -> Part:
    """Returns the part for an element of `content`. An unknown element is kept, without nulls."""
    if not isinstance(native, dict):
        return as_is(native)
    native = cast(dict[str, Any], native)
    kind = native.get("type")
    if not isinstance(kind, str):
        return as_is(native)
    if kind == "text" and isinstance(text := native.get("text"), str):
        if len(native) == 2:
            return {"type": "text", "content": text}
        return _extended({"type": "text", "content": text}, rest(native, ("type", "text")))
    reader = _READERS.get(kind)
    part = reader(native) if reader else None
    if part is not None:
        return part
    return as_is(native) if kind in _OURS else without_nulls(native)


def native_part(part: Part) -> Any:
    """Returns the element for a part: the inverse of `content_part`."""
    kind, extra = part.get("type"), extra_of(part)
    if kind == AS_IS:
        return part.get("value")
    if kind in ("text", "refusal"):
        return {"type": kind, kind: part.get("content"), **extra}
    match kind, part.get("modality"):
        case "blob", "image":
            return _native("image_url", {"url": data_uri(part)}, extra)
        case "uri", "image":
            return _native("image_url", {"url": part.get("uri")}, extra)
        case "blob", "audio" if name := _AUDIO_FORMATS.get(str(part.get("mime_type"))):
            return _native("input_audio", {"data": part.get("content"), "format": name}, extra)
        case "blob", "file":
            return _native("file", {"file_data": data_uri(part)}, extra)
        case "file", "file":
            return _native("file", {"file_id": part.get("file_id")}, extra)
        case _:
            return part  # unknown here, or a part that only other dialects have


def _extended(part: Part, extra: dict[str, Any]) -> Part:
    if extra:
        part["extra"] = extra
    return part


def _refusal(native: dict[str, Any]) -> Part | None:
    text = native.get("refusal")
    if not isinstance(text, str):
        return None
    # `extra.type` marks a refusal inside the content: a refusal beside the content is a text under a key of the
    # message.
    return {"type": "refusal", "content": text, "extra": {"type": "refusal", **rest(native, ("type", "refusal"))}}


def _within(native: dict[str, Any], key: str, part: Part, read_keys: tuple[str, ...]) -> Part:
    """Adds the other keys of the native element, and of the object under `key`, to the part's `extra`. `read_keys`:
    keys of that object that the part holds already."""
    extra = rest(native, ("type", key))
    if inner := rest(native[key], read_keys):
        extra[key] = inner
    return _extended(part, extra)


def _image(native: dict[str, Any]) -> Part | None:
    image = native.get("image_url")
    url = cast(dict[str, Any], image).get("url") if isinstance(image, dict) else None
    if not isinstance(url, str):
        return None
    part = read_data_uri(url, "image") or {"type": "uri", "modality": "image", "uri": url}
    return _within(native, "image_url", part, ("url",))


def _audio(native: dict[str, Any]) -> Part | None:
    audio = native.get("input_audio")
    if not isinstance(audio, dict):
        return None
    data, name = cast(dict[str, Any], audio).get("data"), cast(dict[str, Any], audio).get("format")
    if not isinstance(data, str) or not isinstance(name, str) or name not in _AUDIO_TYPES:
        return None
    part: Part = {"type": "blob", "mime_type": _AUDIO_TYPES[name], "modality": "audio", "content": data}
    return _within(native, "input_audio", part, ("data", "format"))


def _file(native: dict[str, Any]) -> Part | None:
    file = native.get("file")
    if not isinstance(file, dict):
        return None
    blob = read_data_uri(cast(dict[str, Any], file).get("file_data"), "file")
    if blob:
        return _within(native, "file", blob, ("file_data",))
    file_id = cast(dict[str, Any], file).get("file_id")
    if not isinstance(file_id, str):
        return None
    return _within(native, "file", {"type": "file", "modality": "file", "file_id": file_id}, ("file_id",))


def _native(kind: str, body: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
    return {**extra, "type": kind, kind: {**body, **extra.get(kind, {})}}


_READERS: dict[str, Callable[[dict[str, Any]], Part | None]] = {
    "refusal": _refusal,
    "image_url": _image,
    "input_audio": _audio,
    "file": _file,
}

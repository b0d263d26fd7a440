"""Converts the blocks of a message's `content` in Anthropic's Messages API to parts, and back."""

from collections.abc import Callable
from typing import Any, cast

from playhead.dialect._shape import AS_IS, RESERVED, as_is, extra_of, rest, without_nulls
from playhead.model.message import Part

# Ignored: it controls the server's cache, the model does not see it, and it moves to a later block with every turn.
_CACHE = "cache_control"
# Default of `caller`: the model itself called the tool, not another tool.
_DIRECT = {"type": "direct"}
_SOURCE = "source"
# Types that mean something as a part. A native block of such a type that no reader below can read is wrapped with
# `as_is`.
_OURS = RESERVED | {"text", "refusal", "reasoning", "tool_call", "tool_call_response", "blob", "uri", "file"}
_MODALITIES = {"image": "image", "document": "file"}
_BLOCKS = {modality: kind for kind, modality in _MODALITIES.items()}


def content_part(native: Any) -> Part:
    """Returns the part for a block. An unknown block is kept, without nulls and `cache_control`."""
    if not isinstance(native, dict):
        return as_is(native)
    kind: Any = native.get("type")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if kind == "text" and len(native) == 2 and type(text := native.get("text")) is str:  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportUnknownArgumentType]
        return {"type": "text", "content": text}
    native = cast(dict[str, Any], native)  # not before the test above: a cast is a function call
    if not isinstance(kind, str):
        return as_is(native)
    native = {key: value for key, value in native.items() if value is not None and key != _CACHE}
    reader = _READERS.get(kind)
    part = reader(native) if reader else None
    if part is not None:
        return part
    return as_is(native) if kind in _OURS or "extra" in native else native


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


def _extended(part: Part, extra: dict[str, Any]) -> Part:
    if extra:
        part["extra"] = extra
    return part


def _text(native: dict[str, Any]) -> Part | None:
    text = native.get("text")
    if not isinstance(text, str):
        return None
    # `parsed_output` is added by the client after parsing; the provider did not send it.
    return _extended({"type": "text", "content": text}, rest(native, ("type", "text", "parsed_output")))


def _thinking(native: dict[str, Any]) -> Part | None:
    """Keeps the signature in the part: the server refuses a thought that is sent back changed or without its
    signature."""
    text = native.get("thinking")
    if not isinstance(text, str):
        return None
    return _extended({"type": "reasoning", "content": text}, rest(native, ("type", "thinking")))


def _tool_use(native: dict[str, Any]) -> Part | None:
    call_id, name = native.get("id"), native.get("name")
    if not (isinstance(call_id, str) and isinstance(name, str) and "input" in native):
        return None
    part: Part = {"type": "tool_call", "id": call_id, "name": name, "arguments": native["input"]}
    extra = rest(native, ("type", "id", "name", "input"))
    if extra.get("caller") == _DIRECT:
        del extra["caller"]
    return _extended(part, extra)


def _tool_result(native: dict[str, Any]) -> Part | None:
    call_id = native.get("tool_use_id")
    if not isinstance(call_id, str):
        return None
    part: Part = {"type": "tool_call_response", "id": call_id}
    if "content" in native:
        part["response"] = _response(native["content"])
    extra = rest(native, ("type", "tool_use_id", "content"))
    if extra.get("is_error") is False:
        del extra["is_error"]
    return _extended(part, extra)


def _response(content: Any) -> Any:
    """Returns a tool's result unchanged, but without `cache_control` in its blocks."""
    if not isinstance(content, list | tuple):
        return content
    return [
        {key: value for key, value in cast(dict[str, Any], block).items() if key != _CACHE}
        if isinstance(block, dict)
        else block
        for block in cast(list[Any], content)
    ]


def _media(native: dict[str, Any]) -> Part | None:
    """Reads an image, or a document that is a file. Returns None for a document of text or blocks, which is kept as it
    is."""
    source = native.get(_SOURCE)
    if not isinstance(source, dict):
        return None
    fields, modality = cast(dict[str, Any], source), _MODALITIES[native["type"]]
    extra = rest(native, ("type", _SOURCE))
    match fields:
        case {"type": "base64", "media_type": str(mime_type), "data": str(data)} if len(fields) == 3:
            return _extended({"type": "blob", "mime_type": mime_type, "modality": modality, "content": data}, extra)
        case {"type": "url", "url": str(url)} if len(fields) == 2:
            return _extended({"type": "uri", "modality": modality, "uri": url}, extra)
        case {"type": "file", "file_id": str(file_id)} if len(fields) == 2:
            return _extended({"type": "file", "modality": modality, "file_id": file_id}, extra)
        case _:
            return None


def _native_media(part: Part, extra: dict[str, Any]) -> Any:
    kind = _BLOCKS.get(str(part.get("modality")))
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


_READERS: dict[str, Callable[[dict[str, Any]], Part | None]] = {
    "text": _text,
    "thinking": _thinking,
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "image": _media,
    "document": _media,
}

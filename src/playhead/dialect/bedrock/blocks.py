"""Converts the blocks of a message's `content` in Bedrock's Converse API to parts, and back. Bytes are base64, as
sent.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from playhead.dialect._shape import AS_IS, as_is, extra_of, rest
from playhead.model.message import Part

RESULT = "toolResult"
_CACHE = "cachePoint"
_SUCCESS = "success"  # the default status of a tool's result
_MODALITIES = {"image": "image", "video": "video", "audio": "audio", "document": "file"}
_BLOCKS = {modality: kind for kind, modality in _MODALITIES.items()}
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


def content_part(native: Any) -> Part:
    """Returns the part for a block. An unknown block is wrapped with `as_is`."""
    if not isinstance(native, dict):
        return as_is(native)
    block = {key: value for key, value in cast("dict[str, Any]", native).items() if value is not None}
    if len(block) != 1:
        return as_is(native)
    [(kind, body)] = block.items()
    if kind == "text" and isinstance(body, str):
        return {"type": "text", "content": body}
    reader = _READERS.get(kind)
    part = reader(kind, cast("dict[str, Any]", body)) if reader is not None and isinstance(body, dict) else None
    return as_is(native) if part is None else part


def is_cache_point(native: Any) -> bool:
    """Whether the block marks the end of what the server caches for later requests."""
    if not isinstance(native, Mapping):
        return False
    block = cast("Mapping[str, Any]", native)
    point = block.get(_CACHE)
    return len(block) == 1 and isinstance(point, Mapping) and "type" in point


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
            return {RESULT: {**id_field, "content": _native_response(part.get("response")), **extra}}
        case "blob" | "uri":
            return _native_media(part, extra)
        case _ if kind == AS_IS:
            return part.get("value")
        case _:
            return part  # a part that only other dialects have


def _extended(part: Part, extra: Mapping[str, Any]) -> Part:
    if extra:
        part["extra"] = dict(extra)
    return part


def _guarded(kind: str, body: dict[str, Any]) -> Part | None:
    """Reads a text that a guardrail checks. For the model it is a text like any other."""
    match body.get("text"):
        case {"text": str(text)} as fields if len(body) == 1:
            more = rest(cast("dict[str, Any]", fields), ("text",))
            return {"type": "text", "content": text, "extra": {kind: more}}
        case _:
            return None


def _cited(kind: str, body: dict[str, Any]) -> Part | None:
    match body.get("content"):
        case [{"text": str(text)} as only] if len(cast("dict[str, Any]", only)) == 1:
            return {"type": "text", "content": text, "extra": {kind: rest(body, ("content",))}}
        case _:
            return None


def _native_text(part: Part, extra: dict[str, Any]) -> Any:
    if "guardContent" in extra:
        return {"guardContent": {"text": {"text": part.get("content"), **extra["guardContent"]}}}
    if "citationsContent" in extra:
        return {"citationsContent": {"content": [{"text": part.get("content")}], **extra["citationsContent"]}}
    return {"text": part.get("content")}


def _reasoning(kind: str, body: dict[str, Any]) -> Part | None:
    """Keeps the signature in the part: the model refuses a thought that is sent back changed or without its
    signature."""
    match body:
        case {"reasoningText": {"text": str(text)} as fields} if len(body) == 1:
            return _extended({"type": "reasoning", "content": text}, rest(cast("dict[str, Any]", fields), ("text",)))
        case {"redactedContent": str(data)} if len(body) == 1:
            return {"type": "reasoning", "extra": {"redactedContent": data}}
        case _:
            return None


def _native_reasoning(part: Part, extra: dict[str, Any]) -> Any:
    return {"reasoningText": {"text": part["content"], **extra}} if "content" in part else extra


def _tool_use(kind: str, body: dict[str, Any]) -> Part | None:
    call_id, name = body.get("toolUseId"), body.get("name")
    if not (isinstance(call_id, str) and isinstance(name, str) and body.get("input") is not None):
        return None
    part: Part = {"type": "tool_call", "id": call_id, "name": name, "arguments": body["input"]}
    return _extended(part, rest(body, ("toolUseId", "name", "input")))


def _tool_result(kind: str, body: dict[str, Any]) -> Part | None:
    call_id, content = body.get("toolUseId"), body.get("content")
    if not isinstance(call_id, str) or not isinstance(content, list):
        return None
    part: Part = {"type": "tool_call_response", "id": call_id, "response": _response(cast("list[Any]", content))}
    extra = rest(body, ("toolUseId", "content"))
    if extra.get("status") == _SUCCESS:
        del extra["status"]
    return _extended(part, extra)


def _response(content: list[Any]) -> Any:
    """Returns the text of a result of one text, as other providers send it; any other content stays unchanged."""
    match content:
        case [{"text": str(text)} as only] if len(cast("dict[str, Any]", only)) == 1:
            return text
        case _:
            return content


def _native_response(response: Any) -> Any:
    if isinstance(response, list):
        return cast("list[Any]", response)
    return [{"text": response}] if isinstance(response, str) else [{"json": response}]


def _media(kind: str, body: dict[str, Any]) -> Part | None:
    """Reads an image, document, video or audio, inline or in S3. Returns None for a document of text, which is kept as
    it is."""
    name, modality = body.get("format"), _MODALITIES[kind]
    extra = rest(body, ("format", "source"))
    match body.get("source"):
        case {"bytes": str(data)} as source if len(cast("dict[str, Any]", source)) == 1 and isinstance(name, str):
            mime_type = _MIME_TYPES.get((kind, name), f"{_family(kind)}/{name}")
            if _format(kind, mime_type) != name:
                return None
            return _extended({"type": "blob", "mime_type": mime_type, "modality": modality, "content": data}, extra)
        case {"s3Location": {"uri": str(uri)} as location} as source if len(source) == 1 and "s3Location" not in extra:
            more = {"format": name, "s3Location": rest(cast("dict[str, Any]", location), ("uri",)) or None}
            extra |= {key: value for key, value in more.items() if value is not None}
            return _extended({"type": "uri", "modality": modality, "uri": uri}, extra)
        case _:
            return None


def _native_media(part: Part, extra: dict[str, Any]) -> Any:
    kind = _BLOCKS.get(str(part.get("modality")))
    if kind is None:
        return part
    if part.get("type") == "blob":
        name = _format(kind, str(part.get("mime_type")))
        return {kind: {"format": name, "source": {"bytes": part.get("content")}, **extra}}
    location = {"uri": part.get("uri"), **extra.get("s3Location", {})}
    return {kind: {"source": {"s3Location": location}, **rest(extra, ("s3Location",))}}


def _format(kind: str, mime_type: str) -> str:
    return _FORMATS.get((kind, mime_type)) or mime_type.removeprefix(f"{_family(kind)}/")


def _family(kind: str) -> str:
    return "application" if kind == "document" else kind


_READERS: dict[str, Callable[[str, dict[str, Any]], Part | None]] = {
    "toolUse": _tool_use,
    RESULT: _tool_result,
    "reasoningContent": _reasoning,
    "guardContent": _guarded,
    "citationsContent": _cited,
    **dict.fromkeys(_MODALITIES, _media),
}

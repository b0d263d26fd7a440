"""Converts the parts of Gemini's contents to parts in our shape, and back.

The API accepts keys in camel case and in snake case, and both alphabets of base64; its client mixes them. Parts are
written back in the client's spelling.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from playhead.dialect._shape import AS_IS, as_is, extra_of, rest
from playhead.model.message import Part

_THOUGHT, _SIGNATURE = "thought", "thoughtSignature"
# The client's spelling: camel case for the keys of a part, snake case for the keys inside their values.
_PART_KEYS = {
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "inline_data": "inlineData",
    "file_data": "fileData",
    "executable_code": "executableCode",
    "code_execution_result": "codeExecutionResult",
    "tool_call": "toolCall",
    "tool_response": "toolResponse",
    "thought_signature": _SIGNATURE,
    "video_metadata": "videoMetadata",
}
_INNER_KEYS = {"mimeType": "mime_type", "fileUri": "file_uri", "displayName": "display_name"}
# The client writes base64's URL-safe alphabet; a blob's canonical form has the standard one, as in other dialects.
_URL_SAFE = str.maketrans("+/", "-_")
_STANDARD = str.maketrans("-_", "+/")

_MODALITIES = frozenset({"image", "audio", "video"})
_CODE = "code_execution"
# Tools that the provider runs: native key → type of the part.
_SERVER_TOOLS = {
    "executableCode": "server_tool_call",
    "codeExecutionResult": "server_tool_call_response",
    "toolCall": "server_tool_call",
    "toolResponse": "server_tool_call_response",
}
_SERVER_PARTS = frozenset(_SERVER_TOOLS.values())


def content_part(native: Any) -> Part:
    """Returns the part for an element of `parts`. An unknown element is wrapped with `as_is`."""
    if not isinstance(native, dict):
        return as_is(native)
    native = cast(dict[str, Any], native)
    if len(native) == 1 and type(text := native.get("text")) is str:  # the usual form
        return {"type": "text", "content": text}
    fields = _renamed(native, _PART_KEYS)
    keys = [key for key in _READERS if fields.get(key) is not None]
    if len(keys) != 1 or len(fields) != len(native):
        return as_is(native)
    key = keys[0]
    read = _READERS[key](fields[key])
    if read is None:
        return as_is(native)
    part, more = read
    extra = rest(fields, (key,))
    if part["type"] == "text" and fields.get(_THOUGHT) is True:
        part["type"] = "reasoning"
        del extra[_THOUGHT]
    if isinstance(signature := extra.get(_SIGNATURE), str):
        extra[_SIGNATURE] = signature.translate(_URL_SAFE)
    if more:
        extra[key] = more
    if extra:
        part["extra"] = extra
    return part


def native_part(part: Part) -> Any:
    """Returns the element for a part. A part that only other dialects have is returned unchanged."""
    kind, extra = part.get("type"), extra_of(part)
    if kind == AS_IS:
        return part.get("value")
    written = _write(str(kind), part)
    if written is None:
        return part
    key, value = written
    if isinstance(value, dict):
        value = {**cast(dict[str, Any], value), **cast(dict[str, Any], extra.get(key) or {})}
    native = {name: extra_value for name, extra_value in extra.items() if name != key}
    if kind == "reasoning":
        native[_THOUGHT] = True
    return {**native, key: value}


_Read = tuple[Part, dict[str, Any]]
"""A part, and the keys of the native value that the part does not hold."""


def _text(value: Any) -> _Read | None:
    return ({"type": "text", "content": value}, {}) if isinstance(value, str) else None


def _function_call(value: Any) -> _Read | None:
    call = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    if not isinstance(call.get("name"), str):
        return None
    part: Part = {"type": "tool_call", "name": call["name"]}
    for key, ours in (("id", "id"), ("args", "arguments")):
        if call.get(key) is not None:
            part[ours] = call[key]
    return part, rest(call, ("id", "name", "args"))


def _function_response(value: Any) -> _Read | None:
    if not isinstance(value, dict):
        return None
    fields = cast(dict[str, Any], value)
    part: Part = {"type": "tool_call_response"}
    for key in ("id", "name", "response"):
        if fields.get(key) is not None:
            part[key] = fields[key]
    return part, rest(fields, ("id", "name", "response"))


def _blob(value: Any) -> _Read | None:
    fields = _inner(value)
    kind, data = fields.get("mime_type"), fields.get("data")
    if not isinstance(kind, str) or not isinstance(data, str):
        return None
    part: Part = {"type": "blob", "mime_type": kind, "modality": _modality(kind), "content": data.translate(_STANDARD)}
    return part, rest(fields, ("mime_type", "data"))


def _uri(value: Any) -> _Read | None:
    fields = _inner(value)
    if not isinstance(fields.get("file_uri"), str):
        return None
    part: Part = {"type": "uri", "modality": "file", "uri": fields["file_uri"]}
    kind = fields.get("mime_type")
    if not isinstance(kind, str):
        return part, rest(fields, ("file_uri",))
    part |= {"mime_type": kind, "modality": _modality(kind)}
    return part, rest(fields, ("file_uri", "mime_type"))


def _inner(value: Any) -> dict[str, Any]:
    """Returns a blob or a file with its keys in snake case; {} for another type, or if a key is present in both
    spellings."""
    fields = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    renamed = _renamed(fields, _INNER_KEYS)
    return renamed if len(renamed) == len(fields) else {}


def _modality(mime_type: str) -> str:
    kind = mime_type.partition("/")[0]
    return kind if kind in _MODALITIES else "file"


def _server_tool(key: str) -> Callable[[Any], _Read | None]:
    kind = _SERVER_TOOLS[key]

    def read(value: Any) -> _Read | None:
        if not isinstance(value, dict) or "type" in value:
            return None
        fields = cast(dict[str, Any], value)
        tool = fields.get("toolType")
        name = tool if isinstance(tool, str) else _CODE
        part: Part = {"type": kind, "name": name, kind: {"type": key, **fields}}
        return (part | {"id": fields["id"]} if isinstance(fields.get("id"), str) else part), {}

    return read


_READERS: dict[str, Callable[[Any], _Read | None]] = {
    "text": _text,
    "functionCall": _function_call,
    "functionResponse": _function_response,
    "inlineData": _blob,
    "fileData": _uri,
    **{key: _server_tool(key) for key in _SERVER_TOOLS},
}


def _write(kind: str, part: Part) -> tuple[str, Any] | None:
    """Returns the native key and its value; None for a part that cannot be written."""
    match kind:
        case "text" | "reasoning":
            return "text", part.get("content")
        case "tool_call" if "name" in part:
            return "functionCall", _given(part, {"id": "id", "name": "name", "arguments": "args"})
        case "tool_call_response":
            return "functionResponse", _given(part, {"id": "id", "name": "name", "response": "response"})
        case "blob" if isinstance(data := part.get("content"), str):
            return "inlineData", {"mime_type": part.get("mime_type"), "data": data.translate(_URL_SAFE)}
        case "uri":
            return "fileData", _given(part, {"uri": "file_uri", "mime_type": "mime_type"})
        case _ if kind in _SERVER_PARTS and isinstance(part.get(kind), dict):
            fields = dict(cast(dict[str, Any], part[kind]))
            return str(fields.pop("type", "toolCall")), fields
        case _:
            return None


def _given(part: Part, keys: Mapping[str, str]) -> dict[str, Any]:
    return {native: part[ours] for ours, native in keys.items() if ours in part}


def _renamed(native: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Renames keys. If a key is present under both names, the result has fewer keys."""
    return native if names.keys().isdisjoint(native) else {names.get(key, key): value for key, value in native.items()}

"""The parts of Gemini's contents, to parts and back."""

from collections.abc import Callable
from typing import Any, cast

from playhead.dialect._shape import AS_IS, as_is, extra_of, rest
from playhead.model.message import Part

THOUGHT = "thought"
SIGNATURE = "thoughtSignature"

# The client writes bytes in base64's URL-safe alphabet, other dialects in the standard one, which is the canonical one.
_URL_SAFE = str.maketrans("+/", "-_")
_STANDARD = str.maketrans("-_", "+/")
_ALPHABET = "playhead.base64"  # under `extra`: the native used the standard alphabet

_MODALITIES = frozenset({"image", "audio", "video"})
_CODE = "code_execution"
# Tools that the provider runs: the native key, and the type of the part.
_SERVER_TOOLS = {
    "executableCode": "server_tool_call",
    "codeExecutionResult": "server_tool_call_response",
    "toolCall": "server_tool_call",
    "toolResponse": "server_tool_call_response",
}
_SERVER_PARTS = frozenset(_SERVER_TOOLS.values())


def content_part(native: Any) -> Part:
    """The part that an element of `parts` is; what is not known is kept as it came."""
    if not isinstance(native, dict):
        return as_is(native)
    native = cast(dict[str, Any], native)
    if len(native) == 1 and type(text := native.get("text")) is str:  # as most
        return {"type": "text", "content": text}
    keys = [key for key in _READERS if native.get(key) is not None]
    if len(keys) != 1:
        return as_is(native)
    key = keys[0]
    read = _READERS[key](native[key])
    if read is None:
        return as_is(native)
    part, more = read
    extra = rest(native, (key,))
    if part["type"] == "text" and native.get(THOUGHT) is True:
        part["type"] = "reasoning"
        del extra[THOUGHT]
    if _ALPHABET in more:
        extra[_ALPHABET] = more.pop(_ALPHABET)
    if more:
        extra[key] = more
    if extra:
        part["extra"] = extra
    return part


def native_part(part: Part) -> Any:
    """The element that the part was; of a part that only other dialects have, the part itself."""
    kind, extra = part.get("type"), extra_of(part)
    if kind == AS_IS:
        return part.get("value")
    written = _write(str(kind), part, extra)
    if written is None:
        return part
    key, value = written
    if isinstance(value, dict):
        value = {**cast(dict[str, Any], value), **cast(dict[str, Any], extra.get(key) or {})}
    native = {name: given for name, given in extra.items() if name not in (key, _ALPHABET)}
    if kind == "reasoning":
        native[THOUGHT] = True
    return {**native, key: value}


def as_client_writes(native: Any) -> Any:
    """The element with its bytes in the alphabet in which the client sends back what the API answered."""
    if not isinstance(native, dict):
        return native
    own = cast(dict[str, Any], native)
    if isinstance(signature := own.get(SIGNATURE), str):
        own = {**own, SIGNATURE: signature.translate(_URL_SAFE)}
    blob = own.get("inlineData")
    if isinstance(blob, dict) and isinstance(data := cast(dict[str, Any], blob).get("data"), str):
        own = {**own, "inlineData": {**cast(dict[str, Any], blob), "data": data.translate(_URL_SAFE)}}
    return own


_Read = tuple[Part, dict[str, Any]]
"""A part, and what the value of the native key says beyond it."""


def _text(value: Any) -> _Read | None:
    return ({"type": "text", "content": value}, {}) if isinstance(value, str) else None


def _function_call(value: Any) -> _Read | None:
    said = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    if not isinstance(said.get("name"), str):
        return None
    part: Part = {"type": "tool_call", "name": said["name"]}
    for key, ours in (("id", "id"), ("args", "arguments")):
        if said.get(key) is not None:
            part[ours] = said[key]
    return part, rest(said, ("id", "name", "args"))


def _function_response(value: Any) -> _Read | None:
    if not isinstance(value, dict):
        return None
    said = cast(dict[str, Any], value)
    part: Part = {"type": "tool_call_response"}
    for key in ("id", "name", "response"):
        if said.get(key) is not None:
            part[key] = said[key]
    return part, rest(said, ("id", "name", "response"))


def _blob(value: Any) -> _Read | None:
    said = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    kind, data = said.get("mimeType"), said.get("data")
    if not isinstance(kind, str) or not isinstance(data, str):
        return None
    more = rest(said, ("mimeType", "data"))
    if "+" in data or "/" in data:
        more[_ALPHABET] = "standard"
    else:
        data = data.translate(_STANDARD)
    return {"type": "blob", "mime_type": kind, "modality": _modality(kind), "content": data}, more


def _uri(value: Any) -> _Read | None:
    said = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    if not isinstance(said.get("fileUri"), str):
        return None
    part: Part = {"type": "uri", "modality": "file", "uri": said["fileUri"]}
    kind = said.get("mimeType")
    if not isinstance(kind, str):
        return part, rest(said, ("fileUri",))
    part |= {"mime_type": kind, "modality": _modality(kind)}
    return part, rest(said, ("fileUri", "mimeType"))


def _modality(mime_type: str) -> str:
    kind = mime_type.partition("/")[0]
    return kind if kind in _MODALITIES else "file"


def _server_tool(key: str) -> Callable[[Any], _Read | None]:
    kind = _SERVER_TOOLS[key]

    def read(value: Any) -> _Read | None:
        if not isinstance(value, dict) or "type" in value:
            return None
        said = cast(dict[str, Any], value)
        tool = said.get("toolType")
        name = tool if isinstance(tool, str) else _CODE
        part: Part = {"type": kind, "name": name, kind: {"type": key, **said}}
        return (part | {"id": said["id"]} if isinstance(said.get("id"), str) else part), {}

    return read


_READERS: dict[str, Callable[[Any], _Read | None]] = {
    "text": _text,
    "functionCall": _function_call,
    "functionResponse": _function_response,
    "inlineData": _blob,
    "fileData": _uri,
    **{key: _server_tool(key) for key in _SERVER_TOOLS},
}


def _write(kind: str, part: Part, extra: dict[str, Any]) -> tuple[str, Any] | None:
    """The native key and its value; None for a part that cannot be written."""
    match kind:
        case "text" | "reasoning":
            return "text", part.get("content")
        case "tool_call" if "name" in part:
            return "functionCall", _renamed(part, {"id": "id", "name": "name", "arguments": "args"})
        case "tool_call_response":
            return "functionResponse", _renamed(part, {"id": "id", "name": "name", "response": "response"})
        case "blob":
            data = part.get("content")
            if isinstance(data, str) and _ALPHABET not in extra:
                data = data.translate(_URL_SAFE)
            return "inlineData", {"mimeType": part.get("mime_type"), "data": data}
        case "uri":
            return "fileData", _renamed(part, {"uri": "fileUri", "mime_type": "mimeType"})
        case _ if kind in _SERVER_PARTS and isinstance(part.get(kind), dict):
            said = dict(cast(dict[str, Any], part[kind]))
            return str(said.pop("type", "toolCall")), said
        case _:
            return None


def _renamed(part: Part, keys: dict[str, str]) -> dict[str, Any]:
    return {native: part[ours] for ours, native in keys.items() if ours in part}

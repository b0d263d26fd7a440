"""Gemini contents ↔ parts: the contents of Gemini's API, as its REST API and Vertex AI write them, and their parts.

`thread_of` and `contents_of` decide which contents form one message, as in all dialects:

- The system instruction is the first message.
- A user content that answers several function calls becomes one message per response, and one per sequence of other
  parts.
- The client's history has a streamed turn of the model as one content per chunk. It becomes one message, equal to the
  message without streaming: consecutive texts are joined, and so are consecutive thoughts that have no other keys.

`TurnShape` holds what is needed to build the contents again and cannot be derived from the messages.

A content whose parts are all function responses is a tool's message; these parts name the function and often have no
id. A model's content without `parts` differs from one with an empty list.

Forms that the API treats as equal give equal messages, because the client sends answers back in another spelling than
it received them: known keys of parts in camel case or in snake case, and base64 in its standard or its URL-safe
alphabet. Parts are written back in the client's spelling.

Clients send whole answers back, including thoughts, so reasoning stays in the message (`output_message`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NotRequired, TypedDict, cast

from playhead.dialect.parts import AS_IS, NO_ROLE, extra_of, opaque_part, unknown_keys, without_nulls
from playhead.model.json_value import Json, JsonMapping, JsonValue, object_at, object_of
from playhead.model.message import Message, Part

__all__ = [
    "NAME",
    "TurnShape",
    "contents_of",
    "finish_reason",
    "from_message",
    "from_messages",
    "joined_turn",
    "output_message",
    "thread_of",
    "to_message",
    "to_messages",
]


# --- contents that form one message -----------------------------------------------------------------------------------


_TEXT_KIND, _THOUGHT_KIND, _OTHER_KIND = "text", "thought", "other"
_CONTENT_KEYS = {"role", "parts"}
_USUAL_SYSTEM = {"role": "user"}

Piece = int | list[int] | None
"""One part of a content that was joined: the number of characters of a text; that of a thought (in a list); None for a
part that was not joined with another.
"""
Cuts = list[list[Piece] | None]
"""The contents that a turn was joined from: the pieces of each, or None for a content that had no list of parts."""


class TurnShape(TypedDict):
    """How to build contents from messages. A missing key means the usual case."""

    cuts: NotRequired[dict[str, Cuts]]
    """Turns that were joined from several contents, by the index of their message (decimal text)."""
    pieces: NotRequired[list[int]]
    """Number of messages of each content, starting after the system instruction; a turn joined from several contents
    counts as one content of one message. Usual case: consecutive responses form one content, and every other message is
    a content of its own."""
    system: NotRequired[dict[str, Any] | None]
    """The system instruction without its parts; None: there is none, whatever the role of the first message. Usual
    case: a first message with role `system` is the instruction, and has role `user`, as the client sends it."""


def thread_of(contents: Sequence[Any], system: Any = None) -> tuple[list[Any], TurnShape]:
    """Cuts and joins the contents of a request so that each one is a message. Returns them with the shape that
    `contents_of` needs. `system`: the request's system instruction as a content (None: it has none)."""
    thread: list[Any] = []
    shape: TurnShape = {}
    pieces: list[int] = []
    cuts: dict[str, Cuts] = {}
    about: dict[str, Any] | None = None
    if system is not None:
        about = {key: value for key, value in system.items() if key != "parts"}
        thread.append({"role": "system", "parts": system["parts"]})
    for is_turn, group in groupby(contents, _can_be_joined):
        grouped = list(group)
        if is_turn and len(grouped) > 1:
            turn, cuts[str(len(thread))] = _join_turn(grouped)
            thread.append(turn)
            pieces.append(1)
        else:
            for content in grouped:
                cut = _cut_responses(content)
                thread += cut
                pieces.append(len(cut))
    if cuts:
        shape["cuts"] = cuts
    usual, usual_system = contents_of(thread, shape)
    if usual_system != system:
        shape["system"] = about
        usual, _ = contents_of(thread, shape)
    if usual != list(contents):
        shape["pieces"] = pieces
    return thread, shape


def contents_of(thread: Sequence[Any], shape: TurnShape) -> tuple[list[Any], dict[str, Any] | None]:
    """Returns the request's contents and its system instruction (None: it has none). Raises ValueError if the shape
    does not belong to this thread."""
    system = _system_instruction(thread, shape)
    start = 0 if system is None else 1
    contents: list[Any] = []
    cuts = shape.get("cuts", {})
    index = start
    for count in shape.get("pieces") or _usual_pieces(thread[start:]):
        if index + count > len(thread):
            raise ValueError("the thread has fewer messages than the contents were cut into")
        if str(index) in cuts:
            contents += _cut_turn(thread[index], cuts[str(index)])
        elif count == 1:
            contents.append(thread[index])
        else:
            contents.append(
                {
                    "role": "user",
                    "parts": [part for message in thread[index : index + count] for part in message["parts"]],
                }
            )
        index += count
    return contents, system


def joined_turn(contents: Sequence[Any]) -> Any:
    """Joins the contents of a streamed turn into one content. Returns None if there are none."""
    thread, _ = thread_of(contents)
    return thread[0] if thread else None


def _system_instruction(thread: Sequence[Any], shape: TurnShape) -> dict[str, Any] | None:
    first = cast("dict[str, Any]", thread[0]) if thread and isinstance(thread[0], dict) else {}
    about = shape.get("system", _USUAL_SYSTEM if _is_system(first) else None)
    return None if about is None else {**about, "parts": first.get("parts")}


def _is_system(content: dict[str, Any]) -> bool:
    return content.get("role") == "system" and content.keys() == _CONTENT_KEYS


def _usual_pieces(thread: Sequence[Any]) -> Iterator[int]:
    for is_response, group in groupby(thread, _is_response):
        count = len(list(group))
        yield from [count] if is_response else [1] * count


def _cut_responses(content: Any) -> list[Any]:
    parts = _parts_of_role(content, "user")
    if len(parts) < 2 or not any(map(_has_response, parts)):
        return [content]
    pieces: list[list[Any]] = []
    for is_response, group in groupby(parts, _has_response):
        grouped = list(group)
        pieces += [[part] for part in grouped] if is_response else [grouped]
    return [{"role": "user", "parts": piece} for piece in pieces]


def _is_response(content: Any) -> bool:
    parts = _parts_of_role(content, "user")
    return len(parts) == 1 and _has_response(parts[0])


def _has_response(part: Any) -> bool:
    return isinstance(part, dict) and ("functionResponse" in part or "function_response" in part)


def _parts_of_role(content: Any, role: str) -> list[Any]:
    """Returns the parts of a content that has this role and no other keys; [] for any other content."""
    fields = object_of(content)
    parts = fields.get("parts")
    if fields.get("role") != role or fields.keys() != _CONTENT_KEYS or not isinstance(parts, list):
        return []
    return cast("list[Any]", parts)


def _can_be_joined(content: Any) -> bool:
    return isinstance(content, dict) and (content == {"role": "model"} or bool(_parts_of_role(content, "model")))


def _join_turn(turn: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], Cuts]:
    parts: list[Any] = []
    cuts: Cuts = []
    last = _OTHER_KIND
    for content in turn:
        if "parts" not in content:
            cuts.append(None)
            continue
        pieces: list[Piece] = []
        for part in content["parts"]:
            kind = _kind_for_joining(part)
            pieces.append(_piece_of(kind, part))
            if kind == last and kind != _OTHER_KIND:
                parts[-1] = {**parts[-1], "text": parts[-1]["text"] + part["text"]}
            else:
                parts.append(part)
            last = kind
        cuts.append(pieces)
    return {"role": "model", "parts": parts}, cuts


def _kind_for_joining(part: Any) -> str:
    fields = object_of(part)
    text = fields.get("text")
    if not isinstance(text, str) or not _is_unicode(text):
        return _OTHER_KIND
    if len(fields) == 1:
        return _TEXT_KIND
    return _THOUGHT_KIND if fields == {"text": text, "thought": True} else _OTHER_KIND


def _is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogates. Two of them in a row, joined, would become one character when stored."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _piece_of(kind: str, part: Any) -> Piece:
    if kind == _OTHER_KIND:
        return None
    length = len(part["text"])
    return length if kind == _TEXT_KIND else [length]


def _cut_turn(content: Any, cuts: Cuts) -> Iterator[dict[str, Any]]:
    """Cuts a joined turn into its contents. Consecutive pieces of one kind come from one part; a piece of another kind
    begins the next part. Raises ValueError if there are too few parts."""
    parts = iter(cast("dict[str, Any]", content).get("parts") or ())
    last, text, offset = _OTHER_KIND, "", 0
    for pieces in cuts:
        if pieces is None:
            yield {"role": "model"}
            continue
        content_parts: list[Any] = []
        for piece in pieces:
            kind = _OTHER_KIND if piece is None else _TEXT_KIND if isinstance(piece, int) else _THOUGHT_KIND
            if piece is None:
                content_parts.append(_next_part(parts))
            else:
                if kind != last:
                    text, offset = str(_next_part(parts).get("text")), 0
                length = piece if isinstance(piece, int) else piece[0]
                content_parts.append(
                    {"text": text[offset : offset + length], **({"thought": True} if kind == _THOUGHT_KIND else {})}
                )
                offset += length
            last = kind
        yield {"role": "model", "parts": content_parts}


def _next_part(parts: Iterator[Mapping[str, Any]]) -> Any:
    for part in parts:
        return part
    raise ValueError("the turn has fewer parts than it was cut into")


# --- parts ------------------------------------------------------------------------------------------------------------


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
_CODE_TOOL = "code_execution"
# Tools that the provider runs: native key → type of the part.
_SERVER_TOOLS = {
    "executableCode": "server_tool_call",
    "codeExecutionResult": "server_tool_call_response",
    "toolCall": "server_tool_call",
    "toolResponse": "server_tool_call_response",
}
_SERVER_PARTS = frozenset(_SERVER_TOOLS.values())


def content_part(native: JsonValue) -> Part:
    """Returns the part for an element of `parts`. An unknown element is wrapped with `opaque_part`."""
    if not isinstance(native, dict):
        return opaque_part(native)
    if len(native) == 1 and type(text := native.get("text")) is str:  # the usual form
        return {"type": "text", "content": text}
    fields = _with_renamed_keys(native, _PART_KEYS)
    keys = [key for key in _READERS if fields.get(key) is not None]
    if len(keys) != 1 or len(fields) != len(native):
        return opaque_part(native)
    key = keys[0]
    read = _READERS[key](fields[key])
    if read is None:
        return opaque_part(native)
    part, more = read
    extra = unknown_keys(fields, (key,))
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
    written = _write_part(str(kind), part)
    if written is None:
        return part
    key, value = written
    if isinstance(value, dict):
        value = {**value, **object_at(extra, key)}
    native = {name: extra_value for name, extra_value in extra.items() if name != key}
    if kind == "reasoning":
        native[_THOUGHT] = True
    return {**native, key: value}


_ReadPart = tuple[Part, Json]
"""A part, and the keys of the native value that the part does not hold."""


def _read_text(value: JsonValue) -> _ReadPart | None:
    return ({"type": "text", "content": value}, {}) if isinstance(value, str) else None


def _read_function_call(value: JsonValue) -> _ReadPart | None:
    call = object_of(value)
    if not isinstance(call.get("name"), str):
        return None
    part: Part = {"type": "tool_call", "name": call["name"]}
    for key, ours in (("id", "id"), ("args", "arguments")):
        if call.get(key) is not None:
            part[ours] = call[key]
    return part, unknown_keys(call, ("id", "name", "args"))


def _read_function_response(value: JsonValue) -> _ReadPart | None:
    if not isinstance(value, dict):
        return None
    part: Part = {"type": "tool_call_response"}
    for key in ("id", "name", "response"):
        if value.get(key) is not None:
            part[key] = value[key]
    return part, unknown_keys(value, ("id", "name", "response"))


def _read_blob(value: JsonValue) -> _ReadPart | None:
    fields = _media_fields(value)
    kind, data = fields.get("mime_type"), fields.get("data")
    if not isinstance(kind, str) or not isinstance(data, str):
        return None
    part: Part = {"type": "blob", "mime_type": kind, "modality": _modality(kind), "content": data.translate(_STANDARD)}
    return part, unknown_keys(fields, ("mime_type", "data"))


def _read_uri(value: JsonValue) -> _ReadPart | None:
    fields = _media_fields(value)
    if not isinstance(fields.get("file_uri"), str):
        return None
    part: Part = {"type": "uri", "modality": "file", "uri": fields["file_uri"]}
    kind = fields.get("mime_type")
    if not isinstance(kind, str):
        return part, unknown_keys(fields, ("file_uri",))
    part |= {"mime_type": kind, "modality": _modality(kind)}
    return part, unknown_keys(fields, ("file_uri", "mime_type"))


def _media_fields(value: JsonValue) -> Json:
    """Returns a blob or a file with its keys in snake case; {} for another type, or if a key is present in both
    spellings."""
    fields = object_of(value)
    renamed = _with_renamed_keys(fields, _INNER_KEYS)
    return renamed if len(renamed) == len(fields) else {}


def _modality(mime_type: str) -> str:
    kind = mime_type.partition("/")[0]
    return kind if kind in _MODALITIES else "file"


def _server_tool_reader(key: str) -> Callable[[Any], _ReadPart | None]:
    kind = _SERVER_TOOLS[key]

    def read(value: JsonValue) -> _ReadPart | None:
        if not isinstance(value, dict) or "type" in value:
            return None
        tool = value.get("toolType")
        name = tool if isinstance(tool, str) else _CODE_TOOL
        part: Part = {"type": kind, "name": name, kind: {"type": key, **value}}
        return (part | {"id": value["id"]} if isinstance(value.get("id"), str) else part), {}

    return read


_READERS: dict[str, Callable[[Any], _ReadPart | None]] = {
    "text": _read_text,
    "functionCall": _read_function_call,
    "functionResponse": _read_function_response,
    "inlineData": _read_blob,
    "fileData": _read_uri,
    **{key: _server_tool_reader(key) for key in _SERVER_TOOLS},
}


def _write_part(kind: str, part: Part) -> tuple[str, JsonValue] | None:
    """Returns the native key and its value; None for a part that cannot be written."""
    match kind:
        case "text" | "reasoning":
            return "text", part.get("content")
        case "tool_call" if "name" in part:
            return "functionCall", _present_keys(part, {"id": "id", "name": "name", "arguments": "args"})
        case "tool_call_response":
            return "functionResponse", _present_keys(part, {"id": "id", "name": "name", "response": "response"})
        case "blob" if isinstance(data := part.get("content"), str):
            return "inlineData", {"mime_type": part.get("mime_type"), "data": data.translate(_URL_SAFE)}
        case "uri":
            return "fileData", _present_keys(part, {"uri": "file_uri", "mime_type": "mime_type"})
        case _ if kind in _SERVER_PARTS and isinstance(part.get(kind), dict):
            fields = dict(part[kind])
            return str(fields.pop("type", "toolCall")), fields
        case _:
            return None


def _present_keys(part: Part, keys: Mapping[str, str]) -> Json:
    return {native: part[ours] for ours, native in keys.items() if ours in part}


def _with_renamed_keys(native: Json, names: Mapping[str, str]) -> Json:
    """Renames keys. If a key is present under both names, the result has fewer keys."""
    return native if names.keys().isdisjoint(native) else {names.get(key, key): value for key, value in native.items()}


# --- messages ---------------------------------------------------------------------------------------------------------


NAME = "google_genai"

_OUR_ROLES = {"model": "assistant", "function": "tool"}
_NATIVE_ROLES = {"assistant": "model", "tool": "user"}


def to_message(native: JsonMapping) -> Message:
    """Returns the canonical form of one element of `contents`."""
    native_parts, role = native.get("parts"), native.get("role")
    extra = unknown_keys(native, ("role", "parts"))
    parts: list[Part] = []
    if isinstance(native_parts, list | tuple):
        parts = [content_part(part) for part in native_parts]
    else:
        extra["parts"] = native_parts
    ours = _our_role(role, parts)
    if _NATIVE_ROLES.get(ours, ours) != role:
        extra["role"] = role
    message: Message = {"role": ours, "parts": parts}
    if extra:
        message["extra"] = extra
    return message


def from_message(message: Message) -> Json:
    """Returns one element of `contents`."""
    role = message["role"]
    native: Json = {
        "role": _NATIVE_ROLES.get(role, role),
        "parts": [native_part(part) for part in message["parts"]],
    }
    return without_nulls({**native, **extra_of(message)})


def to_messages(natives: Iterable[JsonMapping]) -> list[Message]:
    """Converts the `contents` of a request; each function response and each turn of the model becomes a message."""
    return [to_message(content) for content in thread_of(list(natives))[0]]


def from_messages(messages: Iterable[Message]) -> list[Json]:
    """Returns the `contents` of a request; the system instruction is the first element."""
    contents, _ = contents_of([from_message(message) for message in messages], {"system": None})
    return contents


def output_message(native: JsonMapping) -> tuple[Message, Any]:
    """Returns the message of a candidate's `content`, and the text of its thoughts (None: there are none)."""
    message = to_message({"role": "model", **without_nulls(native)})
    thoughts = [part["content"] for part in message["parts"] if part.get("type") == "reasoning" and part.get("content")]
    return message, "\n\n".join(thoughts) or None


_FINISH_REASONS = {"STOP": "stop", "MAX_TOKENS": "length"}


def finish_reason(native: str) -> str:
    """Returns a candidate's finish reason in the conventions' words; others in lower case."""
    return _FINISH_REASONS.get(native, native.lower())


def _our_role(role: JsonValue, parts: Sequence[Part]) -> str:
    if role is None:
        role = "user"  # the API's default
    if not isinstance(role, str):
        return NO_ROLE
    if role == "user" and parts and all(part.get("type") == "tool_call_response" for part in parts):
        return "tool"
    return _OUR_ROLES.get(role, role)

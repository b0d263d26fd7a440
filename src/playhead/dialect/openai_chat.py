"""Chat Completions ↔ parts: the messages of OpenAI's Chat Completions, which most other providers use too.

`to_message` runs on the user's thread that calls a model, for every new message. So it tests for the most common forms
first; these take two to five microseconds.

A null key, and an empty list under any key except `content`, count as missing: providers add `annotations: []` or
`tool_calls: []` to their answers, clients drop them when they send the answer back, and both must be one message.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

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
    without_nulls,
    write_arguments,
)
from playhead.model.json_value import Json, JsonMapping, JsonValue, object_at, text_at, value_at
from playhead.model.message import Message, Part

# --- elements of a `content` list -------------------------------------------------------------------------------------


_THINKING = "thinking"
_AUDIO_TYPES = {"wav": "audio/wav", "mp3": "audio/mpeg"}
_AUDIO_FORMATS = {mime_type: name for name, mime_type in _AUDIO_TYPES.items()}


def content_part(native: JsonValue) -> Part:
    """Returns the part for an element of `content`. An unknown element is kept, without nulls."""
    if not isinstance(native, dict):
        return opaque_part(native)
    kind = native.get("type")
    if not isinstance(kind, str):
        return opaque_part(native)
    if kind == "text" and isinstance(text := native.get("text"), str):
        if len(native) == 2:
            return {"type": "text", "content": text}
        return with_extra({"type": "text", "content": text}, unknown_keys(native, ("type", "text")))
    reader = _READERS.get(kind)
    part = reader(native) if reader else None
    if part is not None:
        return part
    return opaque_part(native) if kind in PART_TYPES else without_nulls(native)


def native_part(part: Part) -> Any:
    """Returns the element for a part: the inverse of `content_part`."""
    kind, extra = part.get("type"), extra_of(part)
    if kind == AS_IS:
        return part.get("value")
    if kind in ("text", "refusal"):
        return {"type": kind, kind: part.get("content"), **extra}
    if kind == "reasoning":
        return {**extra, "type": _THINKING, _THINKING: extra.get(_THINKING, part.get("content"))}
    match kind, part.get("modality"):
        case "blob", "image":
            return _native_element("image_url", {"url": data_uri(part)}, extra)
        case "uri", "image":
            return _native_element("image_url", {"url": part.get("uri")}, extra)
        case "blob", "audio" if name := _AUDIO_FORMATS.get(str(part.get("mime_type"))):
            return _native_element("input_audio", {"data": part.get("content"), "format": name}, extra)
        case "blob", "file":
            return _native_element("file", {"file_data": data_uri(part)}, extra)
        case "file", "file":
            return _native_element("file", {"file_id": part.get("file_id")}, extra)
        case _:
            return part  # unknown here, or a part that only other dialects have


def _read_refusal(native: Json) -> Part | None:
    text = native.get("refusal")
    if not isinstance(text, str):
        return None
    # `extra.type` marks a refusal inside the content: a refusal beside the content is a text under a key of the
    # message.
    return {
        "type": "refusal",
        "content": text,
        "extra": {"type": "refusal", **unknown_keys(native, ("type", "refusal"))},
    }


def _with_other_keys(native: Json, key: str, part: Part, read_keys: tuple[str, ...]) -> Part:
    """Adds the other keys of the native element, and of the object under `key`, to the part's `extra`. `read_keys`:
    keys of that object that the part holds already."""
    extra = unknown_keys(native, ("type", key))
    if inner := unknown_keys(object_at(native, key), read_keys):
        extra[key] = inner
    return with_extra(part, extra)


def _read_image(native: Json) -> Part | None:
    image = native.get("image_url")
    url = value_at(image, "url")
    if not isinstance(url, str):
        return None
    part = read_data_uri(url, "image") or {"type": "uri", "modality": "image", "uri": url}
    return _with_other_keys(native, "image_url", part, ("url",))


def _read_audio(native: Json) -> Part | None:
    audio = native.get("input_audio")
    if not isinstance(audio, dict):
        return None
    data, name = audio.get("data"), audio.get("format")
    if not isinstance(data, str) or not isinstance(name, str) or name not in _AUDIO_TYPES:
        return None
    part: Part = {"type": "blob", "mime_type": _AUDIO_TYPES[name], "modality": "audio", "content": data}
    return _with_other_keys(native, "input_audio", part, ("data", "format"))


def _read_file(native: Json) -> Part | None:
    file = native.get("file")
    if not isinstance(file, dict):
        return None
    blob = read_data_uri(file.get("file_data"), "file")
    if blob:
        return _with_other_keys(native, "file", blob, ("file_data",))
    file_id = file.get("file_id")
    if not isinstance(file_id, str):
        return None
    return _with_other_keys(native, "file", {"type": "file", "modality": "file", "file_id": file_id}, ("file_id",))


def _native_element(kind: str, body: Json, extra: Json) -> Json:
    return {**extra, "type": kind, kind: {**body, **object_at(extra, kind)}}


def _read_thinking(native: Json) -> Part | None:
    """Mistral's and Cohere's thinking: a text, or a list of texts."""
    value = native.get(_THINKING)
    text = value if isinstance(value, str) else _joined_texts(value)
    if text is None:
        return None
    # `extra.type` marks thinking inside the content: other thinking is a text under a key of the message.
    extra: Json = {"type": _THINKING, **unknown_keys(native, ("type", _THINKING))}
    if not isinstance(value, str):
        extra[_THINKING] = value
    return {"type": "reasoning", "content": text, "extra": extra}


def _joined_texts(value: JsonValue) -> str | None:
    """Returns the texts of a list of elements; None if it is not a list, or has something else than texts."""
    texts = [value_at(element, "text") for element in value] if isinstance(value, list) else []
    known = [text for text in texts if isinstance(text, str)]
    return "".join(known) if texts and len(known) == len(texts) else None


_READERS: dict[str, Callable[[Json], Part | None]] = {
    "refusal": _read_refusal,
    _THINKING: _read_thinking,
    "image_url": _read_image,
    "input_audio": _read_audio,
    "file": _read_file,
}


# --- messages ---------------------------------------------------------------------------------------------------------


NAME = "openai"

_PLAIN_ROLES = frozenset({"system", "user", "assistant"})
_OUR_ROLES = {"developer": "system", "function": "tool"}

# Names of providers for the same field; the last is Ollama's.
_REASONING_TEXTS = ("reasoning_content", "reasoning", _THINKING)
_REASONING_KEYS = (*_REASONING_TEXTS, "reasoning_details")
_READ_KEYS = frozenset({"role", "content", "refusal", "tool_calls", "function_call", *_REASONING_TEXTS})
_READ_RESULT_KEYS = frozenset({"role", "content", "tool_call_id"})
_LEGACY_CALL = "function_call"


def to_message(native: JsonMapping) -> Message:
    """Returns the canonical form of one element of `messages`."""
    role, content = native.get("role"), native.get("content")
    if type(content) is str and len(native) == 2 and type(role) is str and role in _PLAIN_ROLES:
        return {"role": role, "parts": [{"type": "text", "content": content}]}
    extra: Json = {}
    if type(role) is not str:
        ours = NO_ROLE
        extra["role"] = role
    else:
        ours = _OUR_ROLES.get(role, role)
        if ours is not role:
            extra["role"] = role
    if ours == "tool":
        parts, read = [_read_result(native)], _READ_RESULT_KEYS
    else:
        parts, read = _read_parts(native, extra), _READ_KEYS
    message: Message = {"role": ours, "parts": parts}
    for key, value in native.items():
        if key not in read and value is not None:
            if key == "name" and isinstance(value, str):
                message["name"] = value
            else:
                _keep_extra(extra, key, value)
    if extra:
        message["extra"] = extra
    return message


def from_message(message: Message) -> Json:
    """Returns one element of `messages`."""
    extra = extra_of(message)
    native: Json = {"role": extra.get("role", message["role"])}
    if native["role"] is None:
        del native["role"]
    parts = message["parts"]
    if message["role"] == "tool" and len(parts) == 1 and parts[0].get("type") == "tool_call_response":
        _write_result(parts[0], native)
    else:
        _write_parts(parts, native)
    if "name" in message:
        native["name"] = message["name"]
    native.update((key, value) for key, value in extra.items() if key != "role")
    return native


def to_messages(natives: Iterable[JsonMapping]) -> list[Message]:
    """Converts the `messages` of a request."""
    return [to_message(native) for native in natives]


def from_messages(messages: Iterable[Message]) -> list[Json]:
    """Returns the `messages` of a request."""
    return [from_message(message) for message in messages]


def output_message(native: JsonMapping) -> tuple[Message, Any]:
    """Returns the message of `choices[i].message` without its reasoning, and the reasoning: its text, an object of
    values by key if it is not a single text, None if there is none.  Reasoning that is an element of the content stays
    in the message."""
    if "role" not in native:
        native = {**native, "role": "assistant"}
    if native.keys().isdisjoint(_REASONING_KEYS):
        message = to_message(native)
        return message, _reasoning_in_content(message)
    message = to_message({key: value for key, value in native.items() if key not in _REASONING_KEYS})
    reasoning = {key: value for key in _REASONING_KEYS if (value := native.get(key))}
    first = next(iter(reasoning.values()), None)
    if isinstance(first, str) and all(value == first for value in reasoning.values()):
        return message, first
    return message, reasoning or None


def _reasoning_in_content(message: Message) -> str | None:
    """Returns the thinking among the elements of a content, which clients send back."""
    return "".join(str(part.get("content")) for part in message["parts"] if part.get("type") == "reasoning") or None


def _keep_extra(extra: Json, key: str, value: JsonValue) -> None:
    if type(cast(object, value)) is not list or value:
        extra[key] = value


def _read_parts(native: JsonMapping, extra: Json) -> list[Part]:
    """Returns the parts in a fixed order, because the order of keys means nothing. Adds keys with unreadable values to
    `extra`."""
    parts: list[Part] = []
    get = native.get
    for key in _REASONING_TEXTS:
        if (value := get(key)) is not None:
            _read_reasoning(key, value, parts, extra)
    if (content := get("content")) is not None:
        _read_content(content, parts, extra)
    if (refusal := get("refusal")) is not None:
        if isinstance(refusal, str):
            parts.append({"type": "refusal", "content": refusal})
        else:
            _keep_extra(extra, "refusal", refusal)
    if (calls := get("tool_calls")) is not None:
        if isinstance(calls, list | tuple) and all(isinstance(call, dict) for call in calls):
            parts += map(_read_call, cast("Sequence[Json]", calls))
        else:
            _keep_extra(extra, "tool_calls", calls)
    if (call := get(_LEGACY_CALL)) is not None:
        if isinstance(call, dict) and isinstance(call.get("name"), str):
            part, function = _read_function(call)
            part["extra"] = {"type": _LEGACY_CALL, "function": function} if function else {"type": _LEGACY_CALL}
            parts.append(part)
        else:
            _keep_extra(extra, _LEGACY_CALL, call)
    return parts


def _read_reasoning(key: str, value: JsonValue, parts: list[Part], extra: Json) -> None:
    if not isinstance(value, str):
        _keep_extra(extra, key, value)
    elif key == _REASONING_TEXTS[0]:
        parts.append({"type": "reasoning", "content": value})
    else:
        parts.append({"type": "reasoning", "content": value, "extra": {"key": key}})


def _read_content(content: JsonValue, parts: list[Part], extra: Json) -> None:
    if isinstance(content, str):
        parts.append({"type": "text", "content": content})
    elif isinstance(content, list | tuple) and content:
        several = [content_part(native) for native in content]
        if len(several) == 1 and several[0]["type"] == "text" and "extra" not in several[0]:
            several[0]["extra"] = {"type": "text"}  # a list of one text must stay different from the text alone
        parts += several
    else:
        extra["content"] = content


def _read_call(native: Json) -> Part:
    kind = native.get("type")
    body_key = "custom" if kind == "custom" else "function"
    body = native.get(body_key)
    if not isinstance(body, dict) or not isinstance(body.get("name"), str) or kind not in ("function", "custom", None):
        return {"type": "tool_call", "extra": without_nulls(native)}
    part, more = _read_function(body) if body_key == "function" else _read_custom(body)
    if (call_id := native.get("id")) is not None:
        part["id"] = call_id
        if len(native) == 3 and not more and kind == "function":
            return part
    extra = unknown_keys(native, ("id", "type", body_key))
    if kind != "function":
        extra["type"] = kind
    if more:
        extra[body_key] = more
    if extra:
        part["extra"] = extra
    return part


def _read_function(body: Json) -> tuple[Part, Json]:
    arguments = body.get("arguments")
    part: Part = {"type": "tool_call", "name": body["name"]}
    if isinstance(arguments, str):
        part["arguments"] = read_arguments(arguments)
        return part, unknown_keys(body, ("name", "arguments")) if len(body) > 2 else {}
    if arguments is not None:
        part["arguments"] = arguments
    # Arguments that are not a text also stay in `extra`, so that they are written back unchanged.
    return part, unknown_keys(body, ("name",))


def _read_custom(body: Json) -> tuple[Part, Json]:
    part: Part = {"type": "tool_call", "name": body["name"]}
    if isinstance(body.get("input"), str):
        part["arguments"] = body["input"]
        return part, unknown_keys(body, ("name", "input"))
    return part, unknown_keys(body, ("name",))


def _read_result(native: JsonMapping) -> Part:
    part: Part = {"type": "tool_call_response"}
    if (call_id := native.get("tool_call_id")) is not None:
        part["id"] = call_id
    if (content := native.get("content")) is not None:
        part["response"] = content
    return part


def _write_result(part: Part, native: Json) -> None:
    if "id" in part:
        native["tool_call_id"] = part["id"]
    if "response" in part:
        native["content"] = part["response"]


def _write_parts(parts: list[Part], native: Json) -> None:
    content: list[Part] = []
    calls: list[JsonValue] = []
    for part in parts:
        kind, extra = part.get("type"), extra_of(part)
        if kind == "tool_call":
            if extra.get("type") == _LEGACY_CALL and "name" in part:
                native[_LEGACY_CALL] = _native_function(part, extra)
            else:
                calls.append(_native_call(part, extra))
                native["tool_calls"] = calls
        elif kind == "reasoning" and extra.get("type") != _THINKING:
            native[text_at(extra, "key", _REASONING_TEXTS[0])] = part.get("content")
        elif kind == "refusal" and "type" not in extra:
            native["refusal"] = part.get("content")
        else:
            content.append(part)
    if len(content) == 1 and content[0].get("type") == "text" and "extra" not in content[0]:
        native["content"] = content[0].get("content")
    elif content:
        native["content"] = [native_part(part) for part in content]


def _native_call(part: Part, extra: Json) -> Json:
    if "name" not in part:
        return dict(extra)
    native: Json = {"id": part.get("id"), "type": "function", **extra}
    if native["type"] == "custom":
        input_field = {"input": part["arguments"]} if "arguments" in part else {}
        native["custom"] = {"name": part["name"], **input_field, **object_at(extra, "custom")}
    else:
        native["function"] = _native_function(part, extra)
    return without_nulls(native)


def _native_function(part: Part, extra: Json) -> Json:
    arguments_field = {"arguments": write_arguments(part["arguments"])} if "arguments" in part else {}
    return {"name": part["name"], **arguments_field, **object_at(extra, "function")}

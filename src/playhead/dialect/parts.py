"""What dialects share: parts that hold a native value unchanged, `data:` URIs, tool arguments as JSON text, `extra`.

Also reads the changes that a provider itself made to the context of a call: OpenAI's `compaction` items, Anthropic's
context edits.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

import orjson

from playhead.model import names
from playhead.model.canonical import canonical_json, parse_bounded, parse_json
from playhead.model.json_value import Json, JsonMapping, JsonValue, object_of, objects_at
from playhead.model.message import REF_PART, Message, Part

_DATA_URI = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,")

# Role of a message whose native form has none that is a text.
NO_ROLE: Final = "unknown"
# Type of a part whose `value` is a native value that is not a part, or that could be mistaken for one of ours.
AS_IS = "playhead.as_is"
RESERVED = frozenset({AS_IS, REF_PART})
# Types that mean something as a part. A native value of such a type that a dialect cannot read is wrapped with
# `opaque_part`.
PART_TYPES = RESERVED | {"text", "refusal", "reasoning", "tool_call", "tool_call_response", "blob", "uri", "file"}


def opaque_part(native: JsonValue) -> Part:
    """Returns a part with the native value under `value`; an object loses its null keys."""
    return {"type": AS_IS, "value": without_nulls(cast(dict[Any, Any], native)) if isinstance(native, dict) else native}


def read_data_uri(value: object, modality: str) -> Part | None:
    """Returns the blob part for a base64 `data:` URI; None for any other value."""
    if not isinstance(value, str) or (match := _DATA_URI.match(value)) is None:
        return None
    return {"type": "blob", "mime_type": match[1], "modality": modality, "content": value[match.end() :]}


def data_uri(part: Part) -> str:
    """Returns the `data:` URI of a blob part."""
    return f"data:{part.get('mime_type')};base64,{part.get('content')}"


def without_nulls(native: Mapping[Any, Any]) -> dict[Any, Any]:
    """Returns a copy without the keys whose value is null."""
    return {key: value for key, value in native.items() if value is not None}


def unknown_keys(native: Mapping[Any, Any], read_keys: Iterable[str]) -> dict[Any, Any]:
    """Returns the keys of a native object that are neither in `read_keys` nor null."""
    return {key: value for key, value in native.items() if value is not None and key not in read_keys}


def message_of_blocks(role: JsonValue, ours: str, parts: list[Part], extra: Json) -> Message:
    """Returns the message of a dialect whose results of tools are blocks of the user's messages.

    `role`: the native role; `ours`: the same, or `NO_ROLE`. A message of results only gets the role `tool`; a native
    role of that name is kept in `extra`.
    """
    if ours == "user" and parts and all(part.get("type") == "tool_call_response" for part in parts):
        ours = "tool"
    elif ours == "tool":
        extra["role"] = role
    message: Message = {"role": ours, "parts": parts}
    if extra:
        message["extra"] = extra
    return message


def with_name(message: Message, native: JsonMapping, extra: Json) -> Message:
    """Adds the name of a native message, and `extra` if there is anything in it. Returns the message. A name that is no
    text is put into `extra`."""
    name = native.get("name")
    if isinstance(name, str):
        message["name"] = name
    elif name is not None:
        extra["name"] = name
    if extra:
        message["extra"] = extra
    return message


def extra_of(part: Mapping[str, object]) -> Json:
    """Returns the object under `extra`; {} if there is none."""
    return object_of(part.get("extra"))


def with_extra(part: Part, extra: Json) -> Part:
    """Returns the same part, with the object under `extra` unless that is empty."""
    if extra:
        part["extra"] = extra
    return part


def read_arguments(text: str) -> Any:
    """Returns the object or array that a JSON text holds. Returns the text itself if it holds none, or if parsing would
    lose something (see `_lost_nothing`)."""
    if text[:1] not in ("{", "[") and text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        value = parse_bounded(text)
        return value if _lost_nothing(value, text) else text
    except (ValueError, RecursionError):
        return text


def write_arguments(value: JsonValue) -> str:
    """Returns the JSON text of arguments: the inverse of `read_arguments`."""
    return value if isinstance(value, str) else canonical_json(value).decode()


def _lost_nothing(value: JsonValue, text: str) -> bool:
    """Whether parsing lost nothing: no key occurs twice in an object, and the canonical form can hold the value. Raises
    ValueError for a repeated key.

    Tests the value 8 levels deeper, because a message nests its arguments a few levels and orjson writes at most 254. A
    repeated key that parsing dropped also drops quotes. So equal numbers of quotes prove that no key was dropped,
    unless the text has quotes in the form of Unicode escapes; then all keys are compared.
    """
    nested = [[[[[[[[value]]]]]]]]
    try:
        written = orjson.dumps(nested)
    except orjson.JSONEncodeError:  # big integers, lone surrogates, or too deep
        if parse_json(canonical_json(nested)) != nested:
            return False
    else:
        if text.count('"') == written.count(b'"') and "\\u0022" not in text:
            return True
    json.loads(text, object_pairs_hook=_unique_keys)
    return True


def _unique_keys(pairs: list[tuple[str, Any]]) -> Json:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice")
    return value


# --- changes by the provider ------------------------------------------------------------------------------------------


_COMPACTION: Final = "compaction"
_MOST_EDIT_CHARACTERS: Final = 256  # limit for the names of the edits, joined


def provider_edits(messages: Iterable[Message], rest: JsonMapping | None = None) -> Json:
    """Returns the attributes that describe the provider's edits; {} if there are none. `rest`: the fields of the
    answer other than its messages. Never raises."""
    attributes: Json = {}
    for message in messages:
        for part in message["parts"]:
            if part.get("type") == _COMPACTION:
                attributes[names.COMPACTED] = True
    managed = None if rest is None else rest.get("context_management")
    applied = objects_at(managed, "applied_edits")
    kinds = [kind for edit in applied if isinstance(kind := edit.get("type"), str)]
    cleared = [count for edit in applied if type(count := edit.get("cleared_input_tokens")) is int]
    if kinds:
        attributes[names.CONTEXT_EDITS] = ", ".join(kinds)[:_MOST_EDIT_CHARACTERS]
        if cleared:
            attributes[names.CONTEXT_CLEARED_TOKENS] = sum(cleared)
    return attributes

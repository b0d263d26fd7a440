"""Messages in OpenTelemetry's GenAI conventions: in the parts shape already, but in several spellings.

Emitters differ in which keys they write as null, in whether tool arguments are an object or JSON text, and in the name
of a tool's result (older versions have another one). These spellings give one message with one ref. `finish_reason`
describes the call, not the message: it is not in the message, and the function `finish_reason` reads it.
"""

from collections.abc import Iterable
from typing import Any

from playhead.dialect.parts import (
    AS_IS,
    NO_ROLE,
    RESERVED,
    extra_of,
    opaque_part,
    read_arguments,
    unknown_keys,
    with_name,
    without_nulls,
    write_arguments,
)
from playhead.model.canonical import parse_bounded
from playhead.model.json_value import Json, JsonMapping, JsonValue, text_at
from playhead.model.message import Message, Part

NAME = "otel_genai"

_READ = frozenset({"role", "parts", "name", "finish_reason"})
_TIMES_ENCODED = 3


def structured(value: JsonValue) -> JsonValue:
    """Returns the value of an attribute: parses JSON text (up to three times, because some emitters encode it
    repeatedly); any other value stays unchanged.

    Raises ValueError for text that is not JSON.
    """
    if not isinstance(value, str | bytes):
        return value
    value = parse_bounded(value)
    for _ in range(_TIMES_ENCODED - 1):
        if not isinstance(value, str) or value[:1] not in ("{", "[", '"'):
            break
        try:
            value = parse_bounded(value)
        except ValueError:  # a text that only looks like JSON
            break
    return value


def tool_value(value: JsonValue) -> JsonValue:
    """Returns arguments or result of a tool call: the object or array of a JSON text if parsing loses nothing, else the
    value unchanged."""
    if not isinstance(value, str):
        return value
    text = value
    if text[:1] == '"':
        try:
            inner = parse_bounded(text)
        except ValueError:
            return value
        text = inner if isinstance(inner, str) else text
    read = read_arguments(text)
    return value if isinstance(read, str) else read


def to_message(native: JsonMapping) -> Message:
    """Returns the canonical form of one element of `gen_ai.input.messages` or `gen_ai.output.messages`."""
    role, parts = native.get("role"), native.get("parts")
    if len(native) == 2 and type(role) is str and type(parts) is list:
        return {"role": role, "parts": [_part(part) for part in parts]}
    has_parts = isinstance(parts, list | tuple)
    message: Message = {
        "role": role if isinstance(role, str) else NO_ROLE,
        "parts": to_parts(parts) if has_parts else [],
    }
    extra = unknown_keys(native, _READ)
    if not isinstance(role, str):
        extra["role"] = role
    if not has_parts:
        extra["parts"] = parts
    return with_name(message, native, extra)


def from_message(message: Message) -> Json:
    """Returns the native form, without `finish_reason`."""
    native: Json = {"role": message["role"], "parts": from_parts(message["parts"])}
    if "name" in message:
        native["name"] = message["name"]
    return without_nulls({**native, **extra_of(message)})


def to_messages(natives: Iterable[JsonMapping]) -> list[Message]:
    """Converts the parsed value of `gen_ai.input.messages`."""
    return [to_message(native) for native in natives]


def from_messages(messages: Iterable[Message]) -> list[Json]:
    """Returns the value of `gen_ai.input.messages`, not encoded as JSON."""
    return [from_message(message) for message in messages]


def output_message(native: JsonMapping) -> tuple[Message, Any]:
    """Returns the message of one element of `gen_ai.output.messages` without its reasoning parts, and the reasoning:
    the content of a single part without other keys, else the list of parts; None if there is none."""
    message = to_message(native)
    parts = message["parts"]
    reasoning = [part for part in parts if part.get("type") == "reasoning"]
    if not reasoning:
        return message, None
    message["parts"] = [part for part in parts if part.get("type") != "reasoning"]
    if len(reasoning) == 1 and reasoning[0].keys() == {"type", "content"}:
        return message, reasoning[0]["content"]
    return message, reasoning


def finish_reason(native: JsonMapping) -> str | None:
    """Returns why the model stopped; None if the output message does not say it."""
    reason = native.get("finish_reason")
    return reason if isinstance(reason, str) else None


def to_parts(natives: Iterable[JsonValue]) -> list[Part]:
    """Converts the parts of a message, or of `gen_ai.system_instructions`."""
    return [_part(native) for native in natives]


def from_parts(parts: Iterable[Part]) -> list[JsonValue]:
    """Returns the native form of parts."""
    return [_native_part(part) for part in parts]


def tool_definitions(natives: Iterable[JsonValue]) -> list[JsonValue]:
    """Returns the parsed value of `gen_ai.tool.definitions` without the null keys of each definition; nulls inside its
    schema stay."""
    return [without_nulls(n) if isinstance(n, dict) else n for n in natives]


def _part(native: JsonValue) -> Part:
    if not isinstance(native, dict):
        return opaque_part(native)
    part = native
    kind = part.get("type")
    if kind == "text" and len(part) == 2 and isinstance(part.get("content"), str):
        return part
    if isinstance(kind, str) and kind in RESERVED:
        return opaque_part(part)
    part = without_nulls(part)
    extra = {"extra": part.pop("extra")} if "extra" in part else {}
    if kind == "tool_call" and isinstance(text := part.get("arguments"), str):
        part["arguments"] = read_arguments(text)
        if part["arguments"] is not text:
            extra["encoded"] = "arguments"
    elif kind == "tool_call_response" and "response" not in part and "result" in part:
        part["response"] = part.pop("result")
        extra["key"] = "result"
    if extra:
        part["extra"] = extra
    return part


def _native_part(part: Part) -> Any:
    if part.get("type") == AS_IS:
        return part.get("value")
    if "extra" not in part:
        return part
    extra = extra_of(part)
    native = {key: value for key, value in part.items() if key != "extra"}
    if extra.get("encoded") == "arguments" and "arguments" in native:
        native["arguments"] = write_arguments(native["arguments"])
    if "key" in extra and "response" in native:
        native[text_at(extra, "key")] = native.pop("response")
    return {**native, "extra": extra["extra"]} if "extra" in extra else native

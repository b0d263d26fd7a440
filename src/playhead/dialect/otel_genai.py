"""Messages as OpenTelemetry's GenAI conventions write them: in the parts shape already, but in several spellings.

Emitters differ in what they write as null, whether tool arguments are structured or JSON text, and how an older version
called a tool's answer; normalised, they give one message one ref.  `finish_reason` says how a call ended: it is read
with `finish_reason` and is not in the message.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from playhead.dialect._shape import (
    AS_IS,
    RESERVED,
    as_is,
    extra_of,
    read_arguments,
    rest,
    without_nulls,
    write_arguments,
)
from playhead.model.canonical import parse_bounded
from playhead.model.message import Message, Part

NAME = "otel_genai"

_READ = frozenset({"role", "parts", "name", "finish_reason"})
_NO_ROLE = "unknown"
_TIMES_ENCODED = 3


def structured(value: Any) -> Any:
    """What an attribute says: JSON text is read, also when it was encoded twice; all else is structured already.

    Raises ValueError when text is no JSON.
    """
    if not isinstance(value, str | bytes):
        return value
    value = parse_bounded(value)
    for _ in range(_TIMES_ENCODED - 1):
        if not isinstance(value, str) or value[:1] not in ("{", "[", '"'):
            break
        try:
            value = parse_bounded(value)
        except ValueError:  # a text that looks like JSON
            break
    return value


def tool_value(value: Any) -> Any:
    """Arguments or result of a tool call: the object or array that JSON text spells exactly, else the value itself."""
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


def to_message(native: Mapping[str, Any]) -> Message:
    """The canonical form of one element of `gen_ai.input.messages`, or of `gen_ai.output.messages`."""
    role, parts = native.get("role"), native.get("parts")
    if len(native) == 2 and type(role) is str and type(parts) is list:
        return {"role": role, "parts": [_part(part) for part in cast(list[Any], parts)]}
    given = isinstance(parts, list | tuple)
    message: Message = {
        "role": role if isinstance(role, str) else _NO_ROLE,
        "parts": to_parts(cast(Sequence[Any], parts)) if given else [],
    }
    extra = rest(native, _READ)
    if not isinstance(role, str):
        extra["role"] = role
    if not given:
        extra["parts"] = parts
    name = native.get("name")
    if isinstance(name, str):
        message["name"] = name
    elif name is not None:
        extra["name"] = name
    if extra:
        message["extra"] = extra
    return message


def from_message(message: Message) -> dict[str, Any]:
    """The native form, without a finish reason."""
    native: dict[str, Any] = {"role": message["role"], "parts": from_parts(message["parts"])}
    if "name" in message:
        native["name"] = message["name"]
    return without_nulls({**native, **extra_of(cast(dict[str, Any], message))})


def to_messages(natives: Iterable[Mapping[str, Any]]) -> list[Message]:
    """The value of `gen_ai.input.messages`, structured."""
    return [to_message(native) for native in natives]


def from_messages(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """The value of `gen_ai.input.messages` again."""
    return [from_message(message) for message in messages]


def output_message(native: Mapping[str, Any]) -> tuple[Message, Any]:
    """An element of `gen_ai.output.messages` without its reasoning parts, and these: the text of one, or a list."""
    message = to_message(native)
    parts = message["parts"]
    reasoning = [part for part in parts if part.get("type") == "reasoning"]
    if not reasoning:
        return message, None
    message["parts"] = [part for part in parts if part.get("type") != "reasoning"]
    if len(reasoning) == 1 and reasoning[0].keys() == {"type", "content"}:
        return message, reasoning[0]["content"]
    return message, reasoning


def finish_reason(native: Mapping[str, Any]) -> str | None:
    """Why the model stopped, where an output message says so."""
    reason = native.get("finish_reason")
    return reason if isinstance(reason, str) else None


def to_parts(natives: Iterable[Any]) -> list[Part]:
    """Parts of a message, or of `gen_ai.system_instructions`."""
    return [_part(native) for native in natives]


def from_parts(parts: Iterable[Part]) -> list[Any]:
    """The native form of parts."""
    return [_native_part(part) for part in parts]


def tool_definitions(natives: Iterable[Any]) -> list[Any]:
    """The value of `gen_ai.tool.definitions`, structured: nulls of a definition dropped, those of its schema kept."""
    return [without_nulls(cast(dict[str, Any], n)) if isinstance(n, dict) else n for n in natives]


def _part(native: Any) -> Part:
    if not isinstance(native, dict):
        return as_is(native)
    part = cast(dict[str, Any], native)
    kind = part.get("type")
    if kind == "text" and len(part) == 2 and isinstance(part.get("content"), str):
        return part
    if isinstance(kind, str) and kind in RESERVED:
        return as_is(part)
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
        native[extra["key"]] = native.pop("response")
    return {**native, "extra": extra["extra"]} if "extra" in extra else native

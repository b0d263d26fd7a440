"""Messages: one entry of a model's context, in the OpenTelemetry GenAI parts shape.

A message is a plain dictionary `{"role", "parts", "name"?, "extra"?}`.  Other fields of a dialect are kept under
`extra`, of the message or of a part, so that normalising loses nothing.  In a message larger than `LARGE_PART_BYTES`,
large parts become separate content and are replaced by refs: the message stays small, and an image or a long tool
result that is in several messages is stored once.
"""

from collections.abc import Callable, Iterable
from typing import Any, NotRequired, TypedDict, TypeGuard, cast

import orjson

from playhead.model.canonical import JSON, Content, canonical_json, parse_json
from playhead.model.ref import ContentRef, is_ref

# Part of the canonical form, so not a setting: two writers with two limits would give one message two refs.
LARGE_PART_BYTES = 16 * 1024
REF_PART = "playhead.ref"

Part = dict[str, Any]


class Message(TypedDict):
    """Role is `system`, `user`, `assistant` or `tool`; parts as in the GenAI conventions."""

    role: str
    parts: list[Part]
    name: NotRequired[str]
    extra: NotRequired[dict[str, Any]]


def text_message(role: str, text: str) -> Message:
    """A message of one text part."""
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def plain_message_json(role: str, text: str) -> bytes:
    """The canonical bytes of `text_message(role, text)`, faster than `canonical_json`.

    Raises TypeError for a lone surrogate."""
    return orjson.dumps({"parts": [{"content": text, "type": "text"}], "role": role})


def message_contents(message: Message) -> list[Content]:
    """Returns the message's own content, followed by the large parts that it refers to."""
    data = canonical_json(message)
    if len(data) <= LARGE_PART_BYTES:
        return [Content(data, JSON)]
    parts: list[Part] = []
    apart: list[Content] = []
    for part in message["parts"]:
        body = canonical_json(part)
        if len(body) > LARGE_PART_BYTES:
            content = Content(body, JSON)
            apart.append(content)
            parts.append({"type": REF_PART, "of": part.get("type", ""), "ref": content.ref, "bytes": len(body)})
        else:
            parts.append(part)
    return [Content(canonical_json({**message, "parts": parts}), JSON), *apart]


def refs_inside(message: Message) -> list[ContentRef]:
    """Refs of the large parts that are content of their own."""
    return [ContentRef(part["ref"]) for part in message["parts"] if _is_apart(part)]


def resolve_parts(message: Message, fetch: Callable[[ContentRef], bytes | None]) -> Message:
    """Puts large parts back in; a part for which `fetch` returns None stays a ref."""
    if not refs_inside(message):
        return message
    parts = [_resolve_part(part, fetch) for part in message["parts"]]
    return cast(Message, {**message, "parts": parts})


def read_message(data: bytes) -> Message:
    """Reads a message's canonical bytes; raises ValueError."""
    value = parse_json(data)
    if not is_message(value):
        raise ValueError("this content is not a message: it has no list of parts")
    return value


def is_message(value: object) -> TypeGuard[Message]:
    """Whether a JSON value is a message: an object with a list of parts."""
    parts = cast(dict[str, Any], value).get("parts") if isinstance(value, dict) else None
    return isinstance(parts, list) and all(isinstance(part, dict) for part in cast(list[Any], parts))


def message_text(message: Message) -> str:
    """The readable text of a message: texts, reasoning and tool results, one per line."""
    return "\n".join(_texts(message["parts"]))


def message_lines(message: Message) -> list[str]:
    """The parts of a message, for people: a text unchanged, a tool call as `name(arguments)`, an image or file as a
    description: `[image: image/png, 68 bytes]`, reasoning as `[thinking: text]`, other parts as JSON.  Lines of a text
    are not split.
    """
    return [line for part in message["parts"] for line in part_lines(part)]


def part_lines(part: Part) -> Iterable[str]:
    """The texts of one part; see `message_lines`."""
    match part.get("type"):
        case "tool_call":
            yield f"{part.get('name')}({_json(part.get('arguments'))})"
        case "blob":
            yield _medium(part, part.get("mime_type"), f"{_decoded_size(part.get('content')):,} bytes")
        case "uri":
            yield _medium(part, part.get("uri"))
        case "file":
            yield _medium(part, part.get("file_id"))
        case "reasoning" if texts := "\n".join(_texts([part])):
            yield f"[thinking: {texts}]"
        case kind if kind == REF_PART:
            yield f"[{part.get('of')}, {part.get('bytes')} bytes]"
        case _:
            texts = list(_texts([part]))
            yield from texts if texts or "content" in part or "response" in part else [_json(part)]


def without_reasoning(messages: Iterable[Message]) -> list[Message]:
    """The messages without their reasoning; a message with only reasoning is left out."""
    result: list[Message] = []
    for message in messages:
        parts = [part for part in message["parts"] if part.get("type") != "reasoning"]
        if parts or not message["parts"]:
            result.append({**message, "parts": parts})
    return result


def _is_apart(part: Part) -> bool:
    return part.get("type") == REF_PART and is_ref(part.get("ref"))


def _texts(parts: Iterable[Part]) -> Iterable[str]:
    for part in parts:
        if part.get("type") == "blob":
            continue  # base64: nobody reads it
        for key in ("content", "response"):
            value = part.get(key)
            if isinstance(value, str):
                yield value
            elif value is not None:
                yield _json(value)


def _medium(part: Part, *facts: object) -> str:
    details = ", ".join(str(fact) for fact in facts if fact is not None)
    return f"[{part.get('modality') or part.get('type')}: {details}]"


def _decoded_size(base64: object) -> int:
    """The number of bytes that a base64 text encodes."""
    text = base64.rstrip("=") if isinstance(base64, str) else ""
    return len(text) * 3 // 4


def _json(value: object) -> str:
    return canonical_json(value).decode("utf-8", "replace")


def _resolve_part(part: Part, fetch: Callable[[ContentRef], bytes | None]) -> Part:
    if not _is_apart(part):
        return part
    body = fetch(ContentRef(part["ref"]))
    return part if body is None else cast(Part, parse_json(body))

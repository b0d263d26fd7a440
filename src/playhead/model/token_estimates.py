"""Estimates how many tokens a message has, from its length. Both halves use it: contexts that programs manage, and the
collector's answers where no provider reported a number. Pure.
"""

from collections.abc import Iterable
from typing import Any, cast

from playhead.model.canonical import parse_json, text_of
from playhead.model.content_kinds import part_type
from playhead.model.message import Message, is_message

# English text has four bytes to a token; each message is framed by about four tokens.
_BYTES_PER_TOKEN, _FRAME = 4, 4
# The tokens of an image depend on its size in pixels, not in bytes. This is for 1,024 x 1,024 pixels.
_IMAGE = 765
_MEDIA_PARTS = frozenset({"blob", "file", "uri"})
_TEXT_PARTS = frozenset({"text", "reasoning", "tool_call", "tool_call_response"})
# A larger content is not parsed.
_MOST_PARSED = 1024 * 1024


def estimate_message(message: Message | None) -> float:
    """Returns the plain estimate for a message and its frame tokens; 0 for a message that is not stored."""
    return 0.0 if message is None else _FRAME + sum(map(estimate_part, message["parts"]))


def estimate_value(value: object) -> float:
    """Returns the plain estimate for system instructions or tool definitions."""
    return 0.0 if value is None else _text_tokens(text_of(value))


def estimate_all(messages: Iterable[Message | None], *values: object) -> float:
    """Returns the plain estimate for a whole context."""
    return sum(map(estimate_message, messages)) + sum(map(estimate_value, values))


def estimate_part(part: dict[str, Any]) -> float:
    """Returns the plain estimate for a part of a message, without a frame."""
    kind = part.get("type")
    if kind in _MEDIA_PARTS:
        return _IMAGE
    if kind == "tool_call":
        return _text_tokens(f"{part.get('name')}{text_of(part.get('arguments') or '')}")
    value = part.get("response", part.get("content"))
    return 0.0 if value is None else _text_tokens(text_of(value))


def _text_tokens(text: str) -> float:
    return len(text.encode("utf-8", "replace")) / _BYTES_PER_TOKEN


def estimate_content(data: bytes) -> int:
    """Estimates the tokens of a content: of a message with its frame, of a part of one, or of the text of a value.
    Large parts of a message are contents of their own and count there. Bytes that are no text have no tokens."""
    kind = part_type(data)
    if kind in _MEDIA_PARTS:  # may be large, and its bytes are not looked at
        return round(estimate_part({"type": kind}))
    try:
        if len(data) > _MOST_PARSED:
            data.decode()
            return len(data) // _BYTES_PER_TOKEN
        value = _value(data)
    except UnicodeDecodeError:
        return 0
    if is_message(value):
        return round(estimate_message(value))
    if kind in _TEXT_PARTS and isinstance(value, dict):
        return round(estimate_part(cast(dict[str, Any], value)))
    return round(estimate_value(value))


def _value(data: bytes) -> object:
    """Returns what the bytes are as JSON, or their text. Raises UnicodeDecodeError."""
    try:
        return parse_json(data)
    except (ValueError, RecursionError):
        return data.decode()

"""Estimates how many tokens a message has, from its length. Both halves use it: contexts that programs manage, and the
collector's answers where no provider reported a number. Pure.
"""

from collections.abc import Iterable
from typing import Any

from playhead.model.canonical import text_of
from playhead.model.message import Message

# English text has four bytes to a token; each message is framed by about four tokens.
_BYTES_PER_TOKEN, _FRAME = 4, 4
# The tokens of an image depend on its size in pixels, not in bytes. This is for 1,024 x 1,024 pixels.
_IMAGE = 765


def estimate_message(message: Message | None) -> float:
    """Returns the plain estimate for a message and its frame tokens; 0 for a message that is not stored."""
    return 0.0 if message is None else _FRAME + sum(map(_part_tokens, message["parts"]))


def estimate_value(value: object) -> float:
    """Returns the plain estimate for system instructions or tool definitions."""
    return 0.0 if value is None else _text_tokens(text_of(value))


def estimate_all(messages: Iterable[Message | None], *values: object) -> float:
    """Returns the plain estimate for a whole context."""
    return sum(map(estimate_message, messages)) + sum(map(estimate_value, values))


def _part_tokens(part: dict[str, Any]) -> float:
    kind = part.get("type")
    if kind in ("blob", "file", "uri"):
        return _IMAGE
    if kind == "tool_call":
        return _text_tokens(f"{part.get('name')}{text_of(part.get('arguments') or '')}")
    value = part.get("response", part.get("content"))
    return 0.0 if value is None else _text_tokens(text_of(value))


def _text_tokens(text: str) -> float:
    return len(text.encode("utf-8", "replace")) / _BYTES_PER_TOKEN

"""Anthropic's Messages API.

Forms that the API treats as equal give equal messages, because programs use all of them, even within one conversation:

- a text, and a list of one block with that text;
- a block with and without `cache_control`, which moves to a later block with every turn, and with or without keys that
  have their default value (`is_error: false`, `caller: {"type": "direct"}`);
- null keys and missing keys.

Everything else is restored: signatures of thoughts, redacted thoughts, the blocks of server tools. Clients send
thoughts back, so they stay in the message (`output_message`). The messages of a request are cut before they are
converted, so that each tool result is a message (`cut_turns`).
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from playhead.dialect._anthropic_blocks import content_part, native_block
from playhead.dialect._anthropic_turns import PLACE, count_whole, cut_plain_turns, cut_turns, join_turns
from playhead.dialect._shape import extra_of
from playhead.model.message import Message, Part

__all__ = [
    "NAME",
    "count_whole",
    "cut_plain_turns",
    "cut_turns",
    "from_message",
    "from_messages",
    "join_turns",
    "output_message",
    "to_message",
    "to_messages",
]

NAME = "anthropic"

_ROLES = frozenset({"system", "user", "assistant"})
_NO_ROLE = "unknown"
_READ = frozenset({"role", "content", PLACE})


def to_message(native: Mapping[str, Any]) -> Message:
    """Returns the canonical form of one element of `messages`, cut or not."""
    role, content = native.get("role"), native.get("content")
    if len(native) == 2 and type(role) is str and role in _ROLES:
        if type(content) is str:
            return {"role": role, "parts": [{"type": "text", "content": content}]}
        if type(content) is list and len(content) == 1 and role == "assistant":  # pyright: ignore[reportUnknownArgumentType]
            part = content_part(content[0])  # not a tool result, and there are no other keys
            return {"role": role, "parts": [part]}
    extra: dict[str, Any] = {key: value for key, value in native.items() if value is not None and key not in _READ}
    if isinstance(role, str):
        ours = role
    else:
        ours, extra["role"] = _NO_ROLE, role
    parts: list[Part] = []
    if isinstance(content, str):
        parts = [{"type": "text", "content": content}]
    elif isinstance(content, list | tuple):
        parts = [content_part(block) for block in cast("list[Any]", content)]
    else:
        extra["content"] = content
    if ours == "user" and parts and all(part.get("type") == "tool_call_response" for part in parts):
        ours = "tool"
    elif ours == "tool":
        extra["role"] = role
    message: Message = {"role": ours, "parts": parts}
    if extra:
        message["extra"] = extra
    return message


def from_message(message: Message) -> dict[str, Any]:
    """Returns one cut element of `messages`. A single text becomes a plain text unless the role is `assistant`; any
    other content becomes a list of blocks."""
    extra, parts, role = extra_of(cast(dict[str, Any], message)), message["parts"], message["role"]
    native: dict[str, Any] = {"role": "user" if role == "tool" else role}
    if len(parts) == 1 and role != "assistant" and parts[0].keys() == _TEXT and parts[0]["type"] == "text":
        native["content"] = parts[0]["content"]
    else:
        native["content"] = [native_block(part) for part in parts]
    native |= extra
    return {key: value for key, value in native.items() if value is not None}


_TEXT = {"type", "content"}


def to_messages(natives: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Converts the `messages` of a request; each tool result becomes a message."""
    return [to_message(native) for native in cut_turns(natives)]


def from_messages(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Returns the `messages` of a request; a system prompt is the first element."""
    system, joined = join_turns(map(from_message, messages))
    return joined if system is None else [{"role": "system", "content": system}, *joined]


def output_message(native: Mapping[str, Any]) -> tuple[Message, Any]:
    """Returns a response's `content` as the message that the client sends back, and the text of its thoughts (None:
    there are none)."""
    message = to_message({"role": native.get("role", "assistant"), "content": native.get("content")})
    thoughts: list[str] = []
    for part in message["parts"]:
        if part.get("type") == "reasoning" and part.get("content"):
            thoughts.append(part["content"])  # noqa: PERF401 - most answers have none: a comprehension is a call
    return message, "\n\n".join(thoughts) if thoughts else None

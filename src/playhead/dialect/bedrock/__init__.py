"""Messages of Amazon Bedrock's Converse API, for all its models. Requests of Amazon Nova's own API have the same
messages.

Messages are JSON values as they are sent: bytes are base64. The messages of a request are cut before they are
converted, so that each tool result is a message (`cut_turns`).

`cachePoint` blocks are dropped: they control the server's cache, the model does not see them, and they move to a later
block with every turn. `status: "success"` of a tool's result is dropped, too: it is the default. Everything else is
restored: signatures of thoughts, redacted thoughts, guarded texts, citations. Clients send thoughts back, so they stay
in the message (`output_message`).
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from playhead.dialect._shape import extra_of
from playhead.dialect.bedrock.blocks import content_part, is_cache_point, native_block
from playhead.dialect.bedrock.turns import PLACE, cut_turns, join_turns
from playhead.model.message import Message, Part

__all__ = [
    "NAME",
    "cut_turns",
    "from_message",
    "from_messages",
    "join_turns",
    "output_message",
    "to_message",
    "to_messages",
]

NAME = "bedrock"

_NO_ROLE = "unknown"
_READ = frozenset({"role", "content", PLACE})


def to_message(native: Mapping[str, Any]) -> Message:
    """Returns the canonical form of one element of `messages`, cut or not."""
    role, content = native.get("role"), native.get("content")
    extra: dict[str, Any] = {key: value for key, value in native.items() if value is not None and key not in _READ}
    ours = role if isinstance(role, str) else _NO_ROLE
    if ours == _NO_ROLE:
        extra["role"] = role
    parts: list[Part] = []
    if isinstance(content, list | tuple):
        parts = [content_part(block) for block in cast("list[Any]", content) if not is_cache_point(block)]
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
    """Returns one cut element of `messages`."""
    role = message["role"]
    native: dict[str, Any] = {"role": "user" if role == "tool" else role}
    native["content"] = [native_block(part) for part in message["parts"]]
    native |= extra_of(cast("dict[str, Any]", message))
    return {key: value for key, value in native.items() if value is not None}


def to_messages(natives: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Converts the `messages` of a request; each tool result becomes a message."""
    return [to_message(native) for native in cut_turns(natives)]


def from_messages(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Returns the `messages` of a request; a system prompt is the first element."""
    system, joined = join_turns(map(from_message, messages))
    return joined if system is None else [{"role": "system", "content": system}, *joined]


def output_message(native: Mapping[str, Any]) -> tuple[Message, Any]:
    """Returns a response's `message` as the client sends it back, and the text of its thoughts (None: there are
    none)."""
    message = to_message({"role": "assistant", **native})
    thoughts = [part["content"] for part in message["parts"] if part.get("type") == "reasoning" and part.get("content")]
    return message, "\n\n".join(thoughts) or None

"""Contents of Gemini's API, as its REST API and Vertex AI write them.

A content whose parts are all function responses is a tool's message; these parts name the function and often have no
id. A model's content without `parts` differs from one with an empty list. `thread_of` and `contents_of` decide which
contents form one message.

Forms that the API treats as equal give equal messages, because the client sends answers back in another spelling than
it received them: known keys of parts in camel case or in snake case, and base64 in its standard or its URL-safe
alphabet.

Clients send whole answers back, including thoughts, so reasoning stays in the message (`output_message`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from playhead.dialect._google_parts import content_part, native_part
from playhead.dialect._google_turns import TurnShape, contents_of, joined_turn, thread_of
from playhead.dialect._shape import extra_of, rest, without_nulls
from playhead.model.message import Message, Part

__all__ = [
    "NAME",
    "TurnShape",
    "contents_of",
    "from_message",
    "from_messages",
    "joined_turn",
    "output_message",
    "thread_of",
    "to_message",
    "to_messages",
]

NAME = "google_genai"

_OUR_ROLES = {"model": "assistant", "function": "tool"}
_NATIVE_ROLES = {"assistant": "model", "tool": "user"}
_NO_ROLE = "unknown"


def to_message(native: Mapping[str, Any]) -> Message:
    """Returns the canonical form of one element of `contents`."""
    native_parts, role = native.get("parts"), native.get("role")
    extra = rest(native, ("role", "parts"))
    parts: list[Part] = []
    if isinstance(native_parts, list | tuple):
        parts = [content_part(part) for part in cast(Sequence[Any], native_parts)]
    else:
        extra["parts"] = native_parts
    ours = _our_role(role, parts)
    if _NATIVE_ROLES.get(ours, ours) != role:
        extra["role"] = role
    message: Message = {"role": ours, "parts": parts}
    if extra:
        message["extra"] = extra
    return message


def from_message(message: Message) -> dict[str, Any]:
    """Returns one element of `contents`."""
    role = message["role"]
    native: dict[str, Any] = {
        "role": _NATIVE_ROLES.get(role, role),
        "parts": [native_part(part) for part in message["parts"]],
    }
    return without_nulls({**native, **extra_of(cast(dict[str, Any], message))})


def to_messages(natives: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Converts the `contents` of a request; each function response and each turn of the model becomes a message."""
    return [to_message(content) for content in thread_of(list(natives))[0]]


def from_messages(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Returns the `contents` of a request; the system instruction is the first element."""
    contents, _ = contents_of([from_message(message) for message in messages], {"system": None})
    return contents


def output_message(native: Mapping[str, Any]) -> tuple[Message, Any]:
    """Returns the message of a candidate's `content`, and the text of its thoughts (None: there are none)."""
    message = to_message({"role": "model", **without_nulls(native)})
    thoughts = [part["content"] for part in message["parts"] if part.get("type") == "reasoning" and part.get("content")]
    return message, "\n\n".join(thoughts) or None


def _our_role(role: Any, parts: Sequence[Part]) -> str:
    if role is None:
        role = "user"  # the API's default
    if not isinstance(role, str):
        return _NO_ROLE
    if role == "user" and parts and all(part.get("type") == "tool_call_response" for part in parts):
        return "tool"
    return _OUR_ROLES.get(role, role)

"""Removes what telemetry adds to messages, so that one conversation has one thread.

Removed: whether a tool's arguments were text or structured, the key of a tool's result, and the tool's name in it.
Several tool results in one message become one message each, of role `tool`, as they were sent to the provider.
"""

from collections.abc import Iterable
from typing import Any, cast

from playhead.dialect.parts import extra_of
from playhead.lift.natives.bedrock import only_text
from playhead.model.message import Message, Part

_SPELLINGS = ("encoded", "key")
_RESULT = "tool_call_response"


def canonical_messages(messages: Iterable[Message]) -> list[Message]:
    """Returns the messages as they were sent to the provider, as far as that is known."""
    result: list[Message] = []
    for message in messages:
        parts = message["parts"]
        if any(part.get("type") == _RESULT or "extra" in part for part in parts):
            result += _split(message, [_plain(part) for part in parts])
        else:
            result.append(message)
    return result


def _plain(part: Part) -> Part:
    extra = extra_of(part)
    spelled = any(key in extra for key in _SPELLINGS)
    named = part.get("type") == _RESULT and "name" in part
    if not spelled and not named and not (part.get("type") == _RESULT and isinstance(part.get("response"), list)):
        return part
    plain = {key: value for key, value in part.items() if key != "extra" and not (named and key == "name")}
    if part.get("type") == _RESULT and "response" in part:
        plain["response"] = only_text(part.get("response"))
    rest = {key: value for key, value in extra.items() if key not in _SPELLINGS}
    return {**plain, "extra": rest} if rest else plain


def _split(message: Message, parts: list[Part]) -> list[Message]:
    """Splits a message into one per tool result and one for the other parts."""
    others = [part for part in parts if part.get("type") != _RESULT]
    results = [part for part in parts if part.get("type") == _RESULT]
    if message["role"] not in ("user", "tool") or not results or (len(parts) == 1 and message["role"] == "tool"):
        return [cast(Message, {**message, "parts": parts})]
    beyond: dict[str, Any] = {key: value for key, value in message.items() if key not in ("role", "parts")}
    split: list[Message] = [cast(Message, {**beyond, "role": "tool", "parts": [part]}) for part in results]
    return [*split, cast(Message, {**message, "parts": others})] if others else split

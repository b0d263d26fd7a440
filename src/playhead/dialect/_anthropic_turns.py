"""Converts between the messages of Anthropic's API and the list of messages that all dialects share: one message per
tool result, and the system prompt as the first message.

A user message that answers several tool calls, and may continue with text, is cut into one message per result and one
per sequence of other blocks. The cuts need not be stored: the API requires all results of a turn in one message, so
consecutive results belong together, and nothing else does. A message for which this rule is wrong has a mark under
`PLACE`.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, cast

PLACE = "playhead.place"
# Values of `PLACE`: part of the message before; a message of its own; a system message that is not the system prompt.
_JOINED, _APART, _INSIDE = "joined", "apart", "messages"

_RESULT = "tool_result"
_CAN_BE_CUT = {"role", "content", PLACE}


def cut_turns(messages: Iterable[Mapping[str, Any]], system: Any = None) -> list[Mapping[str, Any]]:
    """Cuts the messages of a request. `system`: its system prompt, None if it has none."""
    cut: list[Mapping[str, Any]] = []
    if system is not None:
        cut.append({"role": "system", "content": system})
    was_result = False
    for message in messages:
        content: Any = message.get("content")
        role = message.get("role")
        if role == "system" and not cut:
            cut.append({**message, PLACE: _INSIDE})
            was_result = False
        elif role != "user" or type(content) is str or not isinstance(content, list | tuple):
            cut.append(message)
            was_result = False
        else:  # a cast is a call
            was_result = _cut(message, content, was_result, cut)  # pyright: ignore[reportUnknownArgumentType]
    return cut


def cut_plain_turns(messages: Any, system: Any = None, begin: list[Any] | None = None) -> tuple[list[Any], int] | None:
    """Does the same as `cut_turns`, faster, for messages and blocks that are dictionaries, as in most programs. Returns
    the cut messages and how many of the first ones needed no cutting (see `count_whole`). None: use `cut_turns`,
    because there are other types, or the first message has role `system` and `system` is None.

    `begin`: the first messages (with the system prompt, if there is one), which are known to need no cutting. This list
    is extended by the other messages and returned.
    """
    cut: list[Any]
    rest: list[Any]
    if begin:
        cut, rest = begin, messages[len(begin) - (system is not None) :]
    else:
        cut, rest = [] if system is None else [{"role": "system", "content": system}], [*messages]
        if system is None and rest and isinstance(rest[0], dict) and cast("Any", rest[0]).get("role") == "system":
            return None
    whole, was_result = _count_whole(rest, cut[-1] if cut else None)
    if whole == len(rest):  # the usual case
        cut += rest
        return cut, len(cut)
    cut += rest[:whole]
    whole_count = len(cut)
    kind: Any = None
    for message in rest[whole:]:
        kind = type(message)  # pyright: ignore[reportUnknownVariableType]
        content: Any = message.get("content") if kind is dict else None
        kind = type(content)  # pyright: ignore[reportUnknownVariableType]
        if kind is not str and (kind is not list or {*map(type, content)} - _DICTIONARIES):
            return None
        if kind is list and message.get("role") == "user":
            was_result = _cut(message, content, was_result, cut)
        else:
            cut.append(message)
            was_result = False
    return cut, whole_count


_DICTIONARIES: set[type] = {dict}


def count_whole(messages: Sequence[Any], whole_count: int = 0) -> int:
    """Returns how many of the first messages need no cutting; the first `whole_count` are known to need none. Stops at
    a message that is not a dictionary with a text or with blocks that are dictionaries."""
    return whole_count + _count_whole(messages[whole_count:], messages[whole_count - 1] if whole_count else None)[0]


def _count_whole(messages: Sequence[Any], before: Any) -> tuple[int, bool]:
    """Counts like `count_whole` after the message `before` (None: there is none). Also returns whether the last counted
    message is a tool result.

    Runs for the new messages of each model call.
    """
    count = 0
    was_result: bool | None = None  # None: the message before was not examined; most calls need not examine it
    kind: Any = None
    for message in messages:
        kind = type(message)  # pyright: ignore[reportUnknownVariableType]
        if kind is not dict:
            break
        content: Any = message.get("content")
        kind = type(content)  # pyright: ignore[reportUnknownVariableType]
        if kind is str:
            was_result = False
        elif kind is not list or PLACE in message:
            break
        else:
            has_result = False
            for block in content:
                kind = type(block)  # pyright: ignore[reportUnknownVariableType]
                if kind is not dict:
                    return count, _was_result(was_result, before)
                if block.get("type") == _RESULT:
                    has_result = message.get("role") == "user"
            if has_result and (len(content) != 1 or len(message) != 2 or _was_result(was_result, before)):
                break
            was_result = has_result
        count += 1
    return count, _was_result(was_result, before)


def _was_result(was_result: bool | None, before: Any) -> bool:
    return (before is not None and _is_result(before)) if was_result is None else was_result


def join_turns(cut: Iterable[Mapping[str, Any]]) -> tuple[Any, list[dict[str, Any]]]:
    """Joins cut messages. Returns the request's system prompt (None: it has none) and its messages."""
    system: Any = None
    joined: list[dict[str, Any]] = []
    is_first = True
    was_result = False
    for message in cut:
        place = message.get(PLACE)
        native = {key: value for key, value in message.items() if key != PLACE} if place else dict(message)
        if is_first and place != _INSIDE and native.get("role") == "system" and len(native) == 2:
            system = native["content"]
        else:
            is_result = _is_result(native)
            if joined and (place == _JOINED or (is_result and was_result and place != _APART)):
                joined[-1]["content"] = [*_blocks(joined[-1].get("content")), *_blocks(native.get("content"))]
            else:
                joined.append(native)
            was_result = is_result
        is_first = False
    return system, joined


def _cut(message: Mapping[str, Any], content: Sequence[Any], was_result: bool, cut: list[Mapping[str, Any]]) -> bool:
    """Appends the pieces of a user message to `cut`. Returns whether the last piece is a tool result."""
    if len(content) == 1 and len(message) == 2:
        is_result = _kind(content[0]) == _RESULT
        cut.append({**message, PLACE: _APART} if is_result and was_result else message)
        return is_result
    kinds = [_kind(block) for block in content]
    if _RESULT not in kinds or not message.keys() <= _CAN_BE_CUT:
        cut.append(message)
        return _is_result(message)
    is_begin = True
    blocks = iter(content)
    for is_result, group in groupby(kinds, lambda kind: kind == _RESULT):
        count = len(list(group))
        pieces = [[next(blocks)] for _ in range(count)] if is_result else [[next(blocks) for _ in range(count)]]
        for piece in pieces:
            native: dict[str, Any] = {"role": "user", "content": piece}
            if is_begin and is_result and was_result:
                native[PLACE] = _APART
            elif not is_begin and not (is_result and was_result):
                native[PLACE] = _JOINED
            cut.append(native)
            is_begin, was_result = False, is_result
    return was_result


def _is_result(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    if type(content) is str or message.get("role") != "user":
        return False
    if type(content) is not list and not isinstance(content, tuple | list):
        return False
    if len(content) != 1 or _kind(content[0]) != _RESULT:  # pyright: ignore[reportUnknownArgumentType]
        return False
    return len(message) == 2 or message.keys() <= _CAN_BE_CUT


def _kind(block: Any) -> Any:
    if type(block) is dict:
        return block.get("type")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return cast("Mapping[str, Any]", block).get("type") if isinstance(block, Mapping) else None


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())

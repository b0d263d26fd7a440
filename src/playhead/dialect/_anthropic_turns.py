"""Between the messages that Anthropic's API takes and those that others have: one for each tool result, and the system
prompt as the first.

A user's message that answers several tool calls, and may go on with a text, is cut into a message for each result and
one for what stands between them.  Where the cuts were, is known from the messages: the API wants all results of a turn
in one message, so results that follow one another belong together, and nothing else does.  A message for which that is
wrong says so under `PLACE`.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, cast

PLACE = "playhead.place"
# In one message with the one before; in a message of its own; or a message of the system's that is no system prompt.
_JOINED, _APART, _INSIDE = "joined", "apart", "messages"

_RESULT = "tool_result"
_CAN_BE_CUT = {"role", "content", PLACE}


def cut_turns(messages: Iterable[Mapping[str, Any]], system: Any = None) -> list[Mapping[str, Any]]:
    """The request's messages, cut; `system` is its system prompt (None: it has none)."""
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
    """As `cut_turns`, of messages and blocks that are dictionaries, as in most programs, and how many of the first
    needed no cutting (see `count_whole`); None: others are among them.

    `begin` are the first messages (with the system prompt, if there is one), which are known to be whole.  They are
    what is returned, with the others added.
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
    if whole == len(rest):  # as nearly always
        cut += rest
        return cut, len(cut)
    cut += rest[:whole]
    known = len(cut)
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
    return cut, known


_DICTIONARIES: set[type] = {dict}


def count_whole(messages: Sequence[Any], known: int = 0) -> int:
    """How many of the first messages need no cutting, when `known` of them are known to need none.  Stops at one that
    is not a dictionary with a text or with blocks that are dictionaries.
    """
    return known + _count_whole(messages[known:], messages[known - 1] if known else None)[0]


def _count_whole(messages: Sequence[Any], before: Any) -> tuple[int, bool]:
    """As `count_whole`, after the message `before` (None: there is none); and whether the last that counts is a result.

    Runs for the new messages of each call of a model.
    """
    count = 0
    was_result: bool | None = None  # not known of the message before; most calls need not know it
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


def _was_result(known: bool | None, before: Any) -> bool:
    return (before is not None and _is_result(before)) if known is None else known


def join_turns(cut: Iterable[Mapping[str, Any]]) -> tuple[Any, list[dict[str, Any]]]:
    """The request's system prompt (None: it has none) and its messages."""
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
    """Adds the pieces of a user's message; returns whether the last one is a result."""
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

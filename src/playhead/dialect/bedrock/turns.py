"""Converts between the messages of the Converse API and the list of messages that all dialects share: one message per
tool result, and the system prompt as the first message.

A user message that answers several tool calls, and may continue with text, is cut into one message per result and one
per sequence of other blocks. The cuts need not be stored: the API requires all results of a turn in one message, so
consecutive results belong together, and nothing else does. A message for which this rule is wrong has a mark under
`PLACE`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from playhead.dialect.bedrock.blocks import RESULT, is_cache_point

PLACE = "playhead.place"
_JOINED, _APART = "joined", "apart"
"""Values of `PLACE`: part of the message before; a message of its own."""
_SYSTEM = "system"
_CAN_BE_CUT = {"role", "content", PLACE}


def cut_turns(messages: Iterable[Any], system: Any = None) -> list[Any]:
    """Cuts the messages of a request. `system`: its system blocks, None if it has none."""
    cut: list[Any] = [] if system is None else [{"role": _SYSTEM, "content": system}]
    for message in messages:
        if _has_results(message):
            _cut(cast("Mapping[str, Any]", message)["content"], cut)
        else:
            cut.append(message)
    return cut


def join_turns(cut: Iterable[Mapping[str, Any]]) -> tuple[Any, list[Any]]:
    """Joins cut messages. Returns the request's system blocks (None: it has none) and its messages."""
    system: Any = None
    joined: list[Any] = []
    was_result = False
    for number, message in enumerate(cut):
        if number == 0 and message.get("role") == _SYSTEM:
            system = message.get("content")
            continue
        place, is_result = message.get(PLACE), _is_result(message)
        native = {key: value for key, value in message.items() if key != PLACE}
        if joined and (place == _JOINED or (is_result and was_result and place != _APART)):
            joined[-1]["content"] = [*joined[-1]["content"], *native["content"]]
        else:
            joined.append(native)
        was_result = is_result
    return system, joined


def _cut(content: Sequence[Any], cut: list[Any]) -> None:
    was_result = bool(cut) and _is_result(cut[-1])
    is_begin = True
    for piece in _pieces(content):
        native: dict[str, Any] = {"role": "user", "content": piece}
        is_result = _is_result_block(piece[0])
        if is_begin and is_result and was_result:
            native[PLACE] = _APART
        elif not is_begin and not (is_result and was_result):
            native[PLACE] = _JOINED
        cut.append(native)
        is_begin, was_result = False, is_result


def _pieces(content: Sequence[Any]) -> list[list[Any]]:
    """Returns each result with the cache points after it, and each sequence of other blocks between results."""
    pieces: list[list[Any]] = []
    for block in content:
        follows = bool(pieces) and (is_cache_point(block) or not _is_result_block(pieces[-1][0]))
        if follows and not _is_result_block(block):
            pieces[-1].append(block)
        else:
            pieces.append([block])
    return pieces


def _has_results(message: Any) -> bool:
    if not isinstance(message, Mapping):
        return False
    fields = cast("Mapping[str, Any]", message)
    content = fields.get("content")
    if fields.get("role") != "user" or not fields.keys() <= _CAN_BE_CUT or not isinstance(content, list | tuple):
        return False
    return any(map(_is_result_block, cast("Sequence[Any]", content)))


def _is_result(message: Any) -> bool:
    if not _has_results(message):
        return False
    first, *others = message["content"]
    return _is_result_block(first) and all(map(is_cache_point, others))


def _is_result_block(block: Any) -> bool:
    return isinstance(block, Mapping) and RESULT in block

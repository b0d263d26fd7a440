"""[read]: converts values to lines of text, and finds the lines in which two values differ. Pure."""

import difflib
from collections.abc import Iterator, Sequence
from typing import Any, cast

from playhead.model.canonical import canonical_json
from playhead.model.message import Message, message_lines
from playhead.model.ref import ContentRef
from playhead_collector.read.values import ContentCache

# Lines and characters that are shown; and lines given to difflib, whose time grows with their square.
_MAX_SHOWN, _WIDEST = 40, 300
_MAX_COMPARED = 1_000


def lines_of(ref: ContentRef, cache: ContentCache) -> list[str]:
    """Returns a content as lines: a message as role and text, JSON as one `path: value` per line."""
    message = cache.parsed_message(ref)
    if message is not None:
        return _spoken(message)
    value = cache.parsed(ref)
    if value is None:
        return [f"({ref} is not stored, or not to be read)"]
    return value.splitlines() if isinstance(value, str) else list(_flat("", value))


def unified(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Returns the removed lines with `-` and the added ones with `+`; an empty list when there are none."""
    compared = (list(before[:_MAX_COMPARED]), list(after[:_MAX_COMPARED]))
    lines = [
        line[:_WIDEST]
        for line in difflib.unified_diff(*compared, lineterm="", n=0)
        if not line.startswith(("--- ", "+++ ", "@@ "))
    ]
    more = len(lines) - _MAX_SHOWN
    visible = lines[:_MAX_SHOWN] + ([f"... and {more} more lines"] if more > 0 else [])
    uncompared = max(len(before), len(after)) - _MAX_COMPARED
    return visible + ([f"... and {uncompared} lines that were not compared"] if uncompared > 0 else [])


def _spoken(message: Message) -> list[str]:
    lines = [line for text in message_lines(message) for line in text.splitlines() or [""]] or [""]
    return [f"{message['role']}: {lines[0]}", *lines[1:]]


def _flat(path: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, item in cast(dict[str, Any], value).items():
            yield from _flat(f"{path}.{key}" if path else key, item)
    elif isinstance(value, list) and value:
        for index, item in enumerate(cast(list[Any], value)):
            yield from _flat(f"{path}[{index}]", item)
    else:
        text = canonical_json(value).decode("utf-8", "replace")
        yield f"{path}: {text}" if path else text

"""collector → [compare].  Is a context that was rebuilt the one that was recorded?  Pure, and knows no dialect.

What two messages may differ in without saying different things: the order of keys, keys that are null or hold an empty
list (clients add and drop them), and how the JSON text of a tool call's arguments is written.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import orjson

_MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Difference:
    """The first value that is not the same."""

    where: str
    recorded: Any
    rebuilt: Any

    def __str__(self) -> str:
        return f"{self.where} was {_shown(self.recorded)}, and is {_shown(self.rebuilt)}"


_ABSENT = object()


def difference(recorded: Any, rebuilt: Any, where: str = "") -> Difference | None:
    """Where two JSON values differ first; None when they are equal.  1, 1.0 and true are three values."""
    match recorded, rebuilt:
        case dict(), dict():
            pairs = _pairs(cast(dict[str, Any], recorded), cast(dict[str, Any], rebuilt), where)
        case list(), list():
            pairs = _items(cast(list[Any], recorded), cast(list[Any], rebuilt), where)
        case _:
            same = type(recorded) is type(rebuilt) and recorded == rebuilt
            return None if same else Difference(where, recorded, rebuilt)
    return next((found for place, one, other in pairs if (found := difference(one, other, place))), None)


def context_difference(
    messages: Sequence[Mapping[str, Any]], tools: Sequence[Any], rebuilt: Mapping[str, Any]
) -> Difference | None:
    """The recorded input of a model call against the collector's answer on `form=openai`."""
    said = [said_in(message) for message in messages]
    heard = [said_in(message) if message else message for message in rebuilt["messages"]]
    return difference(said, heard, "messages") or difference(list(tools), rebuilt["tools"] or [], "tools")


def said_in(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message without what may differ."""
    said = {key: _without_nulls(value) for key, value in message.items() if value is not None}
    for call in said.get("tool_calls") or ():
        _read_arguments(call)
    _read_arguments(said)
    return {key: value for key, value in said.items() if key == "content" or value != []}


def _read_arguments(call: Any) -> None:
    for key in ("function", "function_call"):
        function = call.get(key) if isinstance(call, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        if isinstance(function, dict) and isinstance(text := cast(dict[str, Any], function).get("arguments"), str):
            try:
                function["arguments"] = {"$json": orjson.loads(text)}
            except ValueError:
                continue


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        items = cast(dict[str, Any], value).items()
        return {key: _without_nulls(item) for key, item in items if item is not None}
    return [_without_nulls(item) for item in cast(list[Any], value)] if isinstance(value, list) else value


def _pairs(recorded: dict[str, Any], rebuilt: dict[str, Any], where: str) -> Iterator[tuple[str, Any, Any]]:
    for key in sorted(recorded.keys() | rebuilt.keys()):
        yield f"{where}.{key}", recorded.get(key, _ABSENT), rebuilt.get(key, _ABSENT)


def _items(recorded: list[Any], rebuilt: list[Any], where: str) -> Iterator[tuple[str, Any, Any]]:
    for place, (one, other) in enumerate(zip(recorded, rebuilt, strict=False)):
        yield f"{where}[{place}]", one, other
    if len(recorded) != len(rebuilt):
        place = min(len(recorded), len(rebuilt))
        one, other = (values[place] if place < len(values) else _ABSENT for values in (recorded, rebuilt))
        yield f"{where}[{place}]", one, other


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "absent"
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}... ({len(text):,} characters)"

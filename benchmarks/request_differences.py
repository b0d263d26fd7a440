"""Is a request that was rebuilt the one that was recorded?  Pure, and knows no dialect.

JSON values are compared as they are, but for the order of keys: a key that is null differs from one that is absent.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

_MAX_SHOWN = 200


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
    return next((found for index, one, other in pairs if (found := difference(one, other, index))), None)


def request_difference(
    messages: Sequence[Mapping[str, Any]], tools: Sequence[Any], request: Mapping[str, Any]
) -> Difference | None:
    """The recorded input of a model call against the request that the collector gives back (`exact=true`)."""
    sent: Any = request.get("tools") or []
    return difference(list(messages), request["messages"], "messages") or difference(list(tools), sent, "tools")


def _pairs(recorded: dict[str, Any], rebuilt: dict[str, Any], where: str) -> Iterator[tuple[str, Any, Any]]:
    for key in sorted(recorded.keys() | rebuilt.keys()):
        yield f"{where}.{key}", recorded.get(key, _ABSENT), rebuilt.get(key, _ABSENT)


def _items(recorded: list[Any], rebuilt: list[Any], where: str) -> Iterator[tuple[str, Any, Any]]:
    for index, (one, other) in enumerate(zip(recorded, rebuilt, strict=False)):
        yield f"{where}[{index}]", one, other
    if len(recorded) != len(rebuilt):
        index = min(len(recorded), len(rebuilt))
        one, other = (values[index] if index < len(values) else _ABSENT for values in (recorded, rebuilt))
        yield f"{where}[{index}]", one, other


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "absent"
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}... ({len(text):,} characters)"

"""JSON values → Python source, in lines of a readable length.  Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

LINE_CHARACTERS = 110
_INDENT = 4


def literal(value: Any, indent: int = 0, used: int = 0) -> str:
    """Returns the Python source of a JSON value.  `indent`: of the lines after the first; `used`: the number of
    characters before the value in its line."""
    short = repr(cast(object, value))
    if len(short) + used + indent <= LINE_CHARACTERS:
        return short
    if isinstance(value, str):
        return block("(", _pieces(value, indent), ")", indent, end="")
    if isinstance(value, dict):
        named = cast("dict[str, Any]", value)
        items = (f"{name!r}: {literal(item, indent + _INDENT, len(repr(name)) + 3)}" for name, item in named.items())
        return block("{", items, "}", indent)
    if isinstance(value, list):
        items = (literal(item, indent + _INDENT) for item in cast("list[Any]", value))
        return block("[", items, "]", indent)
    return short


def call_source(function: str, arguments: Sequence[Any], named: Mapping[str, Any], indent: int = 0) -> str:
    """Returns the source of a call, on one line if it fits, else with each argument on its own line."""
    inputs = [("", value) for value in arguments] + [(f"{name}=", value) for name, value in named.items()]
    line = f"{function}({', '.join(name + repr(value) for name, value in inputs)})"
    if len(line) + indent <= LINE_CHARACTERS:
        return line
    inner = indent + _INDENT
    return f"{function}{block('(', (name + literal(value, inner, len(name)) for name, value in inputs), ')', indent)}"


def block(opened: str, items: Iterable[str], closed: str, indent: int, end: str = ",") -> str:
    """Puts items between brackets, each on its own line."""
    inner = " " * (indent + _INDENT)
    return "\n".join([opened, *(f"{inner}{item}{end}" for item in items), " " * indent + closed])


def _pieces(text: str, indent: int) -> Iterator[str]:
    """Yields string literals whose concatenation is the text."""
    room = max(20, LINE_CHARACTERS - indent - _INDENT - 2)
    for line in text.splitlines(keepends=True):
        for start in range(0, len(line), room):
            yield repr(line[start : start + room])

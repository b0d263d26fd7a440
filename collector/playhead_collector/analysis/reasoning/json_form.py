"""[analysis]: reads reasoning that a model wrote as one JSON object, with the ranges of its values. Pure."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from playhead_collector.analysis.reasoning.structured_text import (
    CON,
    NAMES,
    PRO,
    ConsideredOption,
    StructuredText,
    TextRange,
)

_FENCE = re.compile(r"\s{0,64}+(?:```(?:json)?\s{0,64}+)?(?=\{)", re.IGNORECASE)
# Where an object may begin within a text: in a block of code, or at the beginning of a line.
_BEGINS = re.compile(r"(?:^[ \t]{0,32}+|```(?:json)?\s{0,64}+)(?=\{)", re.IGNORECASE | re.MULTILINE)
_MOST_TRIED = 8
_FENCE_END = re.compile(r"\s{0,64}+(?:```\s{0,64}+)?", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\r\n]{0,10000}+")
_WORD_BEGINS = re.compile(r"(?<=[a-z\d])(?=[A-Z])")
_NAME = re.compile("name|title|option|alternative|approach|action|choice", re.IGNORECASE)
_KINDS = {kind: re.compile(names, re.IGNORECASE) for kind, names in NAMES.items()}
_DECODER = json.JSONDecoder()

Member = tuple[str, int, TextRange]
"""Key, its position, and the range of its value."""


def read_json_form(text: str, start: int, end: int) -> StructuredText | None:
    """Reads a range of a text that is one JSON object, perhaps in a block of code. None if it is not, or has no field
    of this form."""
    body = text[start:end]
    fence = _FENCE.match(body)
    if fence is None:
        return None
    read = _object_at(body, fence.end())
    if read is None or _FENCE_END.fullmatch(body, read[1]) is None:
        return None
    return _moved(read[0], start)


def read_json_within(text: str, start: int, end: int) -> StructuredText | None:
    """Reads the first JSON object with fields of this form in a range of a text. What stands around it is `rest`."""
    body = text[start:end]
    for begins in islice(_BEGINS.finditer(body), _MOST_TRIED):
        read = _object_at(body, begins.end())
        if read is not None:
            found, after = read
            around = ((0, begins.start()), ((_FENCE_END.match(body, after) or begins).end(), len(body)))
            found.rest += [
                TextRange(*piece) for piece in (_bare(body, *each) for each in around) if piece[0] < piece[1]
            ]
            found.rest.sort(key=lambda piece: piece.start)
            return _moved(found, start)
    return None


def _object_at(body: str, position: int) -> tuple[StructuredText, int] | None:
    """The fields of the object that begins here, and where it ends. None if it is no JSON, or has none of the fields.

    They may stand one level deeper, as in `{"reasoning": {…}}`."""
    try:
        value, after = _DECODER.raw_decode(body, position)
        if not isinstance(value, dict):
            return None
        members = list(_members(body, position))
        found = _fields(body, members)
        if not found.is_structured:
            inner = next((member for member in members if body[member[2].start] == "{"), None)
            if inner is not None:
                found = _fields(body, _members(body, inner[2].start))
                found.rest += [TextRange(at, each.end) for _, at, each in members if each != inner[2]]
                found.rest.sort(key=lambda piece: piece.start)
    except (ValueError, RecursionError):
        return None
    return (found, after) if found.is_structured else None


def _fields(body: str, members: Iterable[Member]) -> StructuredText:
    found = StructuredText(0, len(body))
    for member in members:
        _add(body, found, member)
    return found


def _bare(text: str, start: int, end: int) -> tuple[int, int]:
    """The range without white space at its ends."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _moved(found: StructuredText, by: int) -> StructuredText:
    """The same fields so many characters further on."""

    def ranges(pieces: list[TextRange]) -> list[TextRange]:
        return [moved(piece) for piece in pieces]

    def moved(piece: TextRange) -> TextRange:
        return TextRange(piece.start + by, piece.end + by)

    options = [
        ConsideredOption(moved(option.name), ranges(option.about), ranges(option.pros), ranges(option.cons))
        for option in found.options
    ]
    return StructuredText(
        found.start + by,
        found.end + by,
        goal=ranges(found.goal),
        observation=ranges(found.observation),
        options=options,
        decision=ranges(found.decision),
        rest=ranges(found.rest),
    )


def _add(text: str, found: StructuredText, member: Member) -> None:
    key, position, value = member
    match _kind(key):
        case "goal":
            found.goal += _texts(text, value)
        case "observation":
            found.observation += _texts(text, value)
        case "decision":
            found.decision += _texts(text, value)
        case "options":
            found.options += _options(text, value)
        case _:
            found.rest.append(TextRange(position, value.end))


def _kind(key: str) -> str | None:
    """The field that a key names: `options_considered` and `optionsConsidered` are the options."""
    name = _WORD_BEGINS.sub("_", key)
    return next((kind for kind, names in _KINDS.items() if names.fullmatch(name)), None)


def _options(text: str, value: TextRange) -> Iterator[ConsideredOption]:
    """Yields the options of a list, or of an object that has them by name."""
    if text[value.start] == "{":
        for _, position, option in _members(text, value.start):
            yield _option(text, option, _inner(text, TextRange(position, _value_end(text, position))))
    else:
        for option in _items(text, value):
            yield _option(text, option, None)


def _option(text: str, value: TextRange, name: TextRange | None) -> ConsideredOption:
    if text[value.start] != "{":
        return ConsideredOption(_inner(text, value)) if name is None else ConsideredOption(name, _texts(text, value))
    members = list(_members(text, value.start))
    if name is None:
        named = [member for member in members if _NAME.fullmatch(member[0]) and text[member[2].start] == '"']
        if not named:
            return ConsideredOption(value)
        name = _inner(text, named[0][2])
        members.remove(named[0])
    option = ConsideredOption(name)
    for key, _, each in members:
        kind = _kind(key)
        (option.pros if kind == PRO else option.cons if kind == CON else option.about).extend(_texts(text, each))
    return option


def _texts(text: str, value: TextRange) -> list[TextRange]:
    """The ranges of a value's texts: of a list, of each of its items; empty texts are left out."""
    ranges = [_inner(text, item) for item in _items(text, value)]
    return [each for each in ranges if each.start < each.end]


def _items(text: str, value: TextRange) -> Iterator[TextRange]:
    """Yields the range of each item of a list; of any other value, its own."""
    if text[value.start] != "[":
        yield value
        return
    position = _after_space(text, value.start + 1)
    while text[position] != "]":
        end = _value_end(text, position)
        yield TextRange(position, end)
        position = _after_space(text, end)
        if text[position] == ",":
            position = _after_space(text, position + 1)


def _members(text: str, start: int) -> Iterator[Member]:
    """Yields the members of the object that begins here. Raises ValueError if it is no JSON."""
    position = _after_space(text, start + 1)
    while text[position] != "}":
        end = _value_end(text, position)
        key: Any = json.loads(text[position:end])
        first = _after_space(text, _after_space(text, end) + 1)
        last = _value_end(text, first)
        yield str(key), position, TextRange(first, last)
        position = _after_space(text, last)
        if text[position] == ",":
            position = _after_space(text, position + 1)


def _inner(text: str, value: TextRange) -> TextRange:
    """The range within the quotes of a string, without white space at its ends; of any other value, its own."""
    if text[value.start] != '"':
        return value
    return TextRange(*_bare(text, value.start + 1, value.end - 1))


def _value_end(text: str, position: int) -> int:
    return _DECODER.raw_decode(text, position)[1]


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return position if match is None else match.end()

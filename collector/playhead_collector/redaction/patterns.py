"""Regular expressions that people write, restricted so that their time is bounded whatever the text.

Python's `re` backtracks, and holds the interpreter's lock while it does. So a pattern is read here first:

- a repetition without an end (`*`, `+`, `{2,}`) is allowed at the end of the pattern alone, and of one character or
  class;
- there are at most `MOST_WAYS` ways to match from one place, and before such an end a match has at most `LONGEST`
  characters;
- there are no references back, no conditions, and no flags but `(?i)` at the beginning.

Texts are searched in portions of `_PORTION` characters, so that other threads get their turn between two.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

MOST_WAYS: Final = 500
LONGEST: Final = 1_000
MOST_CHARACTERS: Final = 500
_PORTION: Final = 8 * 1024
_MOST_NESTED: Final = 20

Counts = Callable[[str], int]
"""Returns how many characters of a match, from its first on, are what the pattern is for; 0: none."""

_QUANTIFIER: Final = re.compile(r"[*+?]|\{(\d{1,4})?(,)?(\d{1,4})?\}")
_ESCAPE: Final = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[dDwWsS]|[^a-zA-Z0-9]|[tnrfv0])")
_ZERO_WIDTH: Final = ("\\b", "\\B", "\\A", "\\Z")
_GROUPS: Final = {"(?:": False, "(?=": True, "(?!": True, "(?<=": True, "(?<!": True}


class BadPattern(ValueError):
    """Raised for a pattern that is no regular expression, or could take very long; the message says what to do."""


@dataclass(frozen=True, slots=True)
class _PatternMeasure:
    """How a part of a pattern matches: in how many ways from one place, and between how many characters.

    `is_open`: it ends in a repetition without an end. `is_single`: it is one character or class.
    `looks`: how many characters around the match it may look at.
    """

    ways: int = 1
    least: int = 0
    most: int = 0
    is_open: bool = False
    is_single: bool = False
    looks: int = 0


class SafePattern:
    """A pattern whose time is bounded. Safe for threads."""

    def __init__(self, text: str, counts: Counts | None = None) -> None:
        """`counts`: says how much of a match counts; None: all of it. Raises BadPattern."""
        measure = _PatternReader(text).whole()
        self._counts = counts
        try:
            self._pattern = re.compile(text)
        except (re.error, RecursionError, OverflowError) as error:
            raise BadPattern(f"{text[:100]!r} is no regular expression: {error}") from None
        self._is_open = measure.is_open
        self._reach = measure.most + measure.looks + 2

    def matches(self, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yields where matches begin and end within text[start:end], from left to right."""
        at = start
        while at < end:
            stop = min(end, at + _PORTION)
            limit = min(end, stop + self._reach)
            found: re.Match[str] | None = self._pattern.search(text, at, limit)
            if found is None or found.start() >= stop:
                at = stop
                continue
            if self._is_open and found.end() == limit < end:
                found = self._pattern.match(text, found.start(), end) or found
            length = len(found.group()) if self._counts is None else self._counts(found.group())
            if length:
                yield found.start(), found.start() + length
            at = found.start() + (length or 1)


class _PatternReader:
    """Reads a pattern, and measures it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at: int = 4 if text.startswith("(?i)") else 0
        self._nested = 0

    def whole(self) -> _PatternMeasure:
        if len(self._text) > MOST_CHARACTERS:
            raise BadPattern(f"a pattern has at most {MOST_CHARACTERS} characters, this has {len(self._text)}")
        measure = self._alternatives()
        if self._at < len(self._text):
            raise self._bad("a bracket is closed that was not opened")
        if not measure.least:
            raise self._bad("it matches the empty text")
        if measure.ways > MOST_WAYS:
            raise self._bad(f"it can match in more than {MOST_WAYS} ways from one place: bound its repetitions")
        if measure.most > LONGEST:
            raise self._bad(f"a match may have more than {LONGEST} characters: bound its repetitions")
        return measure

    def _alternatives(self) -> _PatternMeasure:
        measure = self._sequence()
        while self._peek("|"):
            self._at += 1
            other = self._sequence()
            measure = _PatternMeasure(
                min(measure.ways + other.ways, MOST_WAYS + 1),
                min(measure.least, other.least),
                max(measure.most, other.most),
                measure.is_open or other.is_open,
                looks=max(measure.looks, other.looks),
            )
        return measure

    def _sequence(self) -> _PatternMeasure:
        ways, least, most, looks, is_open, only = 1, 0, 0, 0, False, _PatternMeasure()
        items = 0
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            if is_open:
                raise self._bad("a repetition without an end stands before other parts: give it one, as in {1,100}")
            item = self._quantified(self._atom())
            ways = min(ways * item.ways, MOST_WAYS + 1)
            least, most = least + item.least, min(most + item.most, LONGEST + 1)
            looks, is_open, only, items = max(looks, item.looks), item.is_open, item, items + 1
        return _PatternMeasure(ways, least, most, is_open, items == 1 and only.is_single, looks)

    def _atom(self) -> _PatternMeasure:
        text, at = self._text, self._at
        character = text[at]
        if character == "(":
            return self._group()
        if character == "[":
            return self._class()
        if character in "^$":
            self._at += 1
            return _PatternMeasure(looks=1)
        if character == "\\":
            if text[at : at + 2] in _ZERO_WIDTH:
                self._at += 2
                return _PatternMeasure(looks=1)
            return self._escape()
        if character in "*+?":
            raise self._bad("a repetition has nothing to repeat")
        self._at += 1
        return _PatternMeasure(1, 1, 1, is_single=True)

    def _escape(self) -> _PatternMeasure:
        found = _ESCAPE.match(self._text, self._at)
        if found is None:
            raise self._bad(f"{self._text[self._at : self._at + 2]!r} is not supported")
        self._at = found.end()
        return _PatternMeasure(1, 1, 1, is_single=True)

    def _class(self) -> _PatternMeasure:
        at = self._at + 1
        if self._text.startswith("^", at):
            at += 1
        if self._text.startswith("]", at):
            at += 1
        while at < len(self._text) and self._text[at] != "]":
            at += 2 if self._text[at] == "\\" else 1
        if at >= len(self._text):
            raise self._bad("a class is not closed")
        self._at = at + 1
        return _PatternMeasure(1, 1, 1, is_single=True)

    def _group(self) -> _PatternMeasure:
        begin = next((begin for begin in _GROUPS if self._text.startswith(begin, self._at)), "(")
        if begin == "(" and self._text.startswith("(?", self._at):
            raise self._bad(f"{self._text[self._at : self._at + 4]!r} is not supported")
        self._at += len(begin)
        self._nested += 1
        if self._nested > _MOST_NESTED:
            raise self._bad(f"groups are nested more than {_MOST_NESTED} deep")
        inner = self._alternatives()
        self._nested -= 1
        if not self._peek(")"):
            raise self._bad("a group is not closed")
        self._at += 1
        if not _GROUPS.get(begin, False):
            return inner
        if inner.is_open:
            raise self._bad("a repetition without an end stands in what is only looked at: give it one, as in {1,100}")
        return _PatternMeasure(inner.ways, looks=inner.most + inner.looks)

    def _quantified(self, atom: _PatternMeasure) -> _PatternMeasure:
        found = _QUANTIFIER.match(self._text, self._at)
        if found is None or found.group() in ("{}", "{,}"):
            return atom
        self._at = found.end()
        if self._peek("?"):
            self._at += 1  # as few as possible, in the same number of ways
        if self._at < len(self._text) and _QUANTIFIER.match(self._text, self._at):
            raise self._bad("a repetition is repeated")
        least, most = _bounds(found)
        if not atom.most:
            raise self._bad("what matches no character is repeated")
        if atom.is_open:
            raise self._bad("a repetition without an end is repeated")
        if most is None:
            if not atom.is_single:
                raise self._bad("a group is repeated without an end: give it one, as in {1,20}")
            return _PatternMeasure(1, least, least, is_open=True)
        if most < least:
            raise self._bad("a repetition has more as its least than as its most")
        ways = _ways(atom.ways, least, most)
        return _PatternMeasure(ways, atom.least * least, min(atom.most * most, LONGEST + 1), looks=atom.looks)

    def _peek(self, text: str) -> bool:
        return self._text.startswith(text, self._at)

    def _bad(self, why: str) -> BadPattern:
        return BadPattern(f"pattern {self._text[:100]!r}, at character {self._at + 1}: {why}")


def _bounds(found: "re.Match[str]") -> tuple[int, int | None]:
    match found.group():
        case "*":
            return 0, None
        case "+":
            return 1, None
        case "?":
            return 0, 1
        case _:
            least, comma, most = found.groups()
            first = int(least or 0)
            return first, (int(most) if most else None if comma else first)


def _ways(of_one: int, least: int, most: int) -> int:
    """Returns in how many ways `least` to `most` repetitions match, of something that does in so many."""
    total, power = 0, min(of_one**least, MOST_WAYS + 1) if of_one > 1 else 1
    for _ in range(least, most + 1):
        total += power
        power = min(power * of_one, MOST_WAYS + 1)
        if total > MOST_WAYS:
            return MOST_WAYS + 1
    return total

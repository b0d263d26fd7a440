"""[analysis]: numbers in the forms in which people say them: in words, with a scale or a unit, as fractions. Pure.

`words.numbers_in` has numbers in English figures. Number words of seven languages are read by `text2num`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice, pairwise
from typing import Protocol

from playhead_collector.analysis.texts.numerals import numerals_in
from playhead_collector.analysis.texts.units import names_of, units_of
from playhead_collector.analysis.texts.words import SMALL, fold

_LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl")
# Of a longer text, only the beginning is searched for number words: seven languages are tried on each word.
_MAX_WORDS_LENGTH = 16 * 1024
_MAX_MENTIONS = 500
# Characters between two quantities that are one: ` and `.
_MAX_GAP = 6
_HUNDRED, _LEAST_SECOND = 100, 10
# Smaller numbers of other languages look like words of another one: `once` is 11 in Spanish.
_LEAST_FOREIGN = 13
# `20 degrees Celsius`: the word before the unit's own is skipped.
_DEGREES = r"(?:[ -]?(?:degrees?|grad|degr[eé]s|gradi|grados|graus)(?=[ ][CFcf]))?"
_UNIT = r"(?P<unit>%|°[ \u00a0]?[CFK]\b|[^\W\d_]{1,24}(?:/[^\W\d_]{1,8}|[23²³])?\.?)"
_S = r"[ \u00a0\u202f-]{0,2}"
_FIGURES = re.compile(
    r"(?<![^\W\u3040-\u30ff\u4e00-\u9fff])(?<![.,/:])(?P<figures>\d{1,3}(?:[.,'\u2019\u00a0\u202f]\d{3}){1,4}(?:[.,]\d{1,6})?(?![\d])|\d{1,12}(?:[.,]\d{1,6})?)"
    rf"(?![\d]|[.,/:]\d){_DEGREES}(?:{_S}(?P<scale>[^\W\d_]{{1,10}}\.?)(?=[ \u00a0\u202f-][^\W\d_°%]))?(?:{_S}{_UNIT})?"
)
_HOURS_AND_MINUTES = re.compile(
    r"(?<![\w.:])(?P<hours>\d{1,3})[ ]?(?:h|hrs?|:)[ ]?(?P<minutes>[0-5]\d)(?: ?(?:h|m|min|hours)\b|\b)"
)
_FEET_AND_INCHES = re.compile(
    r"(?<![\w.])(?P<feet>\d)[ ]?(?:'|\u2019|\u2032|ft|feet|foot)[ ]?(?P<inches>\d{1,2})(?!\d)"
)
_COUNT = "an?|one|two|three|four|five|six|seven|eight|nine|ten|\\d{1,4}"
_PART = (
    r"half|(?:a |one )?quarter|three[ -]quarters|(?:a |one )?third|two[ -]thirds|(?:a |one )?fifth|(?:a |one )?tenth"
)
_AND_A_PART = re.compile(
    rf"\b(?P<count>{_COUNT}) (?:(?P<unit>[^\W\d_]{{1,16}}) )?and an? (?P<part>half|quarter|third)"
    r"(?: (?P<unit2>[^\W\d_]{1,16}))?\b",
    re.IGNORECASE,
)
_A_PART = re.compile(rf"\b(?P<part>{_PART})\b(?:(?: of)?(?: (?:an?|the))? (?P<unit>[^\W\d_]{{1,16}}))?", re.IGNORECASE)
_SIGNS = {"½": "0.5", "¼": "0.25", "¾": "0.75"}
_SIGN = re.compile(r"(?P<whole>\d{1,4})?[ ]?(?P<sign>[½¼¾])(?:[ -]?(?P<unit>%|[^\W\d_]{1,16}))?")
# `a gallon`, `une heure`: one of the unit.
_ONE = re.compile(r"\b(?:an?|one|eine[mnr]?|ein|une?|uno|una|uma?|een) (?P<unit>[^\W\d_]{3,16})\b", re.IGNORECASE)
_AND = re.compile(r"[ ]{0,2}(?:,|and|und|et|y|e|en)?[ ]{0,2}")
_PARTS = {
    "half": Decimal("0.5"), "quarter": Decimal("0.25"), "third": Decimal(1) / 3, "three quarters": Decimal("0.75"),
    "two thirds": Decimal(2) / 3, "fifth": Decimal("0.2"), "tenth": Decimal("0.1"),
}  # fmt: skip
_SMALL = {word: int(number) for number, words in SMALL.items() for word in words}
_WORD = re.compile(r"[^\W\d_]{1,64}+(?:[-'\u2019][^\W\d_]{1,64}+){0,6}")
_AFTER_NUMERAL = re.compile(r"[ ]?([^\W\d_]{1,16})")
_NEXT_WORD = re.compile(r"[ \u00a0-]([^\W\d_]{1,24})(?:[ ]([^\W\d_]{1,24}))?")


# Scripts whose words have no spaces between them begin here: Kana, Han, Hangul.
_FIRST_WITHOUT_SPACES = "\u3040"
# Words after a number that is an hour of the day.
OF_CLOCKS = frozenset(("uhr", "h", "hours", "heure", "heures", "hora", "horas", "ore", "uur"))


@dataclass(frozen=True, slots=True)
class NumberMention:
    """A number in a text, with the word after it and the one after that: `2`, `Mio`, `Euro`. "": there is none."""

    start: int
    end: int
    number: Decimal
    word: str = ""
    second: str = ""
    is_part: bool = False
    """Whether it is a part of something: `half`, `a third`."""


def numbers_said_in(text: str, *, with_words: bool) -> Iterator[NumberMention]:
    """Yields the numbers in a text, at most 500 of each form. `with_words`: also those in words of other languages."""
    words = (_in_words(text), _in_numerals(text)) if with_words else ()
    for forms in (_figures(text), _compound(text), _parts(text), *words):
        mentions = list(islice(forms, _MAX_MENTIONS))
        yield from mentions
        yield from _added_up(text, mentions)
        yield from _in_pairs(mentions)


def _added_up(text: str, mentions: Sequence[NumberMention]) -> Iterator[NumberMention]:
    """Yields neighbouring quantities of one kind as one: `2 hours 15 minutes`."""
    for left, right in pairwise(mentions):
        if not left.word or not right.word or not 0 <= right.start - left.end <= _MAX_GAP:
            continue
        if _AND.fullmatch(text, left.end, right.start) is None:
            continue
        for unit in units_of(left.word):
            for conversion in unit.conversions:
                if conversion.unit and any(conversion.unit == name for name in names_of(right.word)):
                    total = left.number * conversion.factor + conversion.offset + right.number
                    yield NumberMention(left.start, right.end, total, right.word)


def _in_pairs(mentions: Sequence[NumberMention]) -> Iterator[NumberMention]:
    """Yields two English numbers below 100 that are said as one: `nineteen ninety-nine` is 1999, `two fifty` is 250."""
    for left, right in pairwise(mentions):
        if right.start - left.end == 1 and 1 <= left.number < _HUNDRED and _LEAST_SECOND <= right.number < _HUNDRED:
            yield NumberMention(left.start, right.end, left.number * _HUNDRED + right.number, right.word, right.second)


def _figures(text: str) -> Iterator[NumberMention]:
    for match in _FIGURES.finditer(text):
        first = "scale" if match["scale"] else "unit"
        word = _known_unit(match[first] or "")
        second = match["unit"] if word and first == "scale" and units_of(match["unit"] or "") else ""
        end = match.end("unit") if second else match.start(first) + len(word) if word else match.end("figures")
        for number in readings(match["figures"]):
            yield NumberMention(match.start(), end, number, word, second)


def _known_unit(word: str) -> str:
    """The word if it is a unit; of a text without spaces, the longest beginning of it that is one; else ""."""
    if units_of(word) or not word or word[0] < _FIRST_WITHOUT_SPACES:
        return word if units_of(word) else ""
    return next((word[:length] for length in (4, 3, 2, 1) if units_of(word[:length])), "")


def readings(figures: str) -> Sequence[Decimal]:
    """What a number in figures may mean: `1.250` is 1250 and 1.25, `1.234,5` is 1234.5 and `1,5` is 1.5."""
    marks = [character for character in figures if not character.isdecimal()]
    if not marks:
        return [Decimal(figures)]
    last = marks[-1]
    grouped = "".join(character for character in figures if character.isdecimal())
    whole, _, decimals = figures.rpartition(last)
    with_decimals = Decimal("".join(character for character in whole if character.isdecimal()) + "." + decimals)
    if last not in ".,":
        return [Decimal(grouped)]
    if len(set(marks)) > 1 or len(decimals) != 3:
        return [with_decimals]
    return [Decimal(grouped)] if len(marks) > 1 else [Decimal(grouped), with_decimals]


def _compound(text: str) -> Iterator[NumberMention]:
    """Yields `1h30` in minutes, and `6'2"` in inches."""
    for match in _HOURS_AND_MINUTES.finditer(text):
        minutes = Decimal(int(match["hours"]) * 60 + int(match["minutes"]))
        yield NumberMention(match.start(), match.end(), minutes, "min")
    for match in _FEET_AND_INCHES.finditer(text):
        inches = Decimal(int(match["feet"]) * 12 + int(match["inches"]))
        yield NumberMention(match.start(), match.end(), inches, "in")


def _parts(text: str) -> Iterator[NumberMention]:
    for match in _AND_A_PART.finditer(text):
        number = _small(match["count"]) + _PARTS[match["part"].lower()]
        yield NumberMention(match.start(), match.end(), number, match["unit"] or match["unit2"] or "")
    for match in _A_PART.finditer(text):
        name = fold(match["part"]).replace("-", " ").removeprefix("a ").removeprefix("one ")
        yield NumberMention(match.start(), match.end(), _PARTS[name], match["unit"] or "", is_part=True)
    for match in _SIGN.finditer(text):
        number = int(match["whole"] or 0) + Decimal(_SIGNS[match["sign"]])
        is_part = match["whole"] is None
        yield NumberMention(match.start(), match.end(), number, match["unit"] or "", is_part=is_part)

    for match in _ONE.finditer(text):
        if units_of(match["unit"]):
            yield NumberMention(match.start(), match.end(), Decimal(1), match["unit"])


def _small(word: str) -> Decimal:
    return Decimal(word) if word.isdecimal() else Decimal(_SMALL[word.lower()])


# --- number words ----------------------------------------------------------------------------------------------------


class _FoundNumber(Protocol):
    """A number that `text2num` found: its value, and its words from `start` to before `end`."""

    start: int
    end: int
    value: float


class _NumberWord:
    """A word, as `text2num` asks for it."""

    def __init__(self, match: re.Match[str], is_apart: bool) -> None:
        self.start, self.end = match.span()
        self._text, self._is_apart = match[0], is_apart

    def text(self) -> str:
        """The word as it is written."""
        return self._text

    def nt_separated(self, previous: object) -> bool:
        """Whether more than a space is between this word and the one before it."""
        del previous
        return self._is_apart

    def not_a_number_part(self) -> bool:
        """Whether the word is known to be no part of a number: none is."""
        return False


def _in_words(text: str) -> Iterator[NumberMention]:
    text = text[:_MAX_WORDS_LENGTH]
    words: list[_NumberWord] = []
    for match in _WORD.finditer(text):
        gap = text[words[-1].end : match.start()] if words else ""
        words.append(_NumberWord(match, gap not in ("", " ", "-")))
    for language in _LANGUAGES if words else ():
        for first, last, number in _numbers_of(words, language):
            start, end = words[first].start, words[last].end
            following = _NEXT_WORD.match(text, end)
            word, second = following.groups("") if following else ("", "")
            if units_of(word) or word.lower() in OF_CLOCKS:
                end += 1 + len(word)
            elif number < _LEAST_FOREIGN and language != "en":
                continue
            yield NumberMention(start, end, number, word, second)


def _in_numerals(text: str) -> Iterator[NumberMention]:
    text = text[:_MAX_WORDS_LENGTH]
    for start, end, number in numerals_in(text):
        following = _AFTER_NUMERAL.match(text, end)
        word = _known_unit(following[1]) if following is not None else ""
        yield NumberMention(start, following.start(1) + len(word) if word and following else end, number, word)


def _numbers_of(words: list[_NumberWord], language: str) -> Iterator[tuple[int, int, Decimal]]:
    """Yields each number in these words, with the places of its first and last word."""
    # Loaded only where a number in words may explain a value.
    from text_to_num import (  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs]
        find_numbers,  # pyright: ignore[reportUnknownVariableType]
    )

    return _places(find_numbers(words, language, 0.0))  # pyright: ignore[reportUnknownArgumentType]


def _places(found: Sequence[_FoundNumber]) -> Iterator[tuple[int, int, Decimal]]:
    for each in found:
        yield each.start, each.end - 1, Decimal(str(each.value))

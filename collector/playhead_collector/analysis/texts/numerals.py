"""[analysis]: numbers in Chinese and Japanese numerals, and in Russian words. Pure.

`spoken_numbers` has those of other languages.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from playhead_collector.analysis.texts.words import listed

_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"\u3007": 0, "两": 2, "兩": 2}
_TENS = {"十": 10, "百": 100, "千": 1_000}
_GROUPS = {"万": 10_000, "萬": 10_000, "亿": 100_000_000, "億": 100_000_000}
_HAN = re.compile(f"[{''.join((*_DIGITS, *_TENS, *_GROUPS))}]{{1,24}}+")
_RUSSIAN = {
    word: Decimal(value)
    for value, words in (
        *enumerate(
            listed(
                "один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать тринадцать "
                "четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать"
            ),
            1,
        ),
        *zip(
            range(20, 100, 10),
            listed("двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто"),
            strict=True,
        ),
        *zip(
            range(100, 1_000, 100),
            listed("сто двести триста четыреста пятьсот шестьсот семьсот восемьсот девятьсот"),
            strict=True,
        ),
        (1, "одна"),
        (2, "две"),
    )
    for word in words.split()
}
_RUSSIAN_SCALES = {
    word: Decimal(scale)
    for scale, words in ((1_000, "тысяча тысячи тысяч"), (1_000_000, "миллион миллиона миллионов"))
    for word in words.split()
}
_RUSSIAN_WORDS = "|".join(sorted((*_RUSSIAN, *_RUSSIAN_SCALES), key=len, reverse=True))
_RUSSIAN_NUMBER = re.compile(rf"(?<!\w)(?:{_RUSSIAN_WORDS})(?: (?:{_RUSSIAN_WORDS})){{0,8}}+(?!\w)", re.IGNORECASE)


def numerals_in(text: str) -> Iterator[tuple[int, int, Decimal]]:
    """Yields start, end and value of each number in Chinese or Japanese numerals, or in Russian words."""
    for match in _HAN.finditer(text):
        yield match.start(), match.end(), han_number(match[0])
    for match in _RUSSIAN_NUMBER.finditer(text):
        yield match.start(), match.end(), _russian(match[0].lower().split())


def han_number(numeral: str) -> Decimal:
    """The value of a Chinese numeral: 25 of `二十五`, 12000 of `一万二千`, 2025 of `二〇二五`."""
    if len(numeral) > 1 and all(character in _DIGITS for character in numeral):
        return Decimal("".join(str(_DIGITS[character]) for character in numeral))
    total, group, digit = 0, 0, 0
    for character in numeral:
        if character in _DIGITS:
            digit = _DIGITS[character]
        elif character in _TENS:
            group, digit = group + (digit or 1) * _TENS[character], 0
        else:
            total, group, digit = (total + (group + digit or 1)) * _GROUPS[character], 0, 0
    return Decimal(total + group + digit)


def _russian(words: list[str]) -> Decimal:
    total, group = Decimal(0), Decimal(0)
    for word in words:
        if word in _RUSSIAN:
            group += _RUSSIAN[word]
        else:
            total, group = total + (group or 1) * _RUSSIAN_SCALES[word], Decimal(0)
    return total + group

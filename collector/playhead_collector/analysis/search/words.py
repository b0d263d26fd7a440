"""[analysis]: splits a text into the words that are searched, and says where they stand.  Pure.

Words of languages with spaces are words. In scripts without spaces, and in Hangul, where endings are written on, each
character is a word of its own. So any piece of a sentence is found as a row of neighbouring words. An identifier such
as `getUserDetails` is one word, and its parts `get`, `User` and `Details` are words in the same place; the parts of
`get_user_details` are divided by signs and are words anyway.

Words are compared in one form: compatible characters are equal (full width, ligatures), as are upper and lower case.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

Lexemes = Mapping[str, str]
"""The lexeme of each form that has another one than itself; an empty one for words that are too common to be looked
for (`the`)."""
NO_LEXEMES: Final[Lexemes] = MappingProxyType({})

# Han, Kana, Bopomofo and Hangul; Thai, Lao, Myanmar and Khmer.
_UNSPACED = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u312f\u3131-\u318e"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d\U0001b000-\U0001b16f"
    "\U00020000-\U0003ffff\u1100-\u11ff\ua960-\ua97c\uac00-\ud7fb\uffa0-\uffdc"
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec6\u0edc-\u0edf"
    "\u1000-\u102a\u103f\u1050-\u1055\u105a-\u105d\u1061\u1065\u1066\u106e-\u1070\u1075-\u1081\u1780-\u17b3\u17d7\u17dc"
)
# `[^\W_]` has no marks: without them, words in Indic scripts would be split at each vowel sign. Marks for voiced sounds
# of half width stand beside them, and what joins letters without being seen.
_MARKS = "\u200c\u200d\ufe00-\ufe0f\uff9e\uff9f" + "".join(
    chr(code)
    for first, last in ((0x300, 0x1E00), (0x20D0, 0x2100), (0x3099, 0x309B), (0xA66F, 0xABF0), (0xFE20, 0xFE30))
    for code in range(first, last)
    if unicodedata.category(chr(code)) in ("Mn", "Mc")
)
# A syllable of Hangul may be written as two or three letters.
_WORD = re.compile(
    rf"[\u1100-\u115f][\u1160-\u11a7][\u11a8-\u11ff]?|[{_UNSPACED}][{_MARKS}]*|[^\W_{_UNSPACED}](?:[^\W_{_UNSPACED}]|[{_MARKS}])*"
)
# What may stand between two words that are joined.
_JOINTS = frozenset(("", *"_-./:@'\u2019\\#&+*=~"))
_LATIN = [chr(code) for code in range(0x250)]
_UPPER = "".join(letter for letter in _LATIN if letter.isupper())
_LOWER = "".join(letter for letter in _LATIN if letter.islower())
_PART_BORDER = re.compile(rf"(?<=[{_LOWER}0-9])(?=[{_UPPER}])|(?<=[{_UPPER}])(?=[{_UPPER}][{_LOWER}])")
# What casefold makes of the Turkish capital İ: an i and a combining dot. Without the dot, istanbul finds İstanbul.
_DOTTED = "i\u0307"
# Text with more parts is no identifier: encoded bytes, a token.
_MOST_PARTS = 8


class Word(NamedTuple):
    """A word of a text: its form, and where it stands.

    `start` and `end` are characters of the text. `place` and `following` count words: the next word has `following` as
    its place. Parts of an identifier have places of their own, so that the whole reaches over several.
    """

    form: str
    start: int
    end: int
    place: int
    following: int


def words_of(text: str) -> Iterator[Word]:
    """Yields the words of a text in order, an identifier before its parts."""
    place = 0
    for found in _WORD.finditer(text):
        word, start = found[0], found.start()
        parts = _parts_of(word)
        yield Word(form_of(word), start, found.end(), place, place + len(parts))
        if len(parts) > 1:
            for number, part in enumerate(parts):
                yield Word(form_of(part), start, start + len(part), place + number, place + number + 1)
                start += len(part)
        place += len(parts)


def form_of(word: str) -> str:
    """Returns the form in which a word is compared."""
    if word.isascii():
        return word.lower()
    return unicodedata.normalize("NFKC", word.casefold().replace(_DOTTED, "i"))


def _parts_of(word: str) -> Sequence[str]:
    if word.islower():
        return (word,)
    parts = _PART_BORDER.split(word)
    return parts if len(parts) <= _MOST_PARTS else (word,)


@dataclass(frozen=True, slots=True)
class WordedText:
    """The words of a text, by their places and by their lexemes. `joined`: places of words that follow the word before
    without a space, as in `2024-05-20` and `get_user`, or as neighbouring characters."""

    by_place: Mapping[int, Sequence[Word]]
    by_lexeme: Mapping[str, Sequence[Word]]
    joined: Set[int]


def worded(text: str, lexemes: Lexemes = NO_LEXEMES) -> WordedText:
    """Splits a text into words."""
    by_place, by_lexeme = defaultdict[int, list[Word]](list), defaultdict[str, list[Word]](list)
    joined, place, end = set[int](), 0, 0
    for word in words_of(text):
        by_place[word.place].append(word)
        by_lexeme[lexeme_of(word, lexemes)].append(word)
        if word.place >= place:  # not a part of the word before
            if place and text[end : word.start] in _JOINTS:
                joined.add(word.place)
            joined.update(range(word.place + 1, word.following))
            place, end = word.following, word.end
    return WordedText(dict(by_place), dict(by_lexeme), joined)


def lexeme_of(word: Word, lexemes: Lexemes) -> str:
    """Returns the text as which a word is compared: its lexeme; the word itself, if it is a common one."""
    return lexemes.get(word.form) or word.form

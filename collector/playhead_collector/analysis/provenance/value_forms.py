"""[analysis]: occurrences of a value in another form: with other separators, or without a prefix.

The index already compares words without case, accents, quotes and separators (see `words`). This module finds the other
forms:

| in the context | in the call |
|---|---|
| 555-123-4567, (555) 123 4567 | 5551234567, and the other way round |
| 1.250 or 1 250 | 1250 |
| round trip | roundTrip, and the other way round |
| 9502126 | #W9502126: a mark and up to three letters before a long number, and the other way round |

Pure.
"""

from dataclasses import dataclass
from itertools import pairwise

from playhead_collector.analysis.texts.passages import USER, ContextIndex, Hit, hit_at
from playhead_collector.analysis.texts.words import fold, words_in
from playhead_collector.analysis.transcript.arguments import Scalar, TracedCall, definition_passage

# Shorter numbers and words occur in many places by chance.
_MIN_DIGITS, _MIN_LETTERS, _MAX_PREFIX_LENGTH = 5, 6, 3
_MAX_LENGTH = 256
_LARGEST = 10**64  # str() refuses integers of more than 4,300 digits
_MARKS = "#№"
_THOUSANDS = frozenset(".' \u2019\u00a0\u202f")


@dataclass(frozen=True, slots=True)
class OtherForm:
    """Occurrences of a value in another form. `note` says what differs."""

    hits: list[Hit]
    note: str = ""


def other_forms(index: ContextIndex, traced: TracedCall, value: Scalar) -> OtherForm:
    """Finds occurrences of the value in another form. Finds none for values so short that a match would be chance."""
    if isinstance(value, bool | float | None) or (isinstance(value, int) and abs(value) >= _LARGEST):
        return OtherForm([])
    text = str(value)
    if len(text) > _MAX_LENGTH:
        return OtherForm([])
    words = [word for word, _, _ in words_in(text)]
    squashed = "".join(words)
    hits = [hit for hit in index.written_apart(squashed, traced.visible) if hit.whole and _tells(hit, words)]
    if hits:
        return OtherForm(hits)
    digits = words[-1] if words else ""
    if len(digits) < _MIN_DIGITS or not digits.isdecimal():
        return OtherForm([])
    before = text.strip().removesuffix(digits)
    if not before.strip(_MARKS):
        return _with_prefix(index, traced, digits)
    return _without_prefix(index, traced, before, digits)


def _tells(hit: Hit, words: list[str]) -> bool:
    """Whether the match is split into other words than `words`, and is long enough not to be chance.

    At least 6 characters with letters, or 5 digits, or 4 digits with a thousands separator.
    """
    found_words = list(words_in(hit.text))
    groups, squashed = [word for word, _, _ in found_words], "".join(words)
    if groups == words:
        return False
    if not squashed.isdecimal():
        return len(squashed) >= _MIN_LETTERS
    thousands = len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:])
    between = {hit.text[left[2] : right[1]] for left, right in pairwise(found_words)}
    return len(squashed) >= _MIN_DIGITS or (len(squashed) == 4 and thousands and between <= _THOUSANDS)


def _with_prefix(index: ContextIndex, traced: TracedCall, digits: str) -> OtherForm:
    """Finds a number with up to three letters before it: `W9502126` for `9502126`."""
    hits: list[Hit] = []
    for hit in index.find([digits], traced.visible):
        text, start = hit.passage.text, hit.start
        while start > 0 and hit.start - start <= _MAX_PREFIX_LENGTH and text[start - 1].isalpha():
            start -= 1
        if 0 < hit.start - start <= _MAX_PREFIX_LENGTH:
            form = hit_at(hit.passage, start, hit.end)
            hits += [form] if form.whole else []
    return OtherForm(hits, "written without the letters before it" if hits else "")


def _without_prefix(index: ContextIndex, traced: TracedCall, before: str, digits: str) -> OtherForm:
    """Finds a number without its prefix: `9502126` for `#W9502126`.

    Finds it in users' words only, unless the context or the tool's definition has numbers with this prefix.
    """
    letters = fold(before.lstrip(_MARKS))
    if not letters.isalpha() or len(letters) > _MAX_PREFIX_LENGTH:
        return OtherForm([])
    occurrences = [hit for hit in index.find([digits], traced.visible) if hit.whole]
    if not _is_usual(index, traced, letters, len(digits)):
        occurrences = [hit for hit in occurrences if hit.passage.source == USER]
    return OtherForm(occurrences, f"said without {before!r}" if occurrences else "")


def _is_usual(index: ContextIndex, traced: TracedCall, letters: str, length: int) -> bool:
    """Whether the context or the tool's definition has numbers of this length with these letters before them."""
    places = [(hit.passage.text, hit.end) for hit in index.find([letters], traced.visible)]
    if traced.definition is not None:
        text = definition_passage(traced.definition, None).text
        places += [(text, end) for word, _, end in words_in(text) if word == letters]
    numbers = (text[end : end + length + 1] for text, end in places)
    return any(number[:length].isdecimal() and not number[length:].isdecimal() for number in numbers)

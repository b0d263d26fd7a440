"""[analysis]: values that are in the context in another form, or that are derived from texts in it.  Pure.

The index already compares words without case, accents, quotes and separators (see `texts.words`). `other_forms` finds
the other forms:

| in the context | in the call |
|---|---|
| 555-123-4567, (555) 123 4567 | 5551234567, and the other way round |
| 1.250 or 1 250 | 1250 |
| round trip | roundTrip, and the other way round |
| 9502126 | #W9502126: a mark and up to three letters before a long number, and the other way round |

Each rule for a derived value is one function, which returns a `Derivation`, or None if it does not match. This module
has the rules for texts; `derived_dates` has those for dates, `computed_numbers` those for numbers.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from playhead_collector.analysis.provenance import rules
from playhead_collector.analysis.rules import StrengthRule
from playhead_collector.analysis.texts.passages import ASSISTANT, RESULT, SYSTEM, USER, ContextIndex, Hit, hit_at
from playhead_collector.analysis.texts.words import fold, words_in
from playhead_collector.analysis.transcript.arguments import Scalar, TracedCall, definition_passage

# --- other forms -----------------------------------------------------------------------------------------------------

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
    hits = [hit for hit in index.written_apart(squashed, traced.visible) if hit.whole and _is_telling(hit, words)]
    if hits:
        return OtherForm(hits)
    digits = words[-1] if words else ""
    if len(digits) < _MIN_DIGITS or not digits.isdecimal():
        return OtherForm([])
    before = text.strip().removesuffix(digits)
    if not before.strip(_MARKS):
        return _with_prefix(index, traced, digits)
    return _without_prefix(index, traced, before, digits)


def _is_telling(hit: Hit, words: list[str]) -> bool:
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


# --- derived from texts ----------------------------------------------------------------------------------------------

_MIN_PIECE = 3


@dataclass(frozen=True, slots=True)
class Derivation:
    """Result of a rule: how the value is derived (`how`, `note`), from which occurrences, and by which rule."""

    how: str
    note: str
    hits: tuple[Hit, ...]
    rule: StrengthRule


def derive_part(index: ContextIndex, traced: TracedCall, value: str) -> Derivation | None:
    """Derives the value as a part of a longer word or identifier."""
    words = [word for word, _, _ in words_in(value)]
    hits = [hit for hit in index.find(words, traced.visible) if not hit.whole]
    if not hits and len(words) == 1 and len(words[0]) > _MIN_PIECE:
        hits = index.containing(words[0], traced.visible)
    ordered = hits_from(hits, USER, RESULT, ASSISTANT, SYSTEM)
    return Derivation("part", "part of a longer text", (ordered[0],), rules.PART) if ordered else None


def derive_joined(index: ContextIndex, traced: TracedCall, value: str) -> Derivation | None:
    """Derives the value as 2 to 8 words that occur separately.

    A value without spaces (an identifier) must have all its words in one text of a user: parts of several identifiers
    are no evidence.
    """
    words = [word for word, _, _ in words_in(value)]
    if not 2 <= len(words) <= 8:
        return None
    parts: list[Hit] = []
    for word in words:
        hits = hits_from(index.find([word], traced.visible), USER, RESULT)
        if not hits:
            return None
        parts.append(hits[0])
    together = len({hit.passage for hit in parts}) == 1
    if " " not in value.strip() and not (together and parts[0].passage.source == USER):
        return None
    telling = any(len(word) >= _MIN_PIECE for word in words)
    rule = rules.JOINED if together else rules.JOINED_FROM_TEXTS
    return Derivation("joined", "its words were said apart", tuple(parts), rule) if telling else None


def derive_abbreviation(index: ContextIndex, traced: TracedCall, value: str) -> Derivation | None:
    """Derives an abbreviation of 2 to 5 capitals: the beginning of a capitalised word (`SEA` of Seattle), or initials
    (`NYC` of New York City).
    """
    if not (value.isalpha() and value.isupper() and 2 <= len(value) <= 5):
        return None
    low = value.lower()
    longer = index.words_matching(
        ("longer", low), lambda word: len(word) > len(low) and word.startswith(low), traced.visible
    )
    hits = [hit for hit in hits_from(longer, USER, RESULT) if hit.text[0].isupper()]
    hits += [hit for hit in _initials(index, traced, low) if hit not in hits]
    return Derivation("abbreviation", "short for what was said", (hits[0],), rules.ABBREVIATION) if hits else None


def _initials(index: ContextIndex, traced: TracedCall, low: str) -> list[Hit]:
    matches: list[Hit] = []
    for hit in hits_from(
        index.words_matching(("first", low[0]), lambda word: word.startswith(low[0]), traced.visible), USER
    ):
        rest = list(words_in(hit.passage.text[hit.start : hit.start + 60]))[: len(low)]
        spelled = "".join(word[0] for word, _, _ in rest)
        starts = [hit.passage.text[hit.start + start] for _, start, _ in rest]
        if spelled == low and all(map(str.isupper, starts)):
            matches.append(Hit(hit.passage, hit.start, hit.start + rest[-1][2]))
    return matches


def hits_from(hits: Iterable[Hit], *sources: str) -> list[Hit]:
    """The hits from these sources, in the order of the sources."""
    all_hits = list(hits)
    return [hit for source in sources for hit in all_hits if hit.passage.source == source]

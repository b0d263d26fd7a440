"""[analysis]: values that do not occur in the context, but can be derived from it. Pure.

Each rule is one function that returns a `Derivation`, or None if it does not match. This module has the rules for
texts; `derived_dates` has those for dates, `computed_numbers` those for numbers.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from playhead_collector.analysis.provenance import rules
from playhead_collector.analysis.rules import StrengthRule
from playhead_collector.analysis.texts.passages import ASSISTANT, RESULT, SYSTEM, USER, ContextIndex, Hit
from playhead_collector.analysis.texts.words import words_in
from playhead_collector.analysis.transcript.arguments import TracedCall

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

"""[analysis]: traces each fact in texts that the model wrote itself (summaries, queries, formulas).

Facts are numbers, dates, identifiers, addresses, quotations and names. A text is `derived` if the context has at least
half of its facts, whatever its wording; facts that occur nowhere are `unfounded`. A text without facts is `derived` if
the context has enough of its longer words. Any other text is `invented`. Pure.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice

from playhead_collector.analysis.provenance import computed_numbers, derived_dates, rules, spoken_values
from playhead_collector.analysis.provenance.derived_values import Derivation, other_forms
from playhead_collector.analysis.rules import StrengthRule
from playhead_collector.analysis.texts.passages import RESULT, USER, ContextIndex, Hit, Visible
from playhead_collector.analysis.texts.words import SMALL, numbers_in, plain_number, read_date, words_in
from playhead_collector.analysis.transcript.arguments import TracedCall, is_distinctive

_MIN_WORDS = 4
# Facts that are traced per text: a file that a model wrote may have tens of thousands, and each one is a search.
_MAX_FACTS = 1_000
_FACT = re.compile(
    r"(?P<address>\b[\w.+-]{1,64}+@[\w-]{1,64}+\.\w{1,64}|\bhttps?://\S{1,2000}|(?<!\w)(?:/[\w.-]{1,255}+){2,32}+)"
    r"|(?P<quote>\"[^\"\n]{3,120}\"|“[^”\n]{3,120}”)"
    r"|(?P<date>\b\d{4}-\d\d-\d\d\b)"
    r"|(?P<identifier>\b(?=\w{0,127}\d)(?=\w{0,127}[^\W\d])\w{3,128}+\b)"
    r"|(?P<name>(?<=[\w,] )[A-Z][\w'-]{2,64})"
)
_OF_A_FORMULA = frozenset("0123456789 \t\r\n.,+*/()%^-")
_OPERATION = re.compile(r"\d[\s.,]{0,16}+[+*/%^-]")
_ORDINAL = re.compile(r"\d{1,9}+(?:st|nd|rd|th)", re.IGNORECASE)
# Least length of a content word, since shorter words occur in every text; least share of them that must be known.
_LONG, _MIN_KNOWN = 5, 0.3


@dataclass(frozen=True, slots=True)
class Composed:
    """Result for one text: evidence and number of its known facts, the unknown ones, and the share of known words."""

    hits: tuple[Hit, ...]
    unfounded: list[str]
    founded: int
    known_words: float
    formula: bool = False

    @property
    def is_baseless(self) -> bool:
        """Whether most of its facts occur nowhere; without facts, whether the context has few of its longer words."""
        if self.founded or self.unfounded:
            return len(self.unfounded) > self.founded
        return not self.formula and self.known_words < _MIN_KNOWN

    @property
    def rule(self) -> StrengthRule:
        """The rule, by the share of known facts or, without facts, of known words."""
        if not (self.founded or self.unfounded):
            return rules.WORDING_UNKNOWN if self.is_baseless else rules.WORDING_KNOWN
        if self.is_baseless:
            return rules.FACTS_UNKNOWN
        return rules.FACTS_MOSTLY_KNOWN if self.unfounded else rules.FACTS_KNOWN

    @property
    def note(self) -> str:
        """The result as a sentence."""
        facts = self.founded + len(self.unfounded)
        if not facts:
            return f"the model's wording, without facts; {self.known_words:.0%} of its longer words are in the context"
        return f"the model's wording; {self.founded} of its {facts} facts are in the context"


def is_composed(text: str) -> bool:
    """Whether the text has 4 words or more, or is a formula, so that its facts are traced. A date is neither."""
    if read_date(text) is not None:
        return False
    worded = len(list(words_in(text))) >= _MIN_WORDS and " " in text.strip()
    return worded or _is_formula(text)


def _is_formula(text: str) -> bool:
    """Whether the text consists only of numbers and operators; `555-123-4567` is a number and no formula."""
    if text.count("-") > 1 and text.replace("-", "").isdecimal():
        return False
    return _OF_A_FORMULA.issuperset(text) and _OPERATION.search(text) is not None


def trace_facts(index: ContextIndex, traced: TracedCall, path: str, text: str) -> Composed:
    """Traces each fact of the text, at most 1,000."""
    hits: list[Hit] = []
    unfounded: list[str] = []
    founded = 0
    numbers: dict[Decimal, Hit] = {}
    facts = list(islice(dict.fromkeys(facts_in(text)), _MAX_FACTS))
    for fact in facts:
        basis = find_basis(index, traced, path, fact)
        if basis is None:
            unfounded.append(fact)
        else:
            hits += basis
            founded += 1
            if (plain := _number(fact)) is not None:
                numbers[Decimal(plain)] = basis[0]
    worked_out = [fact for fact in unfounded if (plain := _number(fact)) and _follows(plain, numbers)]
    unfounded = [fact for fact in unfounded if fact not in worked_out]
    founded += len(worked_out)
    longer = {word for word, _, _ in words_in(text) if len(word) >= _LONG}
    known_share = sum(index.has(word, traced.visible) for word in longer) / len(longer) if longer else 0.0
    return Composed(tuple(dict.fromkeys(hits)), unfounded, founded, known_share, _is_formula(text))


def facts_in(text: str) -> Iterator[str]:
    """Yields the facts of a text as they are written: first by pattern (addresses, quotations, ...), then numbers."""
    covered: list[tuple[int, int]] = []
    for match in _FACT.finditer(text):
        if match.lastgroup == "identifier" and _ORDINAL.fullmatch(match[0]):
            continue
        covered.append(match.span())
        yield match[0].strip('"“”').rstrip(".,;")
    for plain, start, end in numbers_in(text):
        before = bisect_right(covered, (start, len(text) + 1)) - 1
        if plain.lstrip("-") not in SMALL and not (before >= 0 and start < covered[before][1]):
            yield text[start:end].lstrip("-")


def find_basis(index: ContextIndex, traced: TracedCall, path: str, fact: str) -> tuple[Hit, ...] | None:
    """Returns the occurrence of a fact, or the occurrences from which it is derived; None if there are neither."""
    words = [word for word, _, _ in words_in(fact)]
    hits = _preferred(index.find(words, traced.visible))
    plain = _number(fact)
    if plain is not None:
        hits = _preferred(index.number(plain, traced.visible)) or hits
    hits = hits or _preferred(other_forms(index, traced, fact).hits)
    if hits:
        return (hits[0],)
    date = read_date(fact)
    follows = (
        derived_dates.derive_date(index, traced, date, ("user", "tool_result", "assistant", "system")) if date else None
    )
    if follows is None and plain is not None:
        follows = computed_numbers.derive_number(index, traced, path, plain) or _hour(index, traced, plain)
    if follows is None and plain is not None:
        follows = spoken_values.derive_said_number(index, traced, path, plain)
    if follows is None and date is not None:
        follows = spoken_values.derive_said_date(index, traced, date)
    return follows and follows.hits


def _number(fact: str) -> str | None:
    return plain_number(fact.replace(",", ""))


def _follows(plain: str, numbers: Mapping[Decimal, Hit]) -> bool:
    """Whether the text computes the number from other numbers in it."""
    total = sum(numbers, Decimal(0))
    return (
        Decimal(plain) == total
        or computed_numbers.simplest_computation(plain, computed_numbers.computations_of(Decimal(plain), numbers))
        is not None
    )


def _hour(index: ContextIndex, traced: TracedCall, plain: str) -> Derivation | None:
    """Derives a number as the hours or minutes of a time of day: 13 of `13:00`."""
    if not (plain.isdigit() and len(plain) <= 2):
        return None
    times = [
        hit
        for hit in index.find([plain.zfill(2)], traced.visible)
        if ":" in (hit.passage.text[hit.end : hit.end + 1], hit.passage.text[hit.start - 1 : hit.start])
    ]
    return Derivation("part", "part of a time of day", (times[-1],), rules.PART) if times else None


def _preferred(hits: list[Hit]) -> list[Hit]:
    """Sorts hits: users' words and results before the agent's own words."""
    return sorted(hits, key=lambda hit: hit.passage.source not in (USER, RESULT))


def cited(index: ContextIndex, visible: Visible, text: str) -> Iterator[tuple[str, Hit]]:
    """Yields the facts of a text that occur in users' words or in results, with their first occurrence."""
    for fact in islice(dict.fromkeys(facts_in(text)), _MAX_FACTS):
        plain = _number(fact)
        words = [word for word, _, _ in words_in(fact)]
        hits = index.number(plain, visible) if plain is not None else index.find(words, visible)
        matches = [hit for hit in hits if hit.whole and hit.passage.source in (USER, RESULT)]
        if matches and is_distinctive(fact):
            yield fact, matches[0]

"""Finds the source of each value in a tool call's arguments. Pure.

The first of these rules that matches gives the answer. `rules.py` has their names and strengths.

| the value | where it occurs | source, how |
|---|---|---|
| code or a command | its literals and names are traced (see `source_code.py`) | derived, code |
| a long text or a formula | each fact in it is traced (see `composed_texts.py`) | derived, composed |
| small (under 13, yes/no, true/false) | near a word like the argument's name (see `small_values.py`) | any |
| any | in a user's words | user, exact or normalised |
| a date | in a user's words in another form | derived, date_format |
| any | in a tool's result, as all of it, under the argument's name or near other values of the call | tool_result |
| a date | can be derived from a user's words | derived, date_format, date_range, date_shift |
| a number | can be computed from other numbers in few ways | derived, computed |
| any | anywhere in a tool's result | tool_result |
| a value that the tool's definition lists, or its default | only there | derived, enum or default |
| a date | can be derived from any message | derived, date_format, date_range, date_shift |
| a number | can be computed from other numbers in many ways | derived, computed |
| any | in the agent's own earlier words; then in a system message | assistant; system |
| a text | part of a longer word, in separate words, or abbreviated | derived, part, joined, abbreviation |
| a number, a time, a date | said in words, in another unit or language, as a share (see `spoken_values.py`) | derived |
| a code | its name or sign was said: `$20` for USD, "French" for fr (see `code_names.py`) | derived, abbreviation |
| any | only in the tool's definition (often in its examples) | definition |
| a word of code | nowhere | not_found |
| any | nowhere | invented |

A match may differ in case, accents, white space, quotes, separators and a short prefix of a number (see
`value_forms.py`). It is then reported as `normalised`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from playhead_collector.analysis.provenance import (
    code_names,
    composed_texts,
    computed_numbers,
    derived_dates,
    derived_values,
    rules,
    small_values,
    source_code,
    spoken_values,
)
from playhead_collector.analysis.provenance.code_words import is_code_word
from playhead_collector.analysis.provenance.derived_values import Derivation, OtherForm, other_forms
from playhead_collector.analysis.provenance.source_code import Literal
from playhead_collector.analysis.provenance.subjects import SubjectMismatch, Subjects
from playhead_collector.analysis.rules import StrengthRule
from playhead_collector.analysis.texts.limits import readable
from playhead_collector.analysis.texts.passages import (
    ASSISTANT,
    DEFINITION,
    RESULT,
    SYSTEM,
    USER,
    ContextIndex,
    Hit,
    in_order,
)
from playhead_collector.analysis.texts.words import fold, plain_number, read_date, read_number, words_in, written
from playhead_collector.analysis.transcript.arguments import (
    Scalar,
    TracedCall,
    definition_passage,
    is_distinctive,
    is_identifier,
)

DERIVED, INVENTED, NOT_FOUND, PROGRAM = "derived", "invented", "not_found", "program"
EXACT, NORMALISED = "exact", "normalised"
_SAID = {USER: rules.USER_SAID, RESULT: rules.BESIDE_IN_RESULT, ASSISTANT: rules.AGENT_SAID, SYSTEM: rules.SYSTEM_SAID}
# Computations that come before an occurrence in a result without related values, and all computations.
_BEFORE_RESULTS = frozenset((rules.COMPUTED, rules.COMPUTED_INDIRECTLY, rules.COMPUTED_AMBIGUOUSLY))
_COMPUTATIONS = _BEFORE_RESULTS | {rules.COMPUTED_BY_CHANCE}
_LONG_WORDS = 5
_CODE_WORD = "stands nowhere in the context, and is a usual word of code"
_NOWHERE = "stands nowhere in the context, and follows from nothing there"


@dataclass(frozen=True, slots=True)
class Origin:
    """Source of a value. `first`, `last`: its first and last occurrence in the context, from any source, or None."""

    path: str
    value: Scalar
    source: str
    how: str
    rule: StrengthRule
    note: str = ""
    evidence: tuple[Hit, ...] = ()
    first: Hit | None = None
    last: Hit | None = None
    unfounded: tuple[str, ...] = ()
    subject_mismatch: SubjectMismatch | None = None
    literals: tuple[Literal, ...] = ()

    @property
    def sources(self) -> list[str]:
        """The distinct sources of the evidence."""
        return list(dict.fromkeys(hit.passage.source for hit in self.evidence))


def trace_values(index: ContextIndex, traced: TracedCall) -> list[Origin]:
    """Returns the origin of each value of a call."""
    origins: list[Origin] = []
    subjects = Subjects(index, traced)
    for number, (path, value) in enumerate(traced.values):
        read = readable(value, None, number) if isinstance(value, str) else value
        origin = _ValueTracer(index, traced, path, read, subjects).origin()
        origins.append(origin if read is value else replace(origin, value=value))
    return origins


@dataclass(frozen=True, slots=True)
class _ValueTracer:
    index: ContextIndex
    traced: TracedCall
    path: str
    value: Scalar
    subjects: Subjects

    def origin(self) -> Origin:
        if isinstance(self.value, str) and source_code.is_code(self.path, self.value):
            return self._code(self.value)
        if isinstance(self.value, str) and composed_texts.is_composed(self.value):
            return self._text(self.value)
        if small_values.is_trivial_value(self.value):
            return self._trivial_value()
        hits = self._exact_hits()
        form = OtherForm([]) if any(hit.whole for hit in hits) else other_forms(self.index, self.traced, self.value)
        hits = in_order([*hits, *form.hits], self.traced.visible)
        for rule in self._rules(hits):
            origin = rule()
            if origin is not None:
                return self._with_subject_note(origin, hits, form.note if origin.how == NORMALISED else origin.note)
        return self._nowhere(rules.NOWHERE, _NOWHERE, hits)

    def _nowhere(self, rule: StrengthRule, note: str, hits: Sequence[Hit]) -> Origin:
        """Returns the origin of a value that has none: invented, or only not found if it is a word of code."""
        if is_code_word(self.value):
            return self._as(NOT_FOUND, "nowhere", rules.WORD_OF_CODE, _CODE_WORD, hits)
        return self._as(INVENTED, "nowhere", rule, note, hits)

    def _with_subject_note(self, origin: Origin, hits: Sequence[Hit], note: str) -> Origin:
        """Returns `origin` with a note if the value occurs only with another subject."""
        another = None
        if origin.source in (RESULT, ASSISTANT):
            another = self.subjects.mismatch(self.path, self.value, [hit for hit in hits if hit.whole])
        return replace(origin, note=another.note if another else note, subject_mismatch=another)

    def _rules(self, hits: list[Hit]) -> Iterable[Callable[[], Origin | None]]:
        whole = [hit for hit in hits if hit.whole]
        results = [hit for hit in whole if hit.passage.source == RESULT]
        related = sorted(
            (hit for hit in results if self.traced.relatedness(hit, self.path)),
            key=lambda hit: -self.traced.relatedness(hit, self.path),
        )
        computation = cache(self._computed)  # two rules use it
        alone = rules.IDENTIFIER_IN_RESULT if is_identifier(self.value) else rules.ALONE_IN_RESULT
        listed = self.value in small_values.alternatives(self.traced, self.path)
        return (
            lambda: self._stands(whole, USER),
            lambda: self._follows(self._date((USER,)), hits, _is_strong),
            lambda: self._stands(related, RESULT, hits, rules.LISTED_IN_RESULT if listed else None),
            lambda: self._follows(self._date((USER,)), hits),
            lambda: self._follows(computation(), hits, _BEFORE_RESULTS.__contains__),
            lambda: self._stands(results, RESULT, hits, alone),
            lambda: self._follows(small_values.allowed_by_definition(self.traced, self.path, self.value), hits),
            lambda: self._follows(self._date((USER, RESULT, ASSISTANT, SYSTEM)), hits),
            lambda: self._follows(computation(), hits, _COMPUTATIONS.__contains__),
            lambda: self._stands(whole, ASSISTANT),
            lambda: self._stands(whole, SYSTEM),
            lambda: self._follows(self._piecewise(), hits),
            lambda: self._follows(self._said_otherwise(), hits),
            self._defined,
        )

    # --- occurrences --------------------------------------------------------------------------------------------------

    def _exact_hits(self) -> list[Hit]:
        """Occurrences of the value, as a number or as words, outside longer values that the definition lists."""
        text = written(self.value)
        words = [word for word, _, _ in words_in(text)]
        matches = self.index.find(words, self.traced.visible) if isinstance(self.value, str) else []
        plain = self._plain()
        numbers = self.index.number(plain, self.traced.visible) if plain is not None else []
        hits = in_order({(hit.passage, hit.start): hit for hit in (*numbers, *matches)}.values(), self.traced.visible)
        longer = [
            fold(other) for other in small_values.alternatives(self.traced, self.path) if fold(text) in fold(other)
        ]
        return [
            hit
            for hit in hits
            if not _within_other(hit, [alternative for alternative in longer if alternative != fold(text)])
        ]

    def _stands(
        self, hits: Sequence[Hit], source: str, all_hits: Sequence[Hit] = (), rule: StrengthRule | None = None
    ) -> Origin | None:
        from_source = [hit for hit in hits if hit.passage.source == source]
        if not from_source:
            return None
        how = EXACT if any(map(self._is_exact, from_source)) else NORMALISED
        if source in (ASSISTANT, SYSTEM):
            from_source.sort(key=lambda hit: -self.traced.affinity(hit, self.path))
        return self._as(source, how, rule or _SAID[source], "", all_hits or hits, (from_source[0],))

    def _is_exact(self, hit: Hit) -> bool:
        text = written(self.value)
        places = list(words_in(text)) or [("", 0, len(text))]
        start, end = hit.start - places[0][1], hit.end + len(text) - places[-1][2]
        return hit.passage.text[max(0, start) : end] == text or hit.text == text

    def _plain(self) -> str | None:
        if isinstance(self.value, str):
            return read_number(self.value)
        return None if isinstance(self.value, bool | None) else plain_number(self.value)

    # --- derivations --------------------------------------------------------------------------------------------------

    def _date(self, sources: Sequence[str]) -> Derivation | None:
        date = read_date(self.value) if isinstance(self.value, str) else None
        return derived_dates.derive_date(self.index, self.traced, date, sources) if date else None

    def _computed(self) -> Derivation | None:
        plain = self._plain()
        return computed_numbers.derive_number(self.index, self.traced, self.path, plain) if plain else None

    def _piecewise(self) -> Derivation | None:
        if not isinstance(self.value, str) or not is_distinctive(self.value):
            return None
        rules = (derived_values.derive_part, derived_values.derive_joined, derived_values.derive_abbreviation)
        return next((derivation for rule in rules if (derivation := rule(self.index, self.traced, self.value))), None)

    def _said_otherwise(self) -> Derivation | None:
        plain = self._plain()
        if plain is not None:
            period = spoken_values.derive_said_period(self.index, self.traced, self.path, plain)
            return period or spoken_values.derive_said_number(self.index, self.traced, self.path, plain)
        if not isinstance(self.value, str):
            return None
        date = read_date(self.value)
        if date is not None:
            return spoken_values.derive_said_date(self.index, self.traced, date)
        return (
            spoken_values.derive_said_quantity(self.index, self.traced, self.path, self.value)
            or spoken_values.derive_said_time(self.index, self.traced, self.value)
            or code_names.derive_code(self.index, self.traced, self.path, self.value)
        )

    def _defined(self) -> Origin | None:
        definition = self.traced.definition
        if definition is None or not isinstance(self.value, str):
            return None
        passage = definition_passage(definition, None)
        place = passage.text.find(self.value)
        # Words of code prove nothing: `string` stands in each definition, and `desc` in each description.
        if place < 0 or not is_distinctive(self.value) or is_code_word(self.value):
            return None
        hit = Hit(passage, place, place + len(self.value))
        return self._as(DEFINITION, EXACT, rules.DEFINITION_ONLY, "stands in the tool's definition only", (), (hit,))

    def _trivial_value(self) -> Origin:
        result = small_values.trace_trivial_value(self.index, self.traced, self.path, self.value)
        if result is None:
            said = self._follows(self._said_otherwise(), ())
            return said or self._nowhere(rules.SMALL_NOWHERE, "a small value that nobody spoke of", ())
        source, derivation = result
        return self._as(source, derivation.how, derivation.rule, derivation.note, (), derivation.hits)

    def _text(self, text: str) -> Origin:
        copied = self._copied()
        if copied is not None:
            return copied
        composed = composed_texts.trace_facts(self.index, self.traced, self.path, text)
        source = INVENTED if composed.is_baseless else DERIVED
        return self._as(source, "composed", composed.rule, composed.note, (), composed.hits, tuple(composed.unfounded))

    def _code(self, text: str) -> Origin:
        """Returns the origin of code: copied from another text, or written by the model, with its literals traced."""
        copied = self._copied()
        if copied is not None:
            return copied
        literals = source_code.literals_of(self.index, self.traced, self.path, text)
        hits = tuple(dict.fromkeys(literal.hit for literal in literals if literal.hit is not None))
        nowhere = tuple(literal.text for literal in literals if literal.hit is None)
        known_count = len(literals) - len(nowhere)
        note = f"code that the model wrote; {known_count} of its {len(literals)} literals and names are in the context"
        return replace(
            self._as(DERIVED, "code", _code_rule(known_count, len(literals)), note, (), hits, nowhere),
            literals=tuple(literals),
        )

    def _copied(self) -> Origin | None:
        """Returns the origin of a text of 5 words or more that occurs as a whole in the context, else None."""
        hits = self._exact_hits() if len(list(words_in(written(self.value)))) >= _LONG_WORDS else []
        origins = (self._stands(hits, source) for source in (USER, RESULT, ASSISTANT, SYSTEM))
        return next((origin for origin in origins if origin), None)

    def _follows(
        self, derivation: Derivation | None, hits: Sequence[Hit], accepts: Callable[[StrengthRule], bool] | None = None
    ) -> Origin | None:
        if derivation is None or not (accepts is None or accepts(derivation.rule)):
            return None
        return self._as(DERIVED, derivation.how, derivation.rule, derivation.note, hits, derivation.hits)

    def _as(
        self,
        source: str,
        how: str,
        rule: StrengthRule,
        note: str,
        hits: Sequence[Hit],
        evidence: tuple[Hit, ...] = (),
        unfounded: tuple[str, ...] = (),
    ) -> Origin:
        stands = hits or (() if source == DERIVED else evidence)
        places = in_order([hit for hit in stands if hit.passage.source != DEFINITION], self.traced.visible)
        first, last = (places[0], places[-1]) if places else (None, None)
        return Origin(self.path, self.value, source, how, rule, note, evidence, first, last, unfounded)


def _is_strong(rule: StrengthRule) -> bool:
    return rule.strength == "strong"


def _code_rule(known_count: int, total: int) -> StrengthRule:
    if not total or known_count * 2 < total:
        return rules.CODE_UNKNOWN
    return rules.CODE_KNOWN if known_count == total else rules.CODE_MOSTLY_KNOWN


def _within_other(hit: Hit, longer: Sequence[str]) -> bool:
    """Whether the hit is part of one of these longer texts: `economy` in `basic economy`."""
    low, high = hit.around(max(map(len, longer), default=0))
    near = " ".join(word for word, _, _ in words_in(hit.passage.text[low:high]))
    return any(" ".join(word for word, _, _ in words_in(other)) in near for other in longer)

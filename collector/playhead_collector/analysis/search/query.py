"""[analysis]: the words that a search asks for: parsed, as terms for the index, and found in a text.  Pure.

The syntax is that of web search engines: words that must all be there, `"a phrase"`, `or`, `-not`. `or` divides
alternatives. A piece that is several words (`get_user`, a date, a sentence of Chinese) is a phrase.
"""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, product

from playhead_collector.analysis.search.text_terms import is_common, pair_term, word_term
from playhead_collector.analysis.search.words import Lexemes, Word, WordedText, lexeme_of, worded

# Signs of minus are taken as a whole or not at all, so that many of them are gone through once.
_PIECE = re.compile(r'(?<!-)(?P<minus>-*+)(?:"(?P<phrase>[^"]*)(?:"|$)|(?P<plain>[^\s"]+))')
# Identifiers of an alternative that the index is asked for, as a whole and by their parts. Further ones are looked for
# in the texts only.
_MOST_IDENTIFIERS = 3
# Terms of a long query that are looked up: a text that has these by chance is rare.
_MOST_TERMS = 32
# Places in a text where a phrase stands that are returned.
_MOST_PLACES = 1_000


@dataclass(frozen=True)
class Phrase:
    """Words in a row. `negated`: a text must not have them."""

    words: WordedText
    negated: bool

    @cached_property
    def all_words(self) -> Sequence[Word]:
        """The words, also parts of identifiers."""
        return list(chain.from_iterable(self.words.by_place.values()))

    @cached_property
    def identifiers(self) -> Sequence[Word]:
        """Words with parts."""
        return [word for word in self.all_words if word.following > word.place + 1]

    @cached_property
    def length(self) -> int:
        """How many places the words take."""
        return max(self.words.by_place) + 1


@dataclass(frozen=True, slots=True)
class TextQuery:
    """What a text must have to match: all phrases of one of the alternatives."""

    alternatives: Sequence[Sequence[Phrase]]

    @property
    def phrases(self) -> Iterator[Phrase]:
        """The phrases of all alternatives."""
        return chain.from_iterable(self.alternatives)

    @property
    def forms(self) -> set[str]:
        """The forms of all words."""
        return {word.form for phrase in self.phrases for word in phrase.all_words}


def parse(text: str) -> TextQuery:
    """Parses a query. Any text is one; signs that are no part of a word say nothing."""
    alternatives: list[list[Phrase]] = [[]]
    for found in _PIECE.finditer(text):
        plain = found["plain"]
        if plain is not None and not found["minus"] and plain.lower() == "or":
            alternatives.append([])
            continue
        words = worded(found["phrase"] if plain is None else plain)
        if words.by_place:
            alternatives[-1].append(Phrase(words, negated=bool(found["minus"])))
    return TextQuery([phrases for phrases in alternatives if phrases])


def without_common_words(query: TextQuery, lexemes: Lexemes) -> TextQuery:
    """Leaves out phrases of nothing but common words, as the index does."""
    kept = [
        [phrase for phrase in phrases if not all(is_common(word, lexemes) for word in phrase.all_words)]
        for phrases in query.alternatives
    ]
    return TextQuery([phrases for phrases in kept if phrases])


# --- in the index ----------------------------------------------------------------------------------------------------


def wanted_terms(query: TextQuery, lexemes: Lexemes) -> Sequence[Set[int]]:
    """Returns sets of terms: a text that matches has all terms of one of the sets. Empty if texts without any of the
    words may match: there are no words, or an alternative has only such as must not be there."""
    wanted: list[Set[int]] = []
    for phrases in query.alternatives:
        needed = [phrase for phrase in phrases if not phrase.negated]
        if not needed:
            return []
        terms = {term for phrase in needed for term in _terms_outside_identifiers(phrase, lexemes)}
        ways = [_ways_to_write(phrase, word, lexemes) for phrase in needed for word in phrase.identifiers]
        sets = (sorted(terms.union(*way)) for way in product(*ways[:_MOST_IDENTIFIERS]))
        # An identifier may be a common word when it is written as one (`iT`).
        wanted += (frozenset(each[:_MOST_TERMS]) for each in sets if each)
    return wanted


def _terms_outside_identifiers(phrase: Phrase, lexemes: Lexemes) -> Iterator[int]:
    inside = {place for word in phrase.identifiers for place in range(word.place, word.following)}
    return _terms_at(phrase, phrase.words.by_place.keys() - inside, lexemes)


def _ways_to_write(phrase: Phrase, identifier: Word, lexemes: Lexemes) -> tuple[Set[int], Set[int]]:
    """Terms of an identifier that is one word in the text (`getuser`), and of one that shows its parts (`get_user`)."""
    parts = set(range(identifier.place, identifier.following))
    whole = set[int]() if is_common(identifier, lexemes) else {word_term(identifier, lexemes)}
    return whole, set(_terms_at(phrase, parts, lexemes))


def _terms_at(phrase: Phrase, places: Set[int], lexemes: Lexemes) -> Iterator[int]:
    """Yields terms of the words at these places, of identifiers only of their parts."""
    words = {place: phrase.words.by_place[place][-1] for place in places}
    for place, word in words.items():
        if not is_common(word, lexemes):
            yield word_term(word, lexemes)
        if place + 1 in words and place + 1 in phrase.words.joined:
            yield pair_term(word, words[place + 1], lexemes)


# --- in a text -------------------------------------------------------------------------------------------------------


def places_in(text: WordedText, query: TextQuery, lexemes: Lexemes) -> list[tuple[int, int]] | None:
    """Returns where words of the query stand in the text, in order, as pairs of start and end; None if the text does
    not match."""
    places: set[tuple[int, int]] = set()
    matches = False
    for phrases in query.alternatives:
        found = [(phrase, list(islice(_places_of(phrase, text, lexemes), _MOST_PLACES))) for phrase in phrases]
        if all(bool(at) != phrase.negated for phrase, at in found):
            matches = True
            places.update(chain.from_iterable(at for _, at in found))
    return sorted(places) if matches else None


def _places_of(phrase: Phrase, text: WordedText, lexemes: Lexemes) -> Iterator[tuple[int, int]]:
    first = phrase.words.by_place[0]
    for begin in chain.from_iterable(text.by_lexeme.get(lexeme_of(word, lexemes), ()) for word in first):
        last = _last_of(phrase, text, begin, lexemes)
        if last is not None:
            yield begin.start, last.end


def _last_of(phrase: Phrase, text: WordedText, begin: Word, lexemes: Lexemes) -> Word | None:
    """Returns the last word of the phrase in the text, if it stands there from `begin` on."""
    asked = {lexeme_of(word, lexemes): word.following for word in phrase.words.by_place[0]}
    here = {(asked[lexeme_of(begin, lexemes)], begin)}
    while here:
        place, last = here.pop()
        if place == phrase.length:
            return last
        if place in phrase.words.joined and last.following not in text.joined:
            continue
        for word in phrase.words.by_place[place]:
            lexeme = lexeme_of(word, lexemes)
            for following in text.by_place.get(last.following, ()):
                if lexeme_of(following, lexemes) == lexeme:
                    here.add((word.following, following))
    return None

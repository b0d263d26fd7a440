"""[analysis]: finds the facts in a text that a summary may lose. Pure.

A fact is a text that cannot be replaced by other words: an identifier, a number, a date, a name, a path, a URL, a
quoted text, a name in code. `norm` is the same for different spellings of a fact (`$1,250.00` and `1250`); in a date
without a year, the year is `?`. `label` is the name that the text gives the fact (`order_id`, `account`).
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from playhead_collector.analysis.texts.words import (
    MONTHS,
    DateMention,
    dates_in,
    fold,
    name_words,
    numbers_in,
    words_in,
)

IDENTIFIER, NUMBER, DATE, NAME, PATH, URL, QUOTED, CODE = (
    *("identifier", "number", "date", "name"), *("path", "url", "quoted", "code")
)  # fmt: skip
KINDS = (IDENTIFIER, NUMBER, DATE, NAME, PATH, URL, QUOTED, CODE)
# Sentences, which `statements` finds.
GOAL, INSTRUCTION, PREFERENCE, ERROR = "goal", "instruction", "preference", "error"
STATEMENT_KINDS = (GOAL, INSTRUCTION, PREFERENCE, ERROR)
# A statement is said in other words: so many of its telling words, which have so many letters, have to be there.
_SHARE_OF_WORDS, _LEAST_LETTERS = 0.7, 4

_URL = re.compile(r"\bhttps?://[^\s\"'<>`)\]}\\]{1,2000}[^\s\"'<>`)\]}\\.,;:!?]")
_EMAIL = re.compile(r"\b[\w.+-]{1,64}+@[\w-]{1,64}+(?:\.[\w-]{1,64}){1,8}\b")
_PATH = re.compile(
    r"(?<![\w/.:])(?:~|\.{1,2})?(?:/[\w.@+-]{0,254}[\w@+-]){2,32}/?|(?<![\w/.:])[A-Za-z]:\\[\w\\.@+ -]{0,500}\w"
    r"|(?<![\w/.@-])[\w@-][\w.@-]{0,254}+(?:/[\w.@-]{1,255}){0,32}/[\w@-][\w.@-]{0,254}\.[A-Za-z]\w{0,4}\b"
)
_BACKTICKED = re.compile(r"`([^`\n]{2,80})`")
_PROSE_QUOTED = re.compile(r"(?<!\w)(?:\"([^\"\n]{2,80})\"|“([^”\n]{2,80})”|«([^»\n]{2,80})»|'([^'\n]{3,80})'(?!\w))")
# A string that is not closed goes to the end of the text: reading it again from each quote in it would take too long.
_JSON_STRING = re.compile(r'"(?P<inner>(?:[^"\\]++|\\.)*+)(?:(?P<closed>")|\\?\Z)', re.DOTALL)
_COLON = re.compile(r"\s{0,64}+:")
_MIXED = re.compile(
    r"(?<![\w.-])#?(?=[\w-]{0,255}\d)(?=[\w-]{0,255}[A-Za-z])[A-Za-z0-9][\w-]{0,254}[A-Za-z0-9](?![\w-])"
)
_LONG_NUMBER = re.compile(r"(?<![\w.,-])#?\d{6,64}+(?![\w-])(?![.,]\d)")
# A telephone number in groups: with the code of a country or of an area (in brackets, or beginning with 0), or as three
# groups.
_PHONE = re.compile(
    r"(?<![\w.,:/+-])(?:\+\d{1,3}|\(?0\d{1,5}\)?|\(\d{3}\)|\d{3}(?=[ -]\d{3}[ -]\d{4}\b))"
    r"(?:[ \u00a0()/-]{1,3}\d{2,8}){1,6}(?![\w-])(?![.,]\d)"
)
_DIGITS_OF_PHONE = 9
_WITH_UNIT = re.compile(r"\d{1,20}+[A-Za-z]{1,3}|\d{1,20}+(?:st|nd|rd|th)|\d[\w-]{0,80}-[A-Za-z]{1,40}", re.IGNORECASE)
_CODE = re.compile(
    r"\b[A-Za-z]\w{0,63}+(?:\.\w{1,64}+){0,8}+\(\)|\b[A-Za-z]{1,64}+(?:_[A-Za-z0-9]{1,64}){1,16}\b"
    r"|\b[a-z]{1,64}+(?:[A-Z][a-z0-9]{1,64}){1,16}\b|\b(?:[A-Z][a-z0-9]{1,64}){2,16}\b"
)
# Capitals and small letters of the Latin, Greek and Cyrillic scripts.
_LETTERS = [chr(code) for code in (*range(0x41, 0x250), *range(0x370, 0x530))]
_UPPER = "".join(letter for letter in _LETTERS if letter.isupper())
_LOWER = "".join(letter for letter in _LETTERS if letter.islower())
_CAPITALISED = re.compile(
    rf"\b[{_UPPER}][\w'\u2019]{{0,48}}[{_LOWER}\d]\b"
    rf"(?:[ -](?:(?:of|de|van|von|da|la) )?[{_UPPER}][\w'\u2019]{{0,48}}\w\b){{0,12}}"
    r"|\b[A-Z]{2,6}\b"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?¿¡:;\n\"“„«(*-]\s{0,8}|\d\.\s{1,8})$")
_SENTENCE_END = re.compile(r"[.!?\n]")
# Words that begin with a capital without being a name.
_NO_NAMES = {
    "i", "im", "ill", "ive", "the", "a", "an", "this", "that", "these", "those", "it", "its", "you", "your", "we",
    "our", "my", "he", "she", "they", "there", "here", "if", "in", "on", "at", "for", "to", "from", "and", "or", "but",
    "so", "no", "not", "yes", "ok", "okay", "sure", "please", "thanks", "thank", "hello", "hi", "hey", "dear", "sorry",
    "what", "when", "where", "who", "why", "how", "which", "is", "are", "was", "were", "do", "does", "did", "can",
    "could", "will", "would", "should", "may", "let", "lets", "also", "as", "after", "before", "now", "then", "note",
    "json", "api", "id", "ids", "url", "am", "pm", "usd", "eur", "gbp", "http", "https", "true", "false", "null",
    "none", "qu", "bonjour", "merci", "hola", "gracias", "hallo", "danke", "ciao", "grazie",
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", *MONTHS,
}  # fmt: skip
# Of a contraction, the part behind the apostrophe; with `n't`, the whole word is none (`Don't`, `isn't`).
_CONTRACTED = re.compile(r"['\u2019](?:s|d|m|ve|ll|re)\b|\w{0,8}n['\u2019]t\b", re.IGNORECASE)
# Words that may come between a fact and the word that names it.
_NO_LABELS = {
    "is", "are", "was", "were", "be", "the", "a", "an", "my", "your", "our", "their", "of", "for", "to", "at", "on",
    "in", "and", "or", "with", "by", "it", "its", "s", "that", "this", "as", "from", "no", "nr", "number", "id",
    "please",
}  # fmt: skip
_LABEL = re.compile(r"(?<![\w-])[^\W\d_]{2,}(?![\w-])")
_BEFORE = 48
# Occurrences of a fact's rarest word that are compared: a text may repeat a word without limit.
_MAX_PLACES = 4_096
_MIN_NUMBER = 10


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact and its position in a text."""

    kind: str
    text: str
    norm: str
    start: int
    end: int
    label: str = ""


@dataclass(slots=True)
class FactIndex:
    """Index of the words, numbers and dates of some texts, to check which facts they contain."""

    words: list[str] = field(default_factory=list[str])
    """All words in order, with an empty word after each text."""
    positions: "dict[str, array[int]]" = field(default_factory=lambda: {})  # noqa: PIE807 - keeps its type
    """Positions of each word in `words`."""
    numbers: set[str] = field(default_factory=set[str])
    phones: set[str] = field(default_factory=set[str])
    """Digits of the telephone numbers."""
    years: dict[tuple[int | None, int], set[int | None]] = field(
        default_factory=dict[tuple[int | None, int], set[int | None]]
    )
    """The years with which each month and day occurs; None: without a year."""

    def add(self, text: str) -> None:
        """Adds a text."""
        for word, _, _ in words_in(text):
            self.positions.setdefault(word, array("I")).append(len(self.words))
            self.words.append(word)
        self.words.append("")
        self.numbers.update(plain for plain, _, _ in numbers_in(text))
        self.phones.update(digits for _, _, digits in _phones(text))
        for date in dates_in(text):
            if date.month:
                self.years.setdefault((date.month, date.day), set()).add(date.year)

    def has(self, fact: Fact) -> bool:
        """Whether the fact occurs in the texts, in any form."""
        if fact.kind in STATEMENT_KINDS:
            return self._has_most_words(fact)
        if fact.kind == NUMBER and fact.norm in self.numbers:
            return True
        if fact.kind == IDENTIFIER and (fact.norm in self.phones or fact.norm in self.positions):
            return True
        if fact.kind == DATE:
            month, day, year = (int(part) if part != "?" else None for part in fact.norm.split("/"))
            years = self.years.get((month, day or 0), set[int | None]())
            return bool(years) and (year is None or None in years or year in years)
        words = [word for word, _, _ in words_in(fact.text)]
        if not words or any(word not in self.positions for word in words):
            return False
        rarest = min(range(len(words)), key=lambda position: len(self.positions[words[position]]))
        firsts = (position - rarest for position in self.positions[words[rarest]][:_MAX_PLACES])
        return any(first >= 0 and self.words[first : first + len(words)] == words for first in firsts)

    def _has_most_words(self, statement: Fact) -> bool:
        telling = [word for word in statement.norm.split() if len(word) >= _LEAST_LETTERS]
        return sum(word in self.positions for word in telling) >= _SHARE_OF_WORDS * len(telling)


def facts_in(text: str) -> list[Fact]:
    """The facts of a text, in order. A fact inside a larger one is not listed again."""
    keys: list[tuple[int, str]] = []
    bare = text
    if text.lstrip()[:1] in ("{", "["):
        strings = list(_strings(text))
        keys = [(end, name) for _, end, name in strings if name is not None]
        bare = _blanked(text, ((start, end) for start, end, name in strings if name is not None))
    finding = _FactFinder(bare)
    for kind, matches in _finders(bare, in_json=bool(keys)):
        finding.take(kind, matches)
    facts = sorted(finding.facts, key=lambda fact: fact.start)
    return [_labelled(fact, bare, keys) for fact in facts]


def label_words(label: str) -> set[str]:
    """The words by which labels are compared: labels that share a word mean the same thing (`order`, `orderId`). Empty
    if there is no label.
    """
    return set(name_words(label)) - _NO_LABELS or ({label} if label else set[str]())


class _FactFinder:
    """Collects facts without overlaps: kinds that are taken first have priority."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.facts: list[Fact] = []
        self._taken = bytearray(len(text))

    def take(self, kind: str, matches: Iterable[tuple[int, int, str]]) -> None:
        for start, end, norm in matches:
            if start < end and not any(self._taken[start:end]):
                self._taken[start:end] = b"\1" * (end - start)
                self.facts.append(Fact(kind, self.text[start:end], norm, start, end))


_Places = Iterator[tuple[int, int, str]]


def _finders(text: str, *, in_json: bool) -> Iterator[tuple[str, _Places]]:
    yield URL, _matches(_URL, text)
    yield IDENTIFIER, _matches(_EMAIL, text)
    yield PATH, _matches(_PATH, text)
    yield DATE, ((date.start, date.end, _date_norm(date)) for date in dates_in(text) if date.month)
    yield IDENTIFIER, _phones(text)
    yield IDENTIFIER, _matches(_MIXED, text, _is_identifier)
    yield IDENTIFIER, _matches(_LONG_NUMBER, text)
    yield CODE, _matches(_BACKTICKED, text)
    yield CODE, _matches(_CODE, text)
    yield NUMBER, _numbers(text)
    if in_json:
        yield NAME, _names(text)
        yield QUOTED, _quoted_in_json(text)
    else:
        yield QUOTED, _matches(_PROSE_QUOTED, text, lambda value: _letters(value) >= 2)
        yield NAME, _names(text)


def _matches(pattern: re.Pattern[str], text: str, fits: Callable[[str], bool] = lambda _: True) -> _Places:
    for match in pattern.finditer(text):
        group = next((number for number in range(1, pattern.groups + 1) if match[number] is not None), 0)
        start, end = match.span(group)
        if text[start] == "#":
            start += 1
        if fits(text[start:end]):
            yield start, end, _spelled(text[start:end])


def _phones(text: str) -> _Places:
    for match in _PHONE.finditer(text):
        digits = "".join(character for character in match[0] if character.isdecimal())
        if len(digits) >= _DIGITS_OF_PHONE:
            yield match.start(), match.end(), digits


def _strings(text: str) -> Iterator[tuple[int, int, str | None]]:
    """Yields the ranges of the strings of a JSON text (even of one that was cut). A key has a range that ends after its
    colon, and its name; other strings have None.
    """
    for match in _JSON_STRING.finditer(text):
        colon = _COLON.match(text, match.end()) if match["closed"] else None
        if colon is not None:
            yield match.start(), colon.end(), match["inner"]
        elif match["closed"]:
            yield match.start(), match.end(), None


def _blanked(text: str, matches: Iterable[tuple[int, int]]) -> str:
    pieces: list[str] = []
    position = 0
    for start, end in matches:
        pieces += (text[position:start], " " * (end - start))
        position = end
    return "".join((*pieces, text[position:]))


def _quoted_in_json(text: str) -> _Places:
    for start, end, _ in _strings(text):
        value = text[start + 1 : end - 1]
        if 3 <= len(value) <= 40 and _letters(value) >= 3:
            yield start + 1, end - 1, _spelled(value)


def _numbers(text: str) -> _Places:
    for plain, start, end in numbers_in(text):
        if "." in plain or abs(int(plain)) >= _MIN_NUMBER or text[max(0, start - 1) : start] in ("$", "€", "£", "#"):
            yield start, end, plain


def _names(text: str) -> _Places:
    for match in _CAPITALISED.finditer(text):
        start, end = match.span()
        # Blanks keep the positions of the other words.
        bare = _CONTRACTED.sub(lambda part: " " * len(part[0]), match[0])
        end -= len(bare) - len(bare.rstrip())
        words = list(words_in(bare.rstrip()))
        # `Hello Maria` names Maria, `L'hôtel Ritz` Ritz, and `C'est` nobody.
        while words and (words[0][0] in _NO_NAMES or len(words[0][0]) == 1 or bare[words[0][1]].islower()):
            words.pop(0)
        if not words:
            continue
        before = text[max(0, start - 8) : start]
        alone = len(words) == 1 and words[0][1] == 0 and _SENTENCE_START.search(before) is not None
        if alone and not bare.strip().isupper():
            continue  # at the start of a sentence, any word begins with a capital
        yield start + words[0][1], end, " ".join(word for word, _, _ in words)


def _labelled(fact: Fact, text: str, keys: Sequence[tuple[int, str]]) -> Fact:
    """The fact with its label: the JSON key above it, else the last meaningful word before it."""
    index = bisect_right(keys, (fact.start, "\U0010ffff")) - 1
    if index >= 0:
        label = keys[index][1]
    else:
        before = _SENTENCE_END.split(text[max(0, fact.start - _BEFORE) : fact.start])[-1]
        words = [word for word in map(fold, _LABEL.findall(before)) if word not in _NO_LABELS]
        label = words[-1] if words else ""
    return Fact(fact.kind, fact.text, fact.norm, fact.start, fact.end, label)


def _date_norm(date: DateMention) -> str:
    return f"{date.month}/{date.day}/{date.year or '?'}"


def _is_identifier(word: str) -> bool:
    if _WITH_UNIT.fullmatch(word):
        return False
    return len(word) >= 4 or (len(word) == 3 and word[0].isupper())


def _letters(text: str) -> int:
    return sum(character.isalpha() for character in text)


def _spelled(text: str) -> str:
    """The words of a text, split so that `HAT-001`, `hat 001` and `HAT001` are equal."""
    return " ".join(word for word, _, _ in words_in(text))

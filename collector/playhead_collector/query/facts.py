"""[query]: the facts in a text: what a summary may lose and somebody may need.  Pure.

A fact is something that cannot be said in other words: an identifier, a number, a date, a name, a path, a URL, a quoted
text, a name of code.  `norm` is equal for equal facts however they are written (`$1,250.00` and `1250`, `May 3rd` and
`2026-05-03` as far as each says), and `label` is what the text calls it (`order_id`, `account`).
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from playhead_collector.query.words import MONTHS, Mention, dates_in, fold, name_words, numbers_in, words_in

IDENTIFIER, NUMBER, DATE, NAME, PATH, URL, QUOTED, CODE = (
    *("identifier", "number", "date", "name"), *("path", "url", "quoted", "code")
)  # fmt: skip
KINDS = (IDENTIFIER, NUMBER, DATE, NAME, PATH, URL, QUOTED, CODE)

_URL = re.compile(r"\bhttps?://[^\s\"'<>`)\]}\\]+[^\s\"'<>`)\]}\\.,;:!?]")
_EMAIL = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")
_PATH = re.compile(
    r"(?<![\w/.:])(?:~|\.{1,2})?(?:/[\w.@+-]*[\w@+-]){2,}/?|(?<![\w/.:])[A-Za-z]:\\[\w\\.@+ -]*\w"
    r"|(?<![\w/.@-])[\w@-][\w.@-]*(?:/[\w.@-]+)*/[\w@-][\w.@-]*\.[A-Za-z]\w{0,4}\b"
)
_BACKTICKED = re.compile(r"`([^`\n]{2,80})`")
_PROSE_QUOTED = re.compile(r"(?<!\w)(?:\"([^\"\n]{2,80})\"|“([^”\n]{2,80})”|«([^»\n]{2,80})»|'([^'\n]{3,80})'(?!\w))")
_JSON_KEY = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:')
_JSON_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
_MIXED = re.compile(r"(?<![\w.-])#?(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9][\w-]*[A-Za-z0-9](?![\w-])")
_LONG_NUMBER = re.compile(r"(?<![\w.,-])#?\d{6,}(?![\w-])(?![.,]\d)")
_WITH_UNIT = re.compile(r"\d+[A-Za-z]{1,3}|\d+(?:st|nd|rd|th)|\d+[\w-]*-[A-Za-z]+", re.IGNORECASE)
_CODE = re.compile(
    r"\b[A-Za-z]\w*(?:\.\w+)*\(\)|\b[A-Za-z]+(?:_[A-Za-z0-9]+)+\b|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b"
    r"|\b(?:[A-Z][a-z0-9]+){2,}\b"
)
_CAPITALISED = re.compile(
    r"\b[A-Z][\w'\u2019]*[a-z\d]\b(?:[ -](?:(?:of|de|van|von|da|la) )?[A-Z][\w'\u2019]*\w\b)*|\b[A-Z]{2,6}\b"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\n\"“(*-]\s*|\d\.\s+)$")
# Words that begin with a capital without being a name.
_NO_NAMES = {
    "i", "im", "ill", "ive", "the", "a", "an", "this", "that", "these", "those", "it", "its", "you", "your", "we",
    "our", "my", "he", "she", "they", "there", "here", "if", "in", "on", "at", "for", "to", "from", "and", "or", "but",
    "so", "no", "not", "yes", "ok", "okay", "sure", "please", "thanks", "thank", "hello", "hi", "hey", "dear", "sorry",
    "what", "when", "where", "who", "why", "how", "which", "is", "are", "was", "were", "do", "does", "did", "can",
    "could", "will", "would", "should", "may", "let", "lets", "also", "as", "after", "before", "now", "then", "note",
    "json", "api", "id", "ids", "url", "am", "pm", "usd", "eur", "gbp", "http", "https", "true", "false", "null",
    "none", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", *MONTHS,
}  # fmt: skip
# What stands between the word that a fact is called by and the fact.
_NO_LABELS = {
    "is", "are", "was", "were", "be", "the", "a", "an", "my", "your", "our", "their", "of", "for", "to", "at", "on",
    "in", "and", "or", "with", "by", "it", "its", "s", "that", "this", "as", "from", "no", "nr", "number", "id",
    "please",
}  # fmt: skip
_LABEL = re.compile(r"(?<![\w-])[^\W\d_]{2,}(?![\w-])")
_BEFORE = 48
_LEAST_NUMBER = 10


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact and its place in a text."""

    kind: str
    text: str
    norm: str
    start: int
    end: int
    label: str = ""


@dataclass(slots=True)
class Stock:
    """All that some texts say, so that it can be asked whether a fact is among it."""

    texts: list[str] = field(default_factory=list[str])
    words: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    numbers: set[str] = field(default_factory=set[str])
    dates: set[tuple[int | None, int, int | None]] = field(default_factory=set[tuple[int | None, int, int | None]])

    def add(self, text: str) -> None:
        """One more text."""
        spelled = _spelled(text)
        for word in set(spelled.split()):
            self.words.setdefault(word, set()).add(len(self.texts))
        self.texts.append(f" {spelled} ")
        self.numbers.update(plain for plain, _, _ in numbers_in(text))
        self.dates.update((date.month, date.day, date.year) for date in dates_in(text) if date.month)

    def has(self, fact: Fact) -> bool:
        """Whether it is said there, in whatever form."""
        if fact.kind == NUMBER and fact.norm in self.numbers:
            return True
        if fact.kind == DATE:
            month, day, year = (int(part) if part != "?" else None for part in fact.norm.split("/"))
            return any(m == month and d == day and (None in (y, year) or y == year) for m, d, y in self.dates)
        spelled = _spelled(fact.text)
        among = [self.words.get(word, set[int]()) for word in spelled.split()]
        return any(f" {spelled} " in self.texts[at] for at in set[int].intersection(*among)) if among else False


def facts_in(text: str) -> list[Fact]:
    """The facts of a text in order; what is part of a larger one is not listed again."""
    keys: list[tuple[int, str]] = []
    bare = text
    if text.lstrip()[:1] in ("{", "["):
        keys = [(found.end(), found[1]) for found in _JSON_KEY.finditer(text)]
        bare = _JSON_KEY.sub(lambda found: " " * len(found[0]), text)
    finding = _Finding(bare)
    for kind, places in _finders(bare, in_json=bool(keys)):
        finding.take(kind, places)
    found = sorted(finding.facts, key=lambda fact: fact.start)
    return [_labelled(fact, bare, keys) for fact in found]


def label_fits(one: str, other: str) -> bool:
    """Whether two labels call the same thing: `order`, `orderId` and `order_number`."""
    ones, others = (set(name_words(label)) - _NO_LABELS for label in (one, other))
    return bool(ones & others) if ones and others else bool(one) and one == other


class _Finding:
    """Collects facts, the surest kinds first; a place that is taken is not given again."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.facts: list[Fact] = []
        self._taken = bytearray(len(text))

    def take(self, kind: str, places: Iterable[tuple[int, int, str]]) -> None:
        for start, end, norm in places:
            if start < end and not any(self._taken[start:end]):
                self._taken[start:end] = b"\1" * (end - start)
                self.facts.append(Fact(kind, self.text[start:end], norm, start, end))


_Places = Iterator[tuple[int, int, str]]


def _finders(text: str, *, in_json: bool) -> Iterator[tuple[str, _Places]]:
    yield URL, _matches(_URL, text)
    yield IDENTIFIER, _matches(_EMAIL, text)
    yield PATH, _matches(_PATH, text)
    yield DATE, ((date.start, date.end, _date_norm(date)) for date in dates_in(text) if date.month)
    yield IDENTIFIER, _matches(_MIXED, text, _is_identifier)
    yield IDENTIFIER, _matches(_LONG_NUMBER, text)
    yield CODE, _matches(_BACKTICKED, text)
    yield CODE, _matches(_CODE, text)
    yield NUMBER, _numbers(text)
    if in_json:
        yield NAME, _names(text)
        yield QUOTED, _matches(_JSON_TEXT, text, lambda value: 3 <= len(value) <= 40 and _letters(value) >= 3)
    else:
        yield QUOTED, _matches(_PROSE_QUOTED, text, lambda value: _letters(value) >= 2)
        yield NAME, _names(text)


def _matches(pattern: re.Pattern[str], text: str, fits: Callable[[str], bool] = lambda _: True) -> _Places:
    for found in pattern.finditer(text):
        group = next((number for number in range(1, pattern.groups + 1) if found[number] is not None), 0)
        start, end = found.span(group)
        if text[start] == "#":
            start += 1
        if fits(text[start:end]):
            yield start, end, _spelled(text[start:end])


def _numbers(text: str) -> _Places:
    for plain, start, end in numbers_in(text):
        if "." in plain or abs(int(plain)) >= _LEAST_NUMBER or text[max(0, start - 1) : start] in ("$", "€", "£", "#"):
            yield start, end, plain


def _names(text: str) -> _Places:
    for found in _CAPITALISED.finditer(text):
        start, end = found.span()
        words = list(words_in(found[0]))
        # `Hello Maria` names Maria.
        while words and (words[0][0] in _NO_NAMES or len(words[0][0]) == 1):
            words.pop(0)
        if not words:
            continue
        alone = len(words) == 1 and words[0][1] == 0 and _SENTENCE_START.search(text[:start][-8:]) is not None
        if alone and not found[0].isupper():
            continue  # any word begins with a capital there
        yield start + words[0][1], end, " ".join(word for word, _, _ in words)


def _labelled(fact: Fact, text: str, keys: Sequence[tuple[int, str]]) -> Fact:
    """With what it is called: the key that it stands under, else the last word before it that says something."""
    at = bisect_right(keys, (fact.start, "\U0010ffff")) - 1
    if at >= 0:
        label = keys[at][1]
    else:
        before = re.split(r"[.!?\n]", text[max(0, fact.start - _BEFORE) : fact.start])[-1]
        words = [word for word in map(fold, _LABEL.findall(before)) if word not in _NO_LABELS]
        label = words[-1] if words else ""
    return Fact(fact.kind, fact.text, fact.norm, fact.start, fact.end, label)


def _date_norm(date: Mention) -> str:
    return f"{date.month}/{date.day}/{date.year or '?'}"


def _is_identifier(word: str) -> bool:
    if _WITH_UNIT.fullmatch(word):
        return False
    return len(word) >= 4 or (len(word) == 3 and word[0].isupper())


def _letters(text: str) -> int:
    return sum(character.isalpha() for character in text)


def _spelled(text: str) -> str:
    """The words of a text, so that `HAT-001`, `hat 001` and `HAT001` are one."""
    return " ".join(word for word, _, _ in words_in(text))

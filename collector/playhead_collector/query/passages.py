"""[query]: a model's context as passages, and an index of its words that grows with a run's thread.  Pure.

Every message is read once, however many calls had it in their context; a question about one call is answered from the
index, and sees only what that call saw (`visible`).
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, Final, Literal

from playhead.model.canonical import canonical_json
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead_collector.query.words import Mention, dates_in, numbers_in, words_in

Source = Literal["user", "tool_result", "assistant", "system", "definition"]
USER: Final = "user"
RESULT: Final = "tool_result"
ASSISTANT: Final = "assistant"
SYSTEM: Final = "system"
DEFINITION: Final = "definition"
_OF_ROLE: Mapping[str, Source] = {"user": USER, "tool": RESULT, "assistant": ASSISTANT, "system": SYSTEM}
Visible = Mapping[ContentRef, int]
"""What a call saw: messages, and how many stand before each."""
# So many places of a value are looked at from each end of the context: enough to tell first, last and those related.
_EACH_END = 12
_QUOTE_AROUND = 60
# Numbers from long ago are rarely computed with, and looking at all of them for each value would take long.
_LATEST_NUMBERS = 600


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """A part of a message, as its reader saw it."""

    content: ContentRef
    part: int
    source: Source
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A place in a passage.  `whole`: it is not part of a longer identifier or number."""

    passage: Passage
    start: int
    end: int
    whole: bool = True

    @property
    def text(self) -> str:
        """What stands there."""
        return self.passage.text[self.start : self.end]

    @property
    def quote(self) -> str:
        """What stands there and around it, cut at white space."""
        return quote(self.passage.text, self.start, self.end)

    def around(self, characters: int) -> tuple[int, int]:
        """The bounds of its neighbourhood."""
        return max(0, self.start - characters), min(len(self.passage.text), self.end + characters)


def quote(text: str, start: int, end: int) -> str:
    """The text from start to end with some words around it, on one line."""
    first, last = max(0, start - _QUOTE_AROUND), min(len(text), end + _QUOTE_AROUND)
    before, after = text[first:start], text[end:last]
    if first > 0:
        before = "…" + (before.partition(" ")[2] or before)
    if last < len(text):
        after = (after.rpartition(" ")[0] or after) + "…"
    return " ".join((before + text[start:end] + after).split())


def passages_of(ref: ContentRef, message: Message) -> Iterator[Passage]:
    """What a message says, part by part.  The calls that it asks for are no source of anything: they are traced."""
    for number, part in enumerate(message["parts"]):
        kind = part.get("type")
        if kind in ("tool_call", "blob"):
            continue
        source = RESULT if kind == "tool_call_response" else _OF_ROLE.get(message["role"], USER)
        value = part.get("response") if kind == "tool_call_response" else part.get("content", part.get("uri"))
        if value is not None:
            yield Passage(ref, number, source, text_of(value))


def text_of(value: Any) -> str:
    """A value as a model reads it."""
    return value if isinstance(value, str) else canonical_json(value).decode("utf-8", "replace")


class ContextIndex:
    """Finds words, numbers and dates in all the passages that were added."""

    def __init__(self) -> None:
        self._known: set[tuple[ContentRef, Source]] = set()
        self._passages: list[Passage] = []
        self._first: list[int] = []  # the number of each passage's first word
        self._words: list[str] = []
        self._spans: list[tuple[int, int]] = []
        self._at: defaultdict[str, list[int]] = defaultdict(list)
        self._numbers: defaultdict[str, list[Hit]] = defaultdict(list)
        self._in_turn: list[tuple[str, Hit]] = []
        self._of_system: list[tuple[str, Hit]] = []
        self._dates: defaultdict[int, list[tuple[Hit, Mention]]] = defaultdict(list)

    def knows(self, ref: ContentRef) -> bool:
        """Whether this content was added."""
        return any((ref, source) in self._known for source in (*_OF_ROLE.values(), DEFINITION))

    def add(self, passages: Iterable[Passage]) -> None:
        """Reads these; a passage that is known is not read again."""
        fresh = [each for each in passages if (each.content, each.source) not in self._known]
        self._known.update((each.content, each.source) for each in fresh)
        for passage in fresh:
            self._passages.append(passage)
            self._first.append(len(self._words))
            for word, start, end in words_in(passage.text):
                self._at[word].append(len(self._words))
                self._words.append(word)
                self._spans.append((start, end))
            self._words.append("")  # so that no row of words goes from one passage into the next
            self._spans.append((0, 0))
            for number, start, end in numbers_in(passage.text):
                hit = Hit(passage, start, end)
                self._numbers[number].append(hit)
                (self._of_system if passage.source == SYSTEM else self._in_turn).append((number, hit))
            for mention in dates_in(passage.text):
                self._dates[mention.day].append((Hit(passage, mention.start, mention.end), mention))

    def find(self, words: Sequence[str], visible: Visible) -> list[Hit]:
        """Where these words stand in a row: the first places and the last ones, in the order of the context."""
        if not words:
            return []
        rarest = min(range(len(words)), key=lambda place: len(self._at.get(words[place], ())))
        at = self._at.get(words[rarest], [])
        hits: dict[int, Hit] = {}
        for numbers in (at, reversed(at)):
            found = 0
            for number in numbers:
                hit = hits.get(number) or self._hit(number - rarest, words, visible)
                if hit is not None:
                    hits[number] = hit
                    found += 1
                    if found == _EACH_END:
                        break
        return in_order(hits.values(), visible)

    def number(self, plain: str, visible: Visible) -> list[Hit]:
        """Where a number stands, however it is written."""
        return _ends([hit for hit in self._numbers.get(plain, ()) if hit.passage.content in visible], visible)

    def latest_numbers(self, visible: Visible) -> Iterator[tuple[str, Hit]]:
        """The last few hundred numbers of the context, the latest first, and those of system messages."""
        said = (each for each in reversed(self._in_turn) if each[1].passage.content in visible)
        yield from islice(said, _LATEST_NUMBERS)
        yield from (each for each in self._of_system if each[1].passage.content in visible)

    def dates(self, day: int, visible: Visible) -> list[tuple[Hit, Mention]]:
        """Where a date with this day of the month is written."""
        return [(hit, mention) for hit, mention in self._dates.get(day, ()) if hit.passage.content in visible]

    def all_dates(self, visible: Visible) -> Iterator[tuple[Hit, Mention]]:
        """Where any date is written."""
        for day in self._dates:
            yield from self.dates(day, visible)

    def has(self, word: str, visible: Visible) -> bool:
        """Whether the word stands anywhere."""
        return bool(self.find([word], visible))

    def containing(self, piece: str, visible: Visible) -> list[Hit]:
        """Where a piece of a longer word stands.  Looks through the vocabulary, not through the texts."""
        longer = [word for word in self._at if piece in word]
        return in_order([hit for word in longer[:_EACH_END] for hit in self.find([word], visible)], visible)

    def like(self, fits: Callable[[str], bool], visible: Visible) -> list[Hit]:
        """Where words stand that fit."""
        words = [word for word in self._at if fits(word)]
        return in_order([hit for word in words for hit in self.find([word], visible)], visible)

    def _hit(self, first: int, words: Sequence[str], visible: Visible) -> Hit | None:
        if first < 0 or self._words[first : first + len(words)] != list(words):
            return None
        passage = self._passages[bisect_right(self._first, first) - 1]
        if passage.content not in visible:
            return None
        spans = self._spans[first : first + len(words)]
        if any(_far_apart(passage.text[one[1] : other[0]]) for one, other in pairwise(spans)):
            return None
        start, end = spans[0][0], spans[-1][1]
        return Hit(passage, start, end, _stands_alone(passage.text, start, end))


def in_order(hits: Iterable[Hit], visible: Visible) -> list[Hit]:
    """In the order in which the call saw them."""
    return sorted(hits, key=lambda hit: (visible[hit.passage.content], hit.passage.part, hit.start))


def _ends(hits: Sequence[Hit], visible: Visible) -> list[Hit]:
    ordered = in_order(hits, visible)
    return ordered if len(ordered) <= 2 * _EACH_END else [*ordered[:_EACH_END], *ordered[-_EACH_END:]]


def _far_apart(between: str) -> bool:
    return len(between) > 4 or "\n\n" in between


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether neither neighbour joins it to more letters or digits."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    return not (_joins(before[::-1]) or _joins(after))


def _joins(outwards: str) -> bool:
    """Whether what follows outwards goes on with the same word: `e`, `_4`, `-4`, `@e`, but not `. ` or `"`."""
    if not outwards:
        return False
    first, second = outwards[0], outwards[1:2]
    return first.isalnum() or (first in "_-@." and second.isalnum())

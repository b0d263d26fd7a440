"""[analysis]: a model's context as passages, an index of their words, numbers and dates, and quotes of them.  Pure.

The index grows with a run's thread: every message is read once, however many calls had it in their context. A search
for one call gets only hits in the messages that the call saw (`visible`).
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, Final, Literal

from playhead.model.canonical import text_of
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.wire.operations.reasoning import Quoted
from playhead_collector.analysis.texts.json_records import JsonRecords, json_records
from playhead_collector.analysis.texts.limits import readable
from playhead_collector.analysis.texts.spoken import SaidNumber, SaidShare, SpokenIndex
from playhead_collector.analysis.texts.spoken_dates import RelativeDate
from playhead_collector.analysis.texts.spoken_times import Clock
from playhead_collector.analysis.texts.words import DateMention, dates_in, numbers_in, words_in

Source = Literal["user", "tool_result", "assistant", "system", "definition"]
USER: Final = "user"
RESULT: Final = "tool_result"
ASSISTANT: Final = "assistant"
SYSTEM: Final = "system"
DEFINITION: Final = "definition"
_SOURCE_BY_ROLE: Mapping[str, Source] = {"user": USER, "tool": RESULT, "assistant": ASSISTANT, "system": SYSTEM}
Visible = Mapping[ContentRef, int]
"""The contents that a call saw, each with its position in the context."""
# Occurrences of a value that are used from each end of the context.
_EACH_END = 12
MAX_HITS = 2 * _EACH_END
# Consecutive words that are searched, and occurrences of their rarest word that are tried from each end. With more, the
# time for a value would grow with the length of the context.
_MAX_ROW_LENGTH, _MAX_PLACES = 32, 1_024
# For values whose words are joined or separated: longest first word, and occurrences of each first word that are tried.
_MAX_SQUASHED_LENGTH, _FEW_PLACES = 64, 128
_SEPARATORS = frozenset(" -./_()+'\u2019\u00a0\u202f")
# Numbers from long ago are rarely computed with, and looking at all of them for each value would take long.
_LATEST_NUMBERS, _SYSTEM_NUMBERS = 600, 150
# Dates per day of the month that are used from each end. Words of the vocabulary that are searched.
_MAX_DATES, _MAX_WORDS = 32, 20_000
_LATEST_SHARES = 8


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """The text of one part of a message, as the model saw it."""

    content: ContentRef
    part: int
    source: Source
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """An occurrence in a passage. `whole`: it is not part of a longer word, identifier or number."""

    passage: Passage
    start: int
    end: int
    whole: bool = True

    @property
    def text(self) -> str:
        """The matched text."""
        return self.passage.text[self.start : self.end]

    @property
    def quote(self) -> str:
        """The matched text with some words around it, cut at white space."""
        return quote(self.passage.text, self.start, self.end)

    def around(self, characters: int) -> tuple[int, int]:
        """Range of the hit with so many characters before and after it."""
        return max(0, self.start - characters), min(len(self.passage.text), self.end + characters)


def passages_of(ref: ContentRef, message: Message) -> Iterator[Passage]:
    """Yields the passages of a message, one per part, without its tool calls: their values are what is traced."""
    for number, part in enumerate(message["parts"]):
        kind = part.get("type")
        if kind in ("tool_call", "blob"):
            continue
        source = RESULT if kind == "tool_call_response" else _SOURCE_BY_ROLE.get(message["role"], USER)
        value = part.get("response") if kind == "tool_call_response" else part.get("content", part.get("uri"))
        if value is not None:
            yield passage_of(ref, number, source, value)


def passage_of(ref: ContentRef, part: int, source: Source, value: Any) -> Passage:
    """Converts a value to a passage; of a very long one, only the beginning (see `limits`)."""
    return Passage(ref, part, source, readable(text_of(value), ref, part))


# --- the index -------------------------------------------------------------------------------------------------------


class ContextIndex:
    """Index of the words, numbers and dates of all passages that were added."""

    def __init__(self) -> None:
        self._known: set[tuple[ContentRef, Source]] = set()
        self._passages: list[Passage] = []
        self._first: list[int] = []  # the number of each passage's first word
        self._words: list[str] = []
        self._spans: list[tuple[int, int]] = []
        self._at: defaultdict[str, list[int]] = defaultdict(list)
        self._like: dict[Hashable, tuple[int, list[str]]] = {}
        self._numbers: defaultdict[str, list[Hit]] = defaultdict(list)
        self._in_turn: list[tuple[str, Hit]] = []
        self._of_system: list[tuple[str, Hit]] = []
        self._dates: defaultdict[int, list[tuple[Hit, DateMention]]] = defaultdict(list)
        self._records: dict[Passage, JsonRecords] = {}
        self._spoken = SpokenIndex()

    def knows(self, ref: ContentRef) -> bool:
        """Whether this content was added."""
        return any((ref, source) in self._known for source in (*_SOURCE_BY_ROLE.values(), DEFINITION))

    def add(self, passages: Iterable[Passage]) -> None:
        """Adds passages. Known ones (same content and source) are not read again."""
        fresh = [candidate for candidate in passages if (candidate.content, candidate.source) not in self._known]
        self._known.update((candidate.content, candidate.source) for candidate in fresh)
        for passage in fresh:
            self._passages.append(passage)
            self._first.append(len(self._words))
            for word, start, end in words_in(passage.text):
                self._at[word].append(len(self._words))
                self._words.append(word)
                self._spans.append((start, end))
            self._words.append("")  # so that no match spans two passages
            self._spans.append((0, 0))
            for number, start, end in numbers_in(passage.text):
                hit = Hit(passage, start, end)
                self._numbers[number].append(hit)
                (self._of_system if passage.source == SYSTEM else self._in_turn).append((number, hit))
            for mention in dates_in(passage.text):
                self._dates[mention.day].append((Hit(passage, mention.start, mention.end), mention))

    def find(self, words: Sequence[str], visible: Visible) -> list[Hit]:
        """The first and the last occurrences of these consecutive words, in the order of the context."""
        words = list(words)
        if not words:
            return []
        # Of a long text only the beginning is searched, and the rest is compared at its occurrences. Otherwise a text
        # that repeats itself would be compared with itself at each of its words.
        begin = words[:_MAX_ROW_LENGTH]
        rarest = min(range(len(begin)), key=lambda position: len(self._at.get(begin[position], ())))
        positions = self._at.get(begin[rarest], [])
        hits: dict[int, Hit] = {}
        for numbers in (positions[:_MAX_PLACES], positions[: -_MAX_PLACES - 1 : -1]):
            begun = 0
            for number in numbers:
                first = number - rarest
                if not self._stands(first, begin):
                    continue
                hit = hits.get(number) or self._hit(first, words, visible)
                if hit is not None:
                    hits[number] = hit
                begun += hit is not None or len(words) > len(begin)
                if begun == _EACH_END:
                    break
        return in_order(hits.values(), visible)

    def written_apart(self, squashed: str, visible: Visible) -> list[Hit]:
        """Occurrences of consecutive words that are `squashed` if they are joined, with at most a separator between
        them: `555-123 4567` for `5551234567`, `round trip` for `roundtrip`."""
        hits: dict[int, Hit] = {}
        for length in range(1, min(len(squashed), _MAX_SQUASHED_LENGTH) + 1):
            positions = self._at.get(squashed[:length], [])
            for first in (*positions[:_FEW_PLACES], *positions[-_FEW_PLACES:]):
                end = self._spelled_from(first, squashed)
                hit = self._hit(first, self._words[first:end], visible) if end else None
                if hit is not None and not _far_apart_in(hit, self._spans[first:end]):
                    hits[first] = hit
        return _ends(list(hits.values()), visible)

    def _spelled_from(self, first: int, squashed: str) -> int:
        """Position after the last of the words from `first` on that are `squashed` if joined; 0 if they are not."""
        offset, here = 0, first
        while offset < len(squashed):
            word = self._words[here]
            if not word or not squashed.startswith(word, offset):
                return 0
            offset += len(word)
            here += 1
        return here

    def _stands(self, first: int, words: list[str]) -> bool:
        return first >= 0 and self._words[first : first + len(words)] == words

    def number(self, plain: str, visible: Visible) -> list[Hit]:
        """Occurrences of a number, however it is written."""
        written = self._numbers.get(plain, [])
        if len(written) > 2 * _MAX_PLACES:
            written = [*written[:_MAX_PLACES], *written[-_MAX_PLACES:]]
        return _ends([hit for hit in written if hit.passage.content in visible], visible)

    def records(self, passage: Passage) -> JsonRecords:
        """The objects of a passage that is JSON."""
        if passage not in self._records:
            self._records[passage] = json_records(passage.text)
        return self._records[passage]

    def latest_numbers(self, visible: Visible) -> Iterator[tuple[str, Hit]]:
        """The last 600 numbers of the context, latest first, then the first 150 of system messages that were added."""
        in_turn = (pair for pair in reversed(self._in_turn) if pair[1].passage.content in visible)
        yield from islice(in_turn, _LATEST_NUMBERS)
        of_system = (pair for pair in self._of_system if pair[1].passage.content in visible)
        yield from islice(of_system, _SYSTEM_NUMBERS)

    def dates(self, day: int, visible: Visible) -> list[tuple[Hit, DateMention]]:
        """The first and the last occurrences of dates with this day of the month."""
        written = self._dates.get(day, [])
        if len(written) > 2 * _MAX_DATES:
            written = [*written[:_MAX_DATES], *written[-_MAX_DATES:]]
        return [(hit, mention) for hit, mention in written if hit.passage.content in visible]

    def all_dates(self, visible: Visible) -> Iterator[tuple[Hit, DateMention]]:
        """Some of the first and the last occurrences of dates, for each day of the month."""
        for day in self._dates:
            yield from self.dates(day, visible)

    # --- values in the forms of people; see `spoken` ---

    def said_numbers(self, plain: str, visible: Visible) -> list[tuple[Hit, SaidNumber]]:
        """Places where a number was said in another form: in words, with a scale, in another unit."""
        said = self._read_spoken().numbers.get(plain, ())
        return [(hit, each) for each in said if (hit := self._said_at(each.text, each.start, each.end, visible))]

    def said_shares(self, visible: Visible) -> list[tuple[Hit, SaidShare]]:
        """The last 8 places where a percentage or a fraction was said, latest first."""
        said = reversed(self._read_spoken().shares)
        hits = ((hit, each) for each in said if (hit := self._said_at(each.text, each.start, each.end, visible)))
        return list(islice(hits, _LATEST_SHARES))

    def said_times(self, clock: Clock, visible: Visible) -> list[Hit]:
        """Places where this time of day was said."""
        return [hit for place in self._read_spoken().times.get(clock, ()) if (hit := self._said_at(*place, visible))]

    def said_dates(self, day: int, visible: Visible) -> list[tuple[Hit, DateMention]]:
        """Dates with this day of the month that were said in words, or in another language or order."""
        said = self._read_spoken().dates.get(day, ())
        return [(hit, each) for text, each in said if (hit := self._said_at(text, each.start, each.end, visible))]

    def said_relative_dates(self, visible: Visible) -> list[tuple[Hit, RelativeDate]]:
        """Words for dates that depend on the current one."""
        said = self._read_spoken().relative
        return [(hit, each) for text, each in said if (hit := self._said_at(text, each.start, each.end, visible))]

    def said_months(self, month: int, visible: Visible) -> list[Hit]:
        """Places where the name of this month was said."""
        return [hit for place in self._read_spoken().months.get(month, ()) if (hit := self._said_at(*place, visible))]

    def standing(self, sign: str, visible: Visible) -> Hit | None:
        """The last occurrence of a sign that is no word, such as `$`."""
        for passage in reversed(self._passages):
            start = passage.text.rfind(sign) if passage.content in visible else -1
            if start >= 0:
                return Hit(passage, start, start + len(sign))
        return None

    def _read_spoken(self) -> SpokenIndex:
        for passage in self._passages[self._spoken.texts :]:
            self._spoken.add(passage.text, with_words=passage.source != RESULT)
        return self._spoken

    def _said_at(self, text: int, start: int, end: int, visible: Visible) -> Hit | None:
        passage = self._passages[text]
        return Hit(passage, start, end) if passage.content in visible else None

    def has(self, word: str, visible: Visible) -> bool:
        """Whether the word occurs."""
        return bool(self.find([word], visible))

    def containing(self, piece: str, visible: Visible) -> list[Hit]:
        """Occurrences of longer words that contain this text. Searches the vocabulary, not the texts."""
        longer = [word for word in islice(self._at, _MAX_WORDS) if piece in word]
        return in_order([hit for word in longer[:_EACH_END] for hit in self.find([word], visible)], visible)

    def words_matching(self, named: Hashable, fits: Callable[[str], bool], visible: Visible) -> list[Hit]:
        """Occurrences of words for which `fits` is true. `named`: cache key, one for each `fits`."""
        cached = self._like.get(named)
        if cached is None or cached[0] != len(self._at):
            matching = islice((word for word in islice(self._at, _MAX_WORDS) if fits(word)), 2 * _EACH_END)
            cached = self._like[named] = (len(self._at), list(matching))
        words = cached[1]
        return in_order([hit for word in words for hit in self.find([word], visible)], visible)

    def _hit(self, first: int, words: list[str], visible: Visible) -> Hit | None:
        if not self._stands(first, words):
            return None
        passage = self._passages[bisect_right(self._first, first) - 1]
        if passage.content not in visible:
            return None
        spans = self._spans[first : first + len(words)]
        if any(_far_apart(passage.text[left[1] : right[0]]) for left, right in pairwise(spans)):
            return None
        start, end = spans[0][0], spans[-1][1]
        return hit_at(passage, start, end)


def hit_at(passage: Passage, start: int, end: int) -> Hit:
    """A range of a passage as a hit, with `whole` computed."""
    return Hit(passage, start, end, _stands_alone(passage.text, start, end))


def in_order(hits: Iterable[Hit], visible: Visible) -> list[Hit]:
    """Sorts hits in the order in which the call saw them."""
    return sorted(hits, key=lambda hit: (visible[hit.passage.content], hit.passage.part, hit.start))


def _ends(hits: Sequence[Hit], visible: Visible) -> list[Hit]:
    ordered = in_order(hits, visible)
    return ordered if len(ordered) <= MAX_HITS else [*ordered[:_EACH_END], *ordered[-_EACH_END:]]


def _far_apart(between: str) -> bool:
    return len(between) > 4 or "\n\n" in between


def _far_apart_in(hit: Hit, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether more than a separator (like `) ` in `(555) 123`) is between any two neighbouring words."""
    gaps = [hit.passage.text[left[1] : right[0]] for left, right in pairwise(spans)]
    return any(len(gap) > 2 or not _SEPARATORS.issuperset(gap) for gap in gaps)


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether neither the text before nor the text after continues the word or number."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    return not (_joins(before[::-1]) or _joins(after))


def _joins(outwards: str) -> bool:
    """Whether the neighbouring characters continue the same word: `e`, `_4`, `-4`, `@e`, but not `. ` or `"`."""
    if not outwards:
        return False
    first, second = outwards[0], outwards[1:2]
    return first.isalnum() or (first in "_-@." and second.isalnum())


# --- quotes ----------------------------------------------------------------------------------------------------------

_QUOTE_AROUND = 60
MAX_QUOTE_LENGTH = 300


def quote(text: str, start: int, end: int) -> str:
    """The text from start to end with some words around it, on one line."""
    first, last = max(0, start - _QUOTE_AROUND), min(len(text), end + _QUOTE_AROUND)
    before, after = text[first:start], text[end:last]
    if first > 0:
        before = "…" + (before.partition(" ")[2] or before)
    if last < len(text):
        after = (after.rpartition(" ")[0] or after) + "…"
    return " ".join((before + text[start:end] + after).split())


def quoted(seq: int | None, passage: Passage, start: int, end: int) -> Quoted:
    """Quotes the text from start to end, cut to 300 characters. `seq`: the event with which it entered the run."""
    end = min(end, start + MAX_QUOTE_LENGTH)
    return {
        "seq": seq,
        "ref": passage.content or None,
        "part": passage.part,
        "start": start,
        "end": end,
        "text": passage.text[start:end],
    }

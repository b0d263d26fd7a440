"""[analysis]: where in a run does a text stand?  Reads the texts themselves, in the order of the run, without an index.

A page ends when it is full, or when it has read `MAX_CONTENTS` contents: the cursor then says where to go on.  A
content that several events name, such as a system prompt, counts at the first one; arguments and results count at each
call, and not once more in the message that has them.
"""

import asyncio
import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import Final, Literal, TypeAlias

from playhead.model import event as ev
from playhead.model.canonical import canonical_json, parse_json, text_of
from playhead.model.json_value import JsonValue, object_at
from playhead.model.message import Message
from playhead.model.ref import ContentRef, is_ref
from playhead.wire.operations.turns import RunHit, RunHits
from playhead_collector.analysis.texts.passages import quote
from playhead_collector.analysis.turns.error_answers import last_turn_before
from playhead_collector.analysis.turns.outline import Outline
from playhead_collector.analysis.turns.requested import REACH
from playhead_collector.errors import Refused
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import MEDIA_MARK, PART_MARK, ContentCache, fetch

Where: TypeAlias = Literal["user", "answer", "reasoning", "system", "arguments", "result", "error", "state", "name"]

MAX_CONTENTS: Final = 8_000
"""Contents that are read for a page; those of one portion of events may come on top."""
PORTION = 1_024
"""Events that are searched at a time, with one request for their contents."""
_MAX_HITS_OF_EVENT = 1_000
_MAX_DEDUPLICATED = 1 << 20
_OF_TOOLS = (ev.ToolCalled, ev.ToolCompleted, ev.ToolFailed)
_LETTERS = re.compile("[A-Za-z]+", re.ASCII)
_NULL = b"null"
# Of contents whose texts are not in their bytes: escapes, and parts and media of messages that are stored apart.
_NOT_AS_IT_IS = (b"\\", PART_MARK, MEDIA_MARK)
_CURSOR = re.compile(r"(\d{1,9})\.(\d{1,4})", re.ASCII)


async def find_in_run(record: RunRecord, wanted: str, limit: int, cursor: str | None) -> RunHits:
    """Returns a page of the places where a text stands. Upper and lower case are the same. Raises Refused."""
    first, skipped = read_cursor(cursor)
    searching = _Searching(wanted)
    hits: list[RunHit] = []
    contents = 0
    async for block in record.portions(PORTION):
        # Read again, from a little before the page: what was found there is not found again.
        if block[-1].seq < first - REACH:
            searching.pass_over(block)
            continue
        refs = searching.new_refs(block)
        values = await fetch(record.store, record.project_id, refs)
        contents += len(refs)
        for place in await asyncio.to_thread(searching.places, block, values):
            if (place.hit["seq"], place.number) < (first, skipped):
                continue
            if len(hits) == limit:
                return {"items": hits, "next_cursor": f"{place.hit['seq']}.{place.number}", "contents": contents}
            hits.append(place.hit)
        if contents >= MAX_CONTENTS and block[-1].seq >= first and block[-1].seq < record.last:
            return {"items": hits, "next_cursor": f"{block[-1].seq + 1}.0", "contents": contents}
    return {"items": hits, "next_cursor": None, "contents": contents}


def read_cursor(cursor: str | None) -> tuple[int, int]:
    """Reads where a page begins: a seq, and how many hits of that event come before. Raises Refused."""
    match = _CURSOR.fullmatch(cursor or "0.0")
    if match is None:
        raise Refused(400, "bad_cursor", "this cursor is not one that was given: leave it out for the first page")
    return int(match[1]), int(match[2])


# --- pure ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EventText:
    """A text of an event: the words of a message, the arguments of a call, an error."""

    where: Where
    ref: ContentRef | None
    part: int
    text: str


@dataclass(frozen=True, slots=True)
class _Place:
    """A hit, and its number among the hits of its event, from 0."""

    hit: RunHit
    number: int


class TextFinder:
    """Finds a text in others, in upper or lower case."""

    def __init__(self, wanted: str) -> None:
        words = _LETTERS.findall(wanted) if wanted.isascii() else ()
        self._word: bytes = max(words, key=len, default="").lower().encode()
        self._lower = wanted.lower() if wanted.isascii() else None
        self._pattern = re.compile(re.escape(wanted), re.IGNORECASE)
        self._length = len(wanted)

    def may_be_in(self, data: bytes) -> bool:
        """Whether a content of these bytes may have the text. Most have not, and need not be parsed to know it.

        The letters of a text stand in JSON as they are, unless there are escapes. Only numbers are written in other
        ways, and `null` for what is no number.
        """
        if self._word in _NULL or self._word in data.lower():
            return True
        return not data.isascii() or any(mark in data for mark in _NOT_AS_IT_IS)

    def ranges(self, text: str) -> Iterator[tuple[int, int]]:
        """Yields start and end of each occurrence; they do not overlap."""
        if self._lower is None or not text.isascii():
            yield from (match.span() for match in self._pattern.finditer(text))
            return
        lower, start = text.lower(), 0  # as long as the text, because it is ASCII; and faster than a pattern
        while (start := lower.find(self._lower, start)) >= 0:
            yield start, start + self._length
            start += self._length


@dataclass(slots=True)
class _Searching:
    """Takes the events of a run in order. `named`: contents that earlier events named.

    `twins`: seqs of arguments and results that have the text and will stand once more: the message of an answer comes
    before the call of the tool, and the end of that call before the message with its result.
    """

    wanted: str
    outline: Outline = field(default_factory=Outline)
    named: set[ContentRef] = field(default_factory=set[ContentRef])
    twins: dict[tuple[Where, str], list[int]] = field(default_factory=dict[tuple[Where, str], list[int]])

    def pass_over(self, events: Sequence[ev.RunEvent]) -> None:
        """Takes events that are not searched."""
        self.outline.take(events)
        for event in events:
            self.named.update(refs_of(event))

    def new_refs(self, events: Sequence[ev.RunEvent]) -> list[ContentRef]:
        """The contents of these events that count: those of tool calls, and those that no event named before."""
        refs = dict.fromkeys(
            ref for event in events for ref in refs_of(event) if isinstance(event, _OF_TOOLS) or ref not in self.named
        )
        return list(refs)

    def places(self, events: Sequence[ev.RunEvent], contents: ContentCache) -> list[_Place]:
        """The hits in these events, in order. `contents`: their contents."""
        finder = TextFinder(self.wanted)
        contents = contents.where(finder.may_be_in)
        self.outline.take(events)
        found: list[_Place] = []
        for event in events:
            spans = (
                (text, start, end)
                for text in self._texts(event, contents)
                for start, end in self._ranges(event, text, finder)
            )
            for number, (text, start, end) in enumerate(islice(spans, _MAX_HITS_OF_EVENT)):
                found.append(_Place(self._hit(event, text, start, end), number))
            self.named.update(refs_of(event))
        return found

    def _texts(self, event: ev.RunEvent, contents: ContentCache) -> Iterator[EventText]:
        for text in texts_of(event, contents):
            if text.ref is None or isinstance(event, _OF_TOOLS) or text.ref not in self.named:
                yield text

    def _ranges(self, event: ev.RunEvent, text: EventText, finder: TextFinder) -> Iterator[tuple[int, int]]:
        ranges = list(islice(finder.ranges(text.text), _MAX_HITS_OF_EVENT))
        if ranges and text.where in ("arguments", "result"):
            seqs = self.twins.setdefault((text.where, _as_json(text.text)), [])
            if isinstance(event, ev.MessageAdded) == (text.where == "arguments"):
                seqs.append(event.seq)
            elif seqs and event.seq - seqs.pop() < REACH:
                return
        yield from ranges

    def _hit(self, event: ev.RunEvent, text: EventText, start: int, end: int) -> RunHit:
        return {
            "seq": event.seq,
            "turn": self._turn(event),
            "where": text.where,
            "ref": text.ref,
            "part": text.part,
            "offset": start,
            "length": end - start,
            "quote": quote(text.text, start, end),
        }

    def _turn(self, event: ev.RunEvent) -> int | None:
        """The number of the turn that an event of a call belongs to."""
        model = self.outline.model(event.span)
        if isinstance(event, _OF_TOOLS):
            begin = next(self.outline.around(event.span), None)
            group = self.outline.group_of(event.span)
            model = None if begin is None else last_turn_before(self.outline, group, begin.seq)
        if model is not None:
            return model.number
        # A message of the next call, which begins in the next block of events.
        is_of_next = isinstance(event, ev.MessageAdded) and event.source != "output" and event.span is not None
        return self.outline.turns_before + len(self.outline.models) + 1 if is_of_next else None


def _as_json(text: str) -> str:
    """A text that is JSON in canonical form; any other as it is."""
    if text[:1] in ("{", "[", '"') and len(text) <= _MAX_DEDUPLICATED:
        try:
            value: JsonValue = parse_json(text)
        except ValueError:
            return text
        return value if isinstance(value, str) else canonical_json(value).decode("utf-8", "replace")
    return text


# --- the texts of events ---------------------------------------------------------------------------------------------

_NOT_TEXTS = frozenset({"thread", "before", "after", "request", "response", "exact", "sent", "sent_thread", "metadata"})
_WHERE_OF_REF: dict[str, Where] = {
    "system": "system", "tools": "system", "input": "user", "output": "answer", "reasoning": "reasoning",
    "arguments": "arguments", "result": "result", "prompt": "answer", "summary": "answer",
}  # fmt: skip
_BY_ROLE: dict[str, Where] = {"user": "user", "assistant": "answer", "tool": "result"}


def refs_of(event: ev.RunEvent) -> list[ContentRef]:
    """The contents of an event that are searched."""
    return [ref for _, ref in _named(event) if is_ref(ref)]


def _named(event: ev.RunEvent) -> Iterator[tuple[str, ContentRef]]:
    """Yields the contents of an event that are searched, by the names of their fields."""
    if isinstance(event, ev.UnknownEvent):
        refs = object_at(event.original, "refs")
        yield from ((name, ContentRef(ref)) for name, ref in refs.items() if isinstance(ref, str))
        return
    for name in _ref_fields(type(event)):
        if (ref := getattr(event, name)) is not None:
            yield name, ref


@cache
def _ref_fields(kind: type[ev.Event]) -> tuple[str, ...]:
    return tuple(f.name for f in dataclasses.fields(kind) if f.metadata.get("ref") and f.name not in _NOT_TEXTS)


@cache
def _text_fields(kind: type[ev.Event]) -> tuple[str, ...]:
    """The fields that hold a text. The end of a call repeats the name of its start."""
    repeated = {"name", "model"} if issubclass(kind, _ENDS) else set[str]()
    names = {f.name for f in dataclasses.fields(kind)}
    return tuple(name for name in _WHERE_OF_FIELD if name in names - repeated)


def texts_of(event: ev.RunEvent, contents: ContentCache) -> Iterator[EventText]:
    """Yields the texts of an event that are searched: its names and errors, then its contents."""
    for name in _text_fields(type(event)):
        text = getattr(event, name)
        if isinstance(text, str) and text:
            yield EventText(_WHERE_OF_FIELD[name], None, 0, text)
    if isinstance(event, _ERRORS) and event.message:
        yield EventText("error", None, 0, event.message)
    if isinstance(event, ev.MessageAdded):
        yield from _texts_of_message(event, contents)
        return
    for name, ref in _named(event):
        value: JsonValue = contents.parsed(ref)
        if value is not None:
            yield EventText(_WHERE_OF_REF.get(name, "state"), ref, 0, text_of(value))


_ENDS = (ev.LlmCompleted, ev.LlmFailed, ev.ToolCompleted, ev.ToolFailed, ev.StepCompleted)
_WHERE_OF_FIELD: dict[str, Where] = {
    "name": "name", "model": "name", "key": "state", "tool": "name", "action": "answer", "to": "name",
    "error_type": "error", "comment": "state",
}  # fmt: skip
_ERRORS = (ev.RunFailed, ev.LlmFailed, ev.ToolFailed, ev.StepCompleted)


def _texts_of_message(event: ev.MessageAdded, contents: ContentCache) -> Iterator[EventText]:
    message: Message | None = contents.parsed_message(event.message)
    if message is None or event.message is None:
        return
    where = _BY_ROLE.get(message["role"], "system")
    for number, part in enumerate(message["parts"]):
        match part.get("type"):
            case "blob":
                pass
            case "tool_call":
                yield EventText("arguments", event.message, number, text_of(part.get("arguments") or ""))
            case "tool_call_response":
                yield EventText("result", event.message, number, text_of(part.get("response") or ""))
            case "reasoning":
                yield EventText("reasoning", event.message, number, text_of(part.get("content") or ""))
            case _:
                content = part.get("content", part.get("uri"))
                yield EventText(where, event.message, number, text_of(content or ""))

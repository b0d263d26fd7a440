"""[analysis]: the statements of a run after a compression, and the seqs with which messages entered before it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from playhead.model.canonical import canonical_json
from playhead.model.event import (
    ContextCompressed,
    LlmFailed,
    MessageAdded,
    RunEvent,
    RunFailed,
    ToolCalled,
    ToolCompleted,
    ToolFailed,
)
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead_collector.analysis.compression.needed_facts import LaterStatement
from playhead_collector.analysis.texts.passages import ASSISTANT, RESULT, Passage, passage_of, passages_of
from playhead_collector.analysis.transcript.failures import failure_text
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import ContentCache

# Events that are searched after a compression: lost facts are missed soon or never.
_MAX_EVENTS = 4_000
_TOLD = (MessageAdded, ToolCalled, ToolCompleted, ToolFailed, LlmFailed)

# The message of an error is part of its event.
_NOT_STORED, _MAX_ERROR = ContentRef(""), 4_000

CallIdentity = tuple[str, bytes]


async def entered_before(
    record: RunRecord, seq: int
) -> tuple[Mapping[ContentRef, Sequence[int]], Mapping[ContentRef, Sequence[str]]]:
    """Reads, for each message, the seqs below `seq` with which it entered the run; and the tags of those that have
    some."""
    entered: defaultdict[ContentRef, list[int]] = defaultdict(list)
    tags: dict[ContentRef, Sequence[str]] = {}
    async for block in record.onwards(0):
        for event in block:
            if isinstance(event, MessageAdded) and event.message is not None and event.seq < seq:
                entered[event.message].append(event.seq)
                if event.tags:
                    tags[event.message] = event.tags
        if block and block[-1].seq >= seq:
            break
    return entered, tags


def last_messages(entered: Mapping[ContentRef, Sequence[int]]) -> list[ContentRef]:
    """The last 4,000 messages by their first entry into the run."""
    return list(entered)[-_MAX_EVENTS:]


async def events_after(record: RunRecord, since: ContextCompressed) -> tuple[list[RunEvent], int]:
    """Returns messages, tool calls and errors of the same agent after the compression, the error that ended the run,
    and the last seq that was searched."""
    events: list[RunEvent] = []
    async for block in record.onwards(since.seq):
        for event in block:
            if (isinstance(event, _TOLD) and event.actor == since.actor) or isinstance(event, RunFailed):
                events.append(event)
                if len(events) == _MAX_EVENTS:
                    return events, event.seq
    return events, record.last


def refs_to_read(events: Iterable[RunEvent]) -> Iterator[ContentRef | None]:
    """Refs of the contents that these events need."""
    for event in events:
        match event:
            case MessageAdded():
                yield event.message
            case ToolCalled():
                yield event.arguments
            case ToolCompleted():
                yield event.result
            case _:
                pass


def calls_in(messages: Iterable[Message | None]) -> set[CallIdentity]:
    """The tool calls that messages request, by name and arguments."""
    parts = (part for message in messages if message for part in message["parts"])
    return {_call(part.get("name"), part.get("arguments")) for part in parts if part.get("type") == "tool_call"}


def statements_after(
    events: Iterable[RunEvent], cache: ContentCache, made: set[CallIdentity], added: set[ContentRef]
) -> Iterator[LaterStatement]:
    """Yields the texts and tool calls after the compression, in order. `made`: tool calls before it; `added`: messages
    that the compression itself added, which are left out."""
    for event in events:
        match event:
            case MessageAdded() if event.message is not None and event.message not in added:
                message = cache.parsed_message(event.message)
                if message is not None:
                    yield from statements_of_message(event.seq, event.message, message, made)
            case ToolCalled() if event.arguments is not None:
                value = cache.parsed(event.arguments)
                passage = passage_of(event.arguments, 0, ASSISTANT, value)
                again = _call(event.name, value) in made
                yield LaterStatement(event.seq, passage, event.name, event.call_id or event.span, again)
            case ToolCompleted() if event.result is not None:
                passage = passage_of(event.result, 0, RESULT, cache.parsed(event.result))
                failed = failure_text(passage.text) is not None
                yield LaterStatement(event.seq, passage, call=event.call_id or event.span, failed=failed)
            case ToolFailed() | LlmFailed() | RunFailed():
                text = f"{event.error_type}: {event.message}"
                yield LaterStatement(event.seq, Passage(_NOT_STORED, 0, RESULT, text[:_MAX_ERROR]), failed=True)
            case _:
                pass


def tool_call_passages(ref: ContentRef, message: Message) -> Iterator[tuple[str, str | None, Passage]]:
    """Yields the tool calls that a message requests: name, id, and arguments as a passage."""
    for number, part in enumerate(message["parts"]):
        if part.get("type") == "tool_call":
            passage = passage_of(ref, number, ASSISTANT, part.get("arguments") or {})
            yield str(part.get("name")), part.get("id"), passage


def statements_of_message(
    seq: int, ref: ContentRef, message: Message, made: set[CallIdentity]
) -> Iterator[LaterStatement]:
    """Yields the texts, results and tool calls of one message after the compression. `made`: tool calls before it."""
    for passage in passages_of(ref, message):
        part = message["parts"][passage.part]
        if passage.source == RESULT:
            failed = failure_text(passage.text) is not None
            yield LaterStatement(seq, passage, call=part.get("id"), failed=failed)
        else:
            yield LaterStatement(seq, passage)
    for name, call, passage in tool_call_passages(ref, message):
        arguments = message["parts"][passage.part].get("arguments")
        yield LaterStatement(seq, passage, name, call, _call(name, arguments) in made)


def _call(name: object, arguments: object) -> CallIdentity:
    return str(name), canonical_json(arguments)


def entry_seqs(refs: Sequence[ContentRef], entered: Mapping[ContentRef, Sequence[int]]) -> list[int | None]:
    """Returns the seq at which each message entered the run; equal messages get successive seqs as far as there are
    enough."""
    occurrences: Counter[ContentRef] = Counter()
    seqs: list[int | None] = []
    for ref in refs:
        times = entered.get(ref, ())
        seqs.append(times[min(occurrences[ref], len(times) - 1)] if times else None)
        occurrences[ref] += 1
    return seqs

"""What a compression lost, by the rules of the audit. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.compaction.conversations import CutConversation
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.model.token_estimates import estimate_message
from playhead.models.apis import APIS
from playhead.testing.request import JsonObject
from playhead_collector.analysis.compression.after_compression import (
    calls_in,
    statements_of_message,
    tool_call_passages,
)
from playhead_collector.analysis.compression.facts import FactIndex
from playhead_collector.analysis.compression.needed_facts import USED, find_needs, lost_and_preserved_facts
from playhead_collector.analysis.texts.passages import Passage, passages_of

_NOT_STORED = ContentRef("")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one conversation. `used`: lost facts that a later answer or tool call of the recorded run says,
    although nothing after the compression had told them again. Tokens are estimates, without the system prompt."""

    facts: int
    lost: int
    used: int
    tokens_before: int
    tokens_after: int
    is_changed: bool


def outcome(conversation: CutConversation, after: Sequence[JsonObject]) -> Outcome:
    """Compares the messages that are left of a conversation with those that it had."""
    before, left, later = _messages(conversation.before), _messages(after), _messages(conversation.later)
    remaining, ever = FactIndex(), FactIndex()
    for text in (conversation.system, *(passage.text for passage in _passages(left))):
        remaining.add(text)
    for text in (conversation.system, *(passage.text for passage in _passages(before))):
        ever.add(text)
    lost, preserved = lost_and_preserved_facts([(0, passage) for passage in _passages(before)], remaining)
    made = calls_in(before)
    statements = (
        statement
        for seq, message in enumerate(later, 1)
        for statement in statements_of_message(seq, _NOT_STORED, message, made)
    )
    find_needs(lost, statements, remaining, ever)
    return Outcome(
        facts=len(lost) + len(preserved),
        lost=len(lost),
        used=sum(any(need.how == USED for need in record.needs) for record in lost),
        tokens_before=_tokens(before),
        tokens_after=_tokens(left),
        is_changed=_texts(left) != _texts(before),
    )


def _messages(natives: Iterable[JsonObject]) -> list[Message]:
    return [APIS["chat"].to_message(native) for native in natives]


def _passages(messages: Iterable[Message]) -> Iterator[Passage]:
    for message in messages:
        yield from passages_of(_NOT_STORED, message)
        yield from (passage for _, _, passage in tool_call_passages(_NOT_STORED, message))


def _texts(messages: Iterable[Message]) -> list[str]:
    return [passage.text for passage in _passages(messages) if passage.text]


def _tokens(messages: Iterable[Message]) -> int:
    return round(sum(map(estimate_message, messages)))

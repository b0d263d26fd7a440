"""[analysis]: audits a compression: what became of each message, which facts were lost or preserved, and which of the
lost ones were needed later.  Pure.

A fact of a removed message is preserved if the next call's context has it: the summary, the system instructions, or a
message that was kept or is new.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from playhead.model.canonical import text_of
from playhead.model.event import ContextCompressed, RunEvent
from playhead.model.ref import ContentRef
from playhead.projection.cuts import UNKNOWN, is_same_conversation
from playhead.projection.known_messages import KnownMessages
from playhead.projection.message_diff import pair_by_meaning
from playhead.projection.message_outcomes import DROPPED, KEPT, SUMMARISED, MessageOutcomes, with_replacements
from playhead.projection.summary_texts import says_summary
from playhead.wire.operations.compression import (
    CompressionAudit,
    ContextMessage,
    FactNeeded,
    KeptIn,
    LostFact,
    PreservedFact,
    RecordedCompression,
)
from playhead.wire.operations.reasoning import Quoted
from playhead_collector.analysis.compression import rules
from playhead_collector.analysis.compression.after_compression import (
    calls_in,
    entry_seqs,
    last_messages,
    statements_after,
    tool_call_passages,
)
from playhead_collector.analysis.compression.facts import Fact, FactIndex
from playhead_collector.analysis.compression.grouped_needs import facts_of_messages, grouped_needs, needs_of_facts
from playhead_collector.analysis.compression.needed_facts import (
    FactNeed,
    LostFactRecord,
    PreservedFactRecord,
    TextSpan,
    find_needs,
    lost_and_preserved_facts,
)
from playhead_collector.analysis.rules import StrengthRule
from playhead_collector.analysis.texts.limits import readable
from playhead_collector.analysis.texts.passages import SYSTEM, Passage, passages_of, quoted
from playhead_collector.read.values import ContentCache, known_messages

_MAX_FACTS, _MAX_QUOTES = 500, 3
BY_RULE: Final = "rule"


@dataclass(frozen=True, slots=True)
class AuditInput:
    """Input of an audit. `entered`: seqs with which messages entered the run before. `events`: events after the
    compression, searched up to seq `searched_to`. `system`: system instructions of the next call."""

    event: ContextCompressed
    outcomes: MessageOutcomes
    cache: ContentCache
    entered: Mapping[ContentRef, Sequence[int]]
    events: Sequence[RunEvent]
    searched_to: int
    system: ContentRef | None
    tags: Mapping[ContentRef, Sequence[str]] = field(default_factory=dict[ContentRef, Sequence[str]])


def audit(head: RecordedCompression, audit_input: AuditInput) -> CompressionAudit:
    """Builds the whole answer. `head`: the compression as an answer."""
    event, cache = audit_input.event, audit_input.cache
    diff = audit_input.outcomes.diff
    messages = known_messages(cache, {*diff.before, *diff.after})
    paired = replace(audit_input.outcomes, diff=pair_by_meaning(diff, messages))
    outcomes = with_replacements(paired, messages)
    audit_input = replace(audit_input, outcomes=outcomes)
    lost, preserved, remaining = _lost_and_preserved(audit_input)
    missed = [record for record in lost if record.needs]
    listed = [*missed, *(record for record in lost if not record.needs)][:_MAX_FACTS]
    seqs = entry_seqs(outcomes.diff.before, audit_input.entered)
    rule, reason = _recognition(event, outcomes, messages)
    moved = outcomes.moved()
    needs = needs_of_facts(lost)
    facts = facts_of_messages(lost, needs)

    def context_messages(outcome: str) -> list[ContextMessage]:
        positions = outcomes.positions(outcome)
        return [
            _context_message(audit_input, messages, seqs[position], position, moved, facts) for position in positions
        ]

    return {
        **head,
        "kept": context_messages(KEPT),
        "summarised": context_messages(SUMMARISED),
        "dropped": context_messages(DROPPED),
        "summary": cache.parsed_message(event.summary),
        "strength": rule.strength,
        "rule": rule.name,
        "reason": reason,
        "needs": grouped_needs(needs),
        "lost": [_lost_fact(record) for record in listed],
        "lost_total": len(lost),
        "needed_total": len(missed),
        "preserved": [_preserved_fact(record, remaining) for record in preserved[:_MAX_FACTS]],
        "preserved_total": len(preserved),
        "searched_to": audit_input.searched_to,
        "missing": cache.missing,
    }


# --- facts -----------------------------------------------------------------------------------------------------------

IN_SUMMARY, IN_SYSTEM, IN_KEPT = "summary", "system", "kept"
_SORTS = (IN_SUMMARY, IN_SYSTEM, IN_KEPT)
# Texts of each sort that are searched for a fact word by word. In further texts, only the sort is reported.
_MAX_TEXTS = 1_000


@dataclass(slots=True)
class ContextLeft:
    """The texts of the context after a compression, by sort: the summary, the system instructions, and messages that
    were kept or are new."""

    whole: FactIndex = field(default_factory=FactIndex)
    """Index of all texts."""
    _texts: dict[str, list[Passage]] = field(default_factory=lambda: {where: list[Passage]() for where in _SORTS})
    _indexes: dict[str, FactIndex] = field(default_factory=lambda: {where: FactIndex() for where in _SORTS})

    def add(self, where: str, passage: Passage) -> None:
        """Adds a text of the sort `where`."""
        self.whole.add(passage.text)
        self._indexes[where].add(passage.text)
        self._texts[where].append(passage)

    def places_of(self, fact: Fact) -> list[KeptIn]:
        """Returns one place for each sort that has the fact: its first literal occurrence, else (in another form) only
        the sort."""
        return [
            next(self._literally(where, fact), _place_without_position(where))
            for where in _SORTS
            if self._indexes[where].has(fact)
        ]

    def _literally(self, where: str, fact: Fact) -> Iterator[KeptIn]:
        for passage in self._texts[where][:_MAX_TEXTS]:
            start = passage.text.find(fact.text)
            if start >= 0:
                place = _place_without_position(where)
                end = start + len(fact.text)
                yield {**place, "ref": passage.content, "part": passage.part, "start": start, "end": end}


def _place_without_position(where: str) -> KeptIn:
    return {"where": where, "ref": None, "part": None, "start": None, "end": None}


def _lost_and_preserved(audit_input: AuditInput) -> tuple[list[LostFactRecord], list[PreservedFactRecord], ContextLeft]:
    """Returns lost facts with the evidence that they were needed, preserved facts, and the remaining context."""
    outcomes, cache = audit_input.outcomes, audit_input.cache
    remaining = ContextLeft()
    for where, passage in remaining_passages(audit_input):
        remaining.add(where, passage)
    removed = [*removed_passages(audit_input)]
    lost, preserved = lost_and_preserved_facts(removed, remaining.whole)
    calls = calls_in(map(cache.parsed_message, outcomes.diff.before))
    brought = {outcomes.diff.after[position] for position in outcomes.diff.added}
    ever = FactIndex()
    for ref in {*last_messages(audit_input.entered), *outcomes.diff.before} if lost else ():
        for passage in _passages(cache, ref):
            ever.add(passage.text)
    find_needs(lost, statements_after(audit_input.events, cache, calls, brought), remaining.whole, ever)
    return lost, preserved, remaining


def remaining_passages(audit_input: AuditInput) -> Iterator[tuple[str, Passage]]:
    """Yields the texts of the context after the compression, each with its sort; see `ContextLeft`."""
    cache = audit_input.cache
    if audit_input.system is not None:
        text = readable(text_of(cache.parsed(audit_input.system)), audit_input.system)
        yield IN_SYSTEM, Passage(audit_input.system, 0, SYSTEM, text)
    for ref in audit_input.outcomes.diff.after:
        for passage in _passages(cache, ref):
            yield IN_SUMMARY if ref == audit_input.event.summary else IN_KEPT, passage


def removed_passages(audit_input: AuditInput) -> Iterator[tuple[int, Passage]]:
    """Yields the texts of the removed messages, each with the seq of the event that added it."""
    outcomes = audit_input.outcomes
    seqs = entry_seqs(outcomes.diff.before, audit_input.entered)
    for position in sorted([*outcomes.positions(SUMMARISED), *outcomes.positions(DROPPED)]):
        for passage in _passages(audit_input.cache, outcomes.diff.before[position]):
            yield seqs[position] or audit_input.event.seq, passage


def _passages(cache: ContentCache, ref: ContentRef) -> Iterator[Passage]:
    """All passages of a message, including the arguments of the tool calls that it requests."""
    message = cache.parsed_message(ref)
    if message is not None:
        yield from passages_of(ref, message)
        yield from (passage for _, _, passage in tool_call_passages(ref, message))


# --- by which rule ---------------------------------------------------------------------------------------------------


def _recognition(
    event: ContextCompressed, outcomes: MessageOutcomes, messages: KnownMessages
) -> tuple[StrengthRule, str]:
    if event.origin == "declared":
        return rules.DECLARED, "declared by who made it"
    if event.origin == "provider" and not outcomes.diff.removed:
        return rules.DECLARED, "the provider says that it edited what the model saw"
    if event.origin == "provider" and event.summary is not None and messages.compaction(event.summary) == "":
        return rules.ENCRYPTED, "the provider's summary is encrypted: facts that it may have are listed as lost"
    if event.origin == "provider" and event.summariser == event.span:
        return rules.DECLARED, "the provider says that it summarised what it was sent"
    went = f"{len(outcomes.diff.removed)} of {len(outcomes.diff.before)} messages are not in the next call's input"
    if event.strategy == UNKNOWN:
        return rules.UNKNOWN_KIND, f"{went}, later ones are; how they were left out is not known"
    if event.summary is None:
        return rules.MESSAGES_GONE, f"{went}, what was said last is"
    if event.summariser is not None:
        return rules.WRITTEN_BY_A_CALL, f"{went}; what stands in their place was written by a model call of its own"
    text = messages.text(event.summary)
    if says_summary(text):
        return rules.SAYS_SUMMARY, f"{went}; a new message says that it is a summary"
    goes_on = is_same_conversation(outcomes.diff, outcomes.input_length, messages)
    if not text or not goes_on:
        return rules.NEW_IN_PLACE, f"{went}; a new message stands in their place"
    return rules.NEW_BEFORE_KEPT, f"{went}; a new message stands in their place, before those that were kept"


# --- answers ---------------------------------------------------------------------------------------------------------


def _context_message(
    audit_input: AuditInput,
    messages: KnownMessages,
    seq: int | None,
    position: int,
    moved: Container[int],
    facts: tuple[Mapping[int, int], Mapping[int, int]],
) -> ContextMessage:
    outcomes = audit_input.outcomes
    lost, needed = facts
    is_gone = outcomes.by_position[position] != KEPT
    ref = outcomes.diff.before[position]
    new = outcomes.replacements.get(position)
    answer: ContextMessage = {
        "position": position,
        "seq": seq,
        "role": messages.roles.get(ref),
        "message": ref,
        "after": outcomes.diff.kept.get(position),
        "moved": position in moved,
        "summary": audit_input.event.summary if outcomes.by_position[position] == SUMMARISED else None,
        "replaced_by": None if new is None else outcomes.diff.after[new],
        "lost": lost.get(seq, 0) if is_gone and seq is not None else 0,
        "needed": needed.get(seq, 0) if is_gone and seq is not None else 0,
        "tags": [*audit_input.tags.get(ref, ())],
        "preserved": ref in audit_input.event.preserved,
    }
    if is_gone:
        answer["value"] = audit_input.cache.parsed_message(ref)
    return answer


def _lost_fact(lost: LostFactRecord) -> LostFact:
    return {
        "by": BY_RULE,
        "kind": lost.fact.kind,
        "text": lost.fact.text,
        "label": lost.fact.label or None,
        "times": len(lost.occurrences),
        "quotes": [_quote_of(words) for words in lost.occurrences[:_MAX_QUOTES]],
        "needed": [_need_answer(need) for need in lost.needs],
    }


def _preserved_fact(preserved: PreservedFactRecord, remaining: ContextLeft) -> PreservedFact:
    return {
        "by": BY_RULE,
        "kind": preserved.fact.kind,
        "text": preserved.fact.text,
        "label": preserved.fact.label or None,
        "times": len(preserved.occurrences),
        "quotes": [_quote_of(words) for words in preserved.occurrences[:_MAX_QUOTES]],
        "kept_in": remaining.places_of(preserved.fact),
    }


def _need_answer(need: FactNeed) -> FactNeeded:
    return {
        "how": need.how,
        "seq": need.seq,
        "value": need.value,
        "quotes": [_quote_of(words) for words in need.words],
        "strength": need.rule.strength,
        "rule": need.rule.name,
    }


def _quote_of(words: TextSpan) -> Quoted:
    return quoted(words.seq, words.passage, words.start, words.end)

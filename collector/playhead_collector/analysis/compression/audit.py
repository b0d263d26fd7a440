"""[analysis]: a compression, message by message and fact by fact: what it lost, and what of that was needed.  Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from playhead.model.event import ContextCompressed, RunEvent
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.project.context import cut_kinds
from playhead.project.context.known_messages import Known
from playhead.wire.answers.analysis.compression import Compression, CompressionAudit, FactNeeded, LostFact, MessagePlace
from playhead.wire.answers.analysis.reasoning import Quoted
from playhead_collector.analysis.compression.after import asked_passages, calls_in, recently, told_later
from playhead_collector.analysis.compression.facts import Stock
from playhead_collector.analysis.compression.needed_facts import Lost, Need, Words, find_needs, lost_facts
from playhead_collector.analysis.compression.outcome import (
    DROPPED,
    KEPT,
    SUMMARISED,
    Account,
    pair_up,
    retained,
    seqs_of,
)
from playhead_collector.analysis.texts.limits import readable
from playhead_collector.analysis.texts.passages import Passage, passages_of
from playhead_collector.read.values import Shelf, text_of

_MOST_FACTS, _PLACES = 500, 3
_LONGEST_QUOTE = 300


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that an audit rests on.  `entered`: when messages had entered the run; `events`: what came later."""

    event: ContextCompressed
    account: Account
    shelf: Shelf
    entered: Mapping[ContentRef, Sequence[int]]
    events: Sequence[RunEvent]
    searched_to: int
    system: ContentRef | None


def audit(head: Compression, evidence: Evidence) -> CompressionAudit:
    """The whole answer."""
    event, account, shelf = evidence.event, evidence.account, evidence.shelf
    known = _known(account, shelf)
    pair_up(account, known)
    lost = _lost(evidence)
    missed = [each for each in lost if each.needs]
    shown = [*missed, *(each for each in lost if not each.needs)][:_MOST_FACTS]
    seqs = seqs_of(account.change.before, evidence.entered)
    confidence, reason = _how_sure(event, account, known)
    return {
        **head,
        "kept": [_place(evidence, known, seqs, place) for place in account.places(KEPT)],
        "summarised": [_place(evidence, known, seqs, place) for place in account.places(SUMMARISED)],
        "dropped": [_place(evidence, known, seqs, place) for place in account.places(DROPPED)],
        "summary": shelf.parsed_message(event.summary),
        "confidence": confidence,
        "reason": reason,
        "lost": [_lost_fact(each) for each in shown],
        "lost_total": len(lost),
        "needed_total": len(missed),
        "searched_to": evidence.searched_to,
        "missing": shelf.missing,
    }


def _known(account: Account, shelf: Shelf) -> Known:
    messages: dict[ContentRef, Message] = {}
    for ref in {*account.change.before, *account.change.after}:
        message = shelf.parsed_message(ref)
        if message is not None:
            messages[ref] = message
    return Known({ref: message["role"] for ref, message in messages.items()}, messages)


# --- facts ------------------------------------------------------------------------------------------------------------


def _lost(evidence: Evidence) -> list[Lost]:
    """Facts that went, with how they were needed."""
    account, shelf = evidence.account, evidence.shelf
    made = retained(account, evidence.event)
    left = Stock()
    if evidence.system is not None:
        left.add(readable(text_of(shelf.parsed(evidence.system)), evidence.system))
    for place in made:
        for passage in _passages(shelf, account.change.after[place]):
            left.add(passage.text)
    gone = sorted([*account.places(SUMMARISED), *account.places(DROPPED)])
    seqs = seqs_of(account.change.before, evidence.entered)
    said = [
        (seqs[place] or evidence.event.seq, passage)
        for place in gone
        for passage in _passages(shelf, account.change.before[place])
    ]
    lost = lost_facts(said, left)
    calls = calls_in(map(shelf.parsed_message, account.change.before))
    brought = {account.change.after[place] for place in {*made} & {*account.change.came}}
    ever = Stock()
    for ref in {*recently(evidence.entered), *account.change.before} if lost else ():
        for passage in _passages(shelf, ref):
            ever.add(passage.text)
    find_needs(lost, told_later(evidence.events, shelf, calls, brought), left, ever)
    return lost


def _passages(shelf: Shelf, ref: ContentRef) -> Iterator[Passage]:
    """All that a message says, the arguments of the calls that it asks for included."""
    message = shelf.parsed_message(ref)
    if message is not None:
        yield from passages_of(ref, message)
        yield from (passage for _, _, passage in asked_passages(ref, message))


# --- how sure ---------------------------------------------------------------------------------------------------------


def _how_sure(event: ContextCompressed, account: Account, known: Known) -> tuple[float, str]:
    if event.origin == "declared":
        return 1.0, "declared by who made it"
    went = f"{len(account.change.went)} of {len(account.change.before)} messages are not in the next call's input"
    if event.summary is None:
        return 0.95, f"{went}, what was said last is"
    text = known.text(event.summary)
    if cut_kinds.says_summary(text):
        return 0.95, f"{went}; a new message says that it is a summary"
    goes_on = cut_kinds.goes_on(account.change, account.asked, known)
    if not text or not goes_on:
        return 0.7, f"{went}; a new message stands in their place"
    return 0.8, f"{went}; a new message stands in their place, before those that were kept"


# --- answers ----------------------------------------------------------------------------------------------------------


def _place(evidence: Evidence, known: Known, seqs: Sequence[int | None], place: int) -> MessagePlace:
    account = evidence.account
    ref = account.change.before[place]
    new = account.pairs.get(place)
    answer: MessagePlace = {
        "position": place,
        "seq": seqs[place],
        "role": known.roles.get(ref),
        "message": ref,
        "after": account.change.stayed.get(place),
        "summary": evidence.event.summary if account.fates[place] == SUMMARISED else None,
        "replaced_by": None if new is None else account.change.after[new],
    }
    if account.fates[place] != KEPT:
        answer["value"] = evidence.shelf.parsed_message(ref)
    return answer


def _lost_fact(lost: Lost) -> LostFact:
    return {
        "kind": lost.fact.kind,
        "text": lost.fact.text,
        "label": lost.fact.label or None,
        "times": len(lost.places),
        "places": [_quoted(words) for words in lost.places[:_PLACES]],
        "needed": [_needed(need) for need in lost.needs],
    }


def _needed(need: Need) -> FactNeeded:
    return {
        "how": need.how,
        "seq": need.seq,
        "value": need.value,
        "quotes": [_quoted(words) for words in need.words],
        "confidence": need.confidence,
    }


def _quoted(words: Words) -> Quoted:
    end = min(words.end, words.start + _LONGEST_QUOTE)
    return {
        "seq": words.seq,
        "ref": words.passage.content,
        "part": words.passage.part,
        "start": words.start,
        "end": end,
        "text": words.passage.text[words.start : end],
    }

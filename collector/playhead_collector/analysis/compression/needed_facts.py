"""[analysis]: which of the facts that a compression lost were needed afterwards.  Pure.

| how | what is seen later |
|---|---|
| asked_again | the agent asks, and the user's next message has the fact |
| told_again | a user's message has it, unasked |
| looked_up_again | a tool that reads gives it once more, and the agent then uses it |
| wrong_value | the agent names another value under the same name, which nobody has ever said |
| used | the agent uses it although nothing in its context said it any more |

A fact is not needed just because a result has it: a read returns whole records, and a write echoes them.  So a fact of
a read counts once the agent uses it, and one of a write (by the tool's name, see `writes`) is only back in the context.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from playhead_collector.analysis.compression import rules
from playhead_collector.analysis.compression.facts import (
    DATE,
    IDENTIFIER,
    NAME,
    NUMBER,
    Fact,
    FactIndex,
    facts_in,
    label_words,
)
from playhead_collector.analysis.rules import StrengthRule
from playhead_collector.analysis.texts.passages import RESULT, USER, Passage
from playhead_collector.analysis.texts.words import name_words, words_in

ASKED, TOLD, LOOKED_UP, WRONG, USED = "asked_again", "told_again", "looked_up_again", "wrong_value", "used"
# Most lost facts that one new value of a kind may replace, in arguments and in prose: numbers and dates may have been
# computed, so that one which may replace several proves nothing.
_MOST_RIVALS = {IDENTIFIER: (3, 3), NAME: (3, 2), DATE: (2, 2), NUMBER: (2, 1)}
# A label of more lost facts than this (the rows of a table) does not tell which value would have been right.
_ROWS = 3
_COMPARED = (IDENTIFIER, NUMBER, DATE, NAME)
# A fact that was used is needed; a thousand more uses of it say nothing new.
_EACH = 5
# Facts waiting to be used that are searched for in each text that the agent writes.
_MAX_WAITING = 256
# First verbs in the names of tools that change something; their results are echoes.
_WRITE_VERBS = (
    "add append apply approve archive assign book buy cancel change charge checkout clear close commit confirm copy "
    "create decline delete deploy disable drop edit enable exchange execute insert install make mark merge "
    "modify move notify patch pay post publish purchase push put refund register remove rename replace "
    "reply reschedule reserve reset restore return revoke save schedule send set start stop submit transfer undo "
    "uninstall update upload upsert write"
)
_READ_VERBS = "check describe fetch find get list look lookup query read search show view"
_WRITES, _READS = frozenset(_WRITE_VERBS.split()), frozenset(_READ_VERBS.split())
_MAX_TOOL_LENGTH = 200


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A range of a text of an event."""

    seq: int
    passage: Passage
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class LaterStatement:
    """A statement after the compression: a passage, or the arguments of a tool call (`tool`).

    `call`: which call it asks for, or answers; `again`: the same call had been made before the compression.
    """

    seq: int
    passage: Passage
    tool: str | None = None
    call: str | None = None
    again: bool = False


@dataclass(frozen=True, slots=True)
class FactNeed:
    """Evidence that a lost fact was needed later."""

    how: str
    seq: int
    rule: StrengthRule
    words: tuple[TextSpan, ...]
    value: str | None = None


@dataclass(slots=True)
class LostFactRecord:
    """A fact that is neither in the summary nor in what was kept, with the places where it was."""

    fact: Fact
    occurrences: list[TextSpan]
    from_tool: bool = False
    pending_need: FactNeed | None = None
    """A tool gave it again; it is needed once the agent uses it."""
    needs: list[FactNeed] = field(default_factory=list[FactNeed])


@dataclass(slots=True)
class PreservedFactRecord:
    """A fact that the summary or a kept message has, too, with its places in the removed messages."""

    fact: Fact
    occurrences: list[TextSpan]


def facts_gone(
    gone: Iterable[tuple[int, Passage]], left: FactIndex
) -> tuple[list[LostFactRecord], list[PreservedFactRecord]]:
    """Facts (see `facts.py`) that occur in removed messages, each with the seq of the event that added it: those that
    `left` does not have, and those that it has."""
    lost: dict[tuple[str, str], LostFactRecord] = {}
    preserved: dict[tuple[str, str], PreservedFactRecord] = {}
    for seq, passage in gone:
        for fact in facts_in(passage.text):
            key, span = (fact.kind, fact.norm), TextSpan(seq, passage, fact.start, fact.end)
            if key in preserved or (key not in lost and left.has(fact)):
                preserved.setdefault(key, PreservedFactRecord(fact, [])).occurrences.append(span)
                continue
            record = lost.setdefault(key, LostFactRecord(fact, []))
            record.occurrences.append(span)
            record.from_tool = record.from_tool or passage.source == RESULT
    return list(lost.values()), list(preserved.values())


def find_needs(
    lost: Sequence[LostFactRecord], later: Iterable[LaterStatement], left: FactIndex, ever: FactIndex
) -> None:
    """Adds to each lost fact the evidence that it was needed. `left`: index of the context after the compression,
    extended by later statements; `ever`: index of everything before.
    """
    finding = _NeedFinder(lost, left, ever)
    for each in later:
        finding.take(each)


class _NeedFinder:
    def __init__(self, lost: Sequence[LostFactRecord], left: FactIndex, ever: FactIndex) -> None:
        self.left, self.ever = left, ever
        self.by_norm = {(each.fact.kind, each.fact.norm): each for each in lost}
        self.by_label: defaultdict[tuple[str, str], list[LostFactRecord]] = defaultdict(list)
        for each in lost:
            for word in label_words(each.fact.label) if each.fact.kind in _COMPARED else ():
                self.by_label[each.fact.kind, word].append(each)
        self.question: TextSpan | None = None
        self.call: LaterStatement | None = None
        self.calls: dict[str, LaterStatement] = {}
        # Facts that are back in the context: using them proves nothing any more.
        self.back: set[tuple[str, str]] = set()
        self.waiting: defaultdict[str, list[LostFactRecord]] = defaultdict(list)
        """By their first word."""

    def take(self, each: LaterStatement) -> None:
        source = each.passage.source
        facts = facts_in(each.passage.text)
        if source == USER:
            self._note_statement(each, facts)
        elif source == RESULT:
            self._looked_up(each, facts)
        else:
            self._said(each, facts)
        self.left.add(each.passage.text)
        if each.tool is not None:
            self.call = each
            if each.call is not None:
                self.calls.setdefault(each.call, each)
        elif source not in (USER, RESULT):
            self.question = _question(each)
        elif source == USER:
            self.question = None

    def _note_statement(self, each: LaterStatement, facts: Sequence[Fact]) -> None:
        how, rule = (TOLD, rules.TOLD_AGAIN) if self.question is None else (ASKED, rules.ASKED_AGAIN)
        evidence = () if self.question is None else (self.question,)
        for fact, lost in self._lost(facts):
            seq = self.question.seq if self.question else each.seq
            self._note(lost, FactNeed(how, seq, rule, (*evidence, _words(each, fact))))

    def _looked_up(self, each: LaterStatement, facts: Sequence[Fact]) -> None:
        call = self.calls.get(each.call or "", self.call)
        for fact, lost in self._lost(facts):
            if lost.from_tool and call is not None and not writes(call.tool or ""):
                self._wait(lost, call, _words(each, fact))
            self.back.add((fact.kind, fact.norm))

    def _wait(self, lost: LostFactRecord, call: LaterStatement, found: TextSpan) -> None:
        first = next((word for word, _, _ in words_in(lost.fact.text)), None)
        if first is None or lost.pending_need is not None or (lost.fact.kind, lost.fact.norm) in self.back:
            return
        rule = rules.SAME_CALL_AGAIN if call.again else rules.LOOKED_UP_AGAIN
        asked = TextSpan(call.seq, call.passage, 0, len(call.passage.text))
        lost.pending_need = FactNeed(LOOKED_UP, call.seq, rule, (asked, found))
        self.waiting[first].append(lost)

    def _uses(self, each: LaterStatement, facts: Sequence[Fact]) -> None:
        """Marks facts as needed that were looked up again, and that the agent now names."""
        occurrences = {word: (start, end) for word, start, end in words_in(each.passage.text)} if self.waiting else {}
        near = [lost for word in occurrences if word in self.waiting for lost in self.waiting[word]]
        said = FactIndex()
        if near:
            said.add(each.passage.text)
        named = {(fact.kind, fact.norm): (fact.start, fact.end) for fact in facts}
        same = [self.by_norm[key] for key in named if key in self.by_norm]
        for lost in {id(lost): lost for lost in (*same, *near[:_MAX_WAITING])}.values():
            key = (lost.fact.kind, lost.fact.norm)
            if lost.pending_need is None or not (key in named or said.has(lost.fact)):
                continue
            need, lost.pending_need = lost.pending_need, None
            first = next(word for word, _, _ in words_in(lost.fact.text))
            self.waiting[first].remove(lost)
            used = TextSpan(each.seq, each.passage, *(named.get(key) or occurrences[first]))
            lost.needs.append(FactNeed(need.how, need.seq, need.rule, (*need.words, used)))

    def _said(self, each: LaterStatement, facts: Sequence[Fact]) -> None:
        self._uses(each, facts)
        for fact, lost in self._lost(facts):
            if not self.left.has(fact):
                self._note(lost, FactNeed(USED, each.seq, rules.USED_ANYWAY, (_words(each, fact),)))
        for fact in facts:
            if fact.kind in _COMPARED and not self.left.has(fact) and not self.ever.has(fact):
                self._compare(each, fact)

    def _compare(self, each: LaterStatement, fact: Fact) -> None:
        """Marks lost facts as needed if `fact`, which occurs nowhere before, has their label."""
        named = [self.by_label.get((fact.kind, word), []) for word in label_words(fact.label)]
        if any(len(lost) > _ROWS for lost in named):
            return
        rivals = list({id(lost): lost for each in named for lost in each}.values())
        if len(rivals) > _MOST_RIVALS[fact.kind][0 if each.tool else 1]:
            return
        rule = _rule_of_another(fact, in_arguments=each.tool is not None, rivals=len(rivals))
        for lost in rivals:
            if (lost.fact.kind, lost.fact.norm) not in self.back:
                self._note(lost, FactNeed(WRONG, each.seq, rule, (_words(each, fact),), fact.text), back=False)

    def _lost(self, facts: Sequence[Fact]) -> list[tuple[Fact, LostFactRecord]]:
        return [(fact, self.by_norm[key]) for fact in facts if (key := (fact.kind, fact.norm)) in self.by_norm]

    def _note(self, lost: LostFactRecord, need: FactNeed, *, back: bool = True) -> None:
        key = (lost.fact.kind, lost.fact.norm)
        # Once a fact is back in the context, its repetition is no need.
        if key not in self.back and len(lost.needs) < _EACH:
            lost.needs.append(need)
        if back:
            self.back.add(key)


def _rule_of_another(fact: Fact, *, in_arguments: bool, rivals: int) -> StrengthRule:
    """The rule for a value that occurs nowhere before and may replace `rivals` lost facts."""
    if rivals <= 1 and fact.kind == IDENTIFIER:
        return rules.OTHER_IDENTIFIER if in_arguments else rules.OTHER_VALUE
    return rules.OTHER_VALUE if rivals <= 1 and fact.kind == NAME and in_arguments else rules.OTHER_VALUE_UNCLEAR


def writes(tool: str) -> bool:
    """Whether a tool changes something, judged by the verb with which its name begins: `update_order`,
    `orders.cancel`.
    """
    parts = [name_words(part) for part in tool[-_MAX_TOOL_LENGTH:].split(".")]
    reads = any(word in _READS for words in parts for word in words)
    return not reads and any(word in _WRITES for words in parts for word in words[:1])


def _question(each: LaterStatement) -> TextSpan | None:
    """The last question in what the agent said."""
    text = each.passage.text
    end = text.rfind("?") + 1
    if not end:
        return None
    start = max(text.rfind(mark, 0, end - 1) for mark in ".!?\n") + 1
    return TextSpan(each.seq, each.passage, start + len(text[start:end]) - len(text[start:end].lstrip()), end)


def _words(each: LaterStatement, fact: Fact) -> TextSpan:
    return TextSpan(each.seq, each.passage, fact.start, fact.end)

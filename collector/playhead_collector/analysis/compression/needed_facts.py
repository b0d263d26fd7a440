"""[analysis]: finds which lost facts were needed after a compression.  Pure.

| how | evidence after the compression |
|---|---|
| asked_again | the agent asks, and the user's next message has the fact |
| told_again | a user's message has the fact, and the agent had not asked |
| looked_up_again | a tool that reads returns the fact again, and the agent then uses it |
| wrong_value | the agent uses another value with the same label or form, which is nowhere before, or a placeholder |
| missed | an answer or an error says that it is missing, or the agent asks for it in vain |
| used | the agent uses the fact although nothing in its context has it any more |

A fact is not needed only because a result has it: reads return whole records, and writes repeat them. So a fact in the
result of a read counts once the agent uses it. In the result of a write (by the tool's name, see `writes`) it does not
count, but is back in the context.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from playhead_collector.analysis.compression import rules
from playhead_collector.analysis.compression.absence import asks_for_something, form_of, placeholders, says_missing
from playhead_collector.analysis.compression.facts import (
    DATE,
    IDENTIFIER,
    NAME,
    NUMBER,
    PATH,
    URL,
    Fact,
    FactIndex,
    facts_in,
    label_words,
)
from playhead_collector.analysis.compression.statements import statements_in
from playhead_collector.analysis.rules import StrengthRule
from playhead_collector.analysis.texts.passages import RESULT, USER, Passage
from playhead_collector.analysis.texts.words import name_words, words_in

ASKED, TOLD, LOOKED_UP, WRONG, USED = "asked_again", "told_again", "looked_up_again", "wrong_value", "used"
MISSED = "missed"
# Most lost facts that one new value may stand for, by kind, in arguments and in prose. Numbers and dates may have been
# computed, so a value that may stand for several facts proves nothing.
_MOST_RIVALS = {IDENTIFIER: (3, 3), NAME: (3, 2), DATE: (2, 2), NUMBER: (2, 1)}
# A label that more lost facts have (the rows of a table) does not show which value would have been right.
_ROWS = 3
_COMPARED = (IDENTIFIER, NUMBER, DATE, NAME)
# Kinds that a text may name by their label alone; the word before a name or a quote is seldom what it is.
_NAMED = (IDENTIFIER, NUMBER, DATE, PATH, URL)
# Evidence that is kept for each fact: further uses add nothing.
_EACH = 5
# Facts waiting to be used that are searched for in each text that the agent writes.
_MAX_WAITING = 256
# Verbs with which names of tools begin that change something. Their results repeat what was written.
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
    """A text after the compression: a passage, or the arguments of a tool call (`tool`: its name).

    `call`: id of the tool call that it requests or answers. `again`: the same call was made before the compression.
    `failed`: it is an error, or the result of a failed call.
    """

    seq: int
    passage: Passage
    tool: str | None = None
    call: str | None = None
    again: bool = False
    failed: bool = False


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
    """A fact that the context after the compression does not have, with its occurrences in removed messages."""

    fact: Fact
    occurrences: list[TextSpan]
    labels: set[str] = field(default_factory=set[str])
    """The words of its labels wherever it occurs."""
    from_tool: bool = False
    pending_need: FactNeed | None = None
    """Evidence that a tool returned it again. It moves to `needs` once the agent uses the fact."""
    needs: list[FactNeed] = field(default_factory=list[FactNeed])


@dataclass(slots=True)
class PreservedFactRecord:
    """A fact that the context after the compression still has, with its occurrences in removed messages."""

    fact: Fact
    occurrences: list[TextSpan]


def lost_and_preserved_facts(
    gone: Iterable[tuple[int, Passage]], remaining: FactIndex
) -> tuple[list[LostFactRecord], list[PreservedFactRecord]]:
    """Returns the lost and the preserved facts (`facts.py`) and statements (`statements.py`) of removed passages: those
    that `remaining` does not have, and those that it has. `gone`: passages with the seq of the event that added
    them."""
    lost: dict[tuple[str, str], LostFactRecord] = {}
    preserved: dict[tuple[str, str], PreservedFactRecord] = {}
    for seq, passage in gone:
        for fact in (*facts_in(passage.text), *statements_in(passage)):
            key, span = (fact.kind, fact.norm), TextSpan(seq, passage, fact.start, fact.end)
            if key in preserved or (key not in lost and remaining.has(fact)):
                preserved.setdefault(key, PreservedFactRecord(fact, [])).occurrences.append(span)
                continue
            record = lost.setdefault(key, LostFactRecord(fact, []))
            record.occurrences.append(span)
            record.labels |= label_words(fact.label)
            record.from_tool = record.from_tool or passage.source == RESULT
    return list(lost.values()), list(preserved.values())


def find_needs(
    lost: Sequence[LostFactRecord], later: Iterable[LaterStatement], remaining: FactIndex, ever: FactIndex
) -> None:
    """Adds to each lost fact the evidence that it was needed. `remaining`: index of the context after the compression;
    `later` statements are added to it. `ever`: index of all texts before.
    """
    finding = _NeedFinder(lost, remaining, ever)
    for statement in later:
        finding.take(statement)


class _NeedFinder:
    def __init__(self, lost: Sequence[LostFactRecord], left: FactIndex, ever: FactIndex) -> None:
        self.left, self.ever = left, ever
        self.by_norm = {(record.fact.kind, record.fact.norm): record for record in lost}
        self.by_label: defaultdict[tuple[str, str], list[LostFactRecord]] = defaultdict(list)
        for record in lost:
            for word in label_words(record.fact.label) if record.fact.kind in _COMPARED else ():
                self.by_label[record.fact.kind, word].append(record)
        self.named: defaultdict[str, list[LostFactRecord]] = defaultdict(list)
        """Facts that a text may name, by the words of their labels."""
        self.by_form: defaultdict[str, list[LostFactRecord]] = defaultdict(list)
        for record in lost:
            for word in record.labels if record.fact.kind in _NAMED else ():
                self.named[word].append(record)
            if record.fact.kind == IDENTIFIER:
                self.by_form[form_of(record.fact.text)].append(record)
        self.question: TextSpan | None = None
        self.call: LaterStatement | None = None
        self.calls: dict[str, LaterStatement] = {}
        # Facts that are back in the context, so that using them proves nothing.
        self.back: set[tuple[str, str]] = set()
        self.waiting: defaultdict[str, list[LostFactRecord]] = defaultdict(list)
        """Facts that a tool returned again and the agent has not used yet, by their first word."""

    def take(self, statement: LaterStatement) -> None:
        source = statement.passage.source
        facts = facts_in(statement.passage.text)
        if source == USER:
            self._note_statement(statement, facts)
        elif source == RESULT:
            self._looked_up(statement, facts)
        else:
            self._check_statement(statement, facts)
        self._note_absence(statement)
        self.left.add(statement.passage.text)
        if statement.tool is not None:
            self.call = statement
            if statement.call is not None:
                self.calls.setdefault(statement.call, statement)
        elif source not in (USER, RESULT):
            self.question = _question(statement)
        elif source == USER:
            self.question = None

    def _note_statement(self, statement: LaterStatement, facts: Sequence[Fact]) -> None:
        how, rule = (TOLD, rules.TOLD_AGAIN) if self.question is None else (ASKED, rules.ASKED_AGAIN)
        evidence = () if self.question is None else (self.question,)
        for fact, lost in self._lost(facts):
            seq = self.question.seq if self.question else statement.seq
            lost.needs = [need for need in lost.needs if need.rule != rules.ASKED_IN_VAIN or need.seq != seq]
            self._note(lost, FactNeed(how, seq, rule, (*evidence, _words(statement, fact))))

    def _looked_up(self, statement: LaterStatement, facts: Sequence[Fact]) -> None:
        call = self.calls.get(statement.call or "", self.call)
        for fact, lost in self._lost(facts):
            if lost.from_tool and call is not None and not writes(call.tool or ""):
                self._wait(lost, call, _words(statement, fact))
            self.back.add((fact.kind, fact.norm))

    def _wait(self, lost: LostFactRecord, call: LaterStatement, span: TextSpan) -> None:
        first = next((word for word, _, _ in words_in(lost.fact.text)), None)
        if first is None or lost.pending_need is not None or (lost.fact.kind, lost.fact.norm) in self.back:
            return
        rule = rules.SAME_CALL_AGAIN if call.again else rules.LOOKED_UP_AGAIN
        request = TextSpan(call.seq, call.passage, 0, len(call.passage.text))
        lost.pending_need = FactNeed(LOOKED_UP, call.seq, rule, (request, span))
        self.waiting[first].append(lost)

    def _uses(self, statement: LaterStatement, facts: Sequence[Fact]) -> None:
        """Marks facts as needed that were looked up again and that this statement uses."""
        occurrences = (
            {word: (start, end) for word, start, end in words_in(statement.passage.text)} if self.waiting else {}
        )
        near = [lost for word in occurrences if word in self.waiting for lost in self.waiting[word]]
        index = FactIndex()
        if near:
            index.add(statement.passage.text)
        named = {(fact.kind, fact.norm): (fact.start, fact.end) for fact in facts}
        same = [self.by_norm[key] for key in named if key in self.by_norm]
        for lost in {id(lost): lost for lost in (*same, *near[:_MAX_WAITING])}.values():
            key = (lost.fact.kind, lost.fact.norm)
            if lost.pending_need is None or not (key in named or index.has(lost.fact)):
                continue
            need, lost.pending_need = lost.pending_need, None
            first = next(word for word, _, _ in words_in(lost.fact.text))
            self.waiting[first].remove(lost)
            used = TextSpan(statement.seq, statement.passage, *(named.get(key) or occurrences[first]))
            lost.needs.append(FactNeed(need.how, need.seq, need.rule, (*need.words, used)))

    def _check_statement(self, statement: LaterStatement, facts: Sequence[Fact]) -> None:
        self._uses(statement, facts)
        for fact, lost in self._lost(facts):
            if not self.left.has(fact):
                self._note(lost, FactNeed(USED, statement.seq, rules.USED_ANYWAY, (_words(statement, fact),)))
        for fact in facts:
            if fact.kind in _COMPARED and not self.left.has(fact) and not self.ever.has(fact):
                self._compare(statement, fact)

    def _note_absence(self, statement: LaterStatement) -> None:
        """Marks facts as needed that the statement calls missing or asks for, or for which it has a placeholder."""
        text, source = statement.passage.text, statement.passage.source
        if statement.tool is not None:
            for start, end, words in placeholders(text):
                rule, value = rules.PLACEHOLDER, text[start:end]
                self._note_named(statement, (start, end), words, FactNeed(WRONG, statement.seq, rule, (), value))
            return
        by_agent = source not in (USER, RESULT)
        if not (by_agent or statement.failed):
            return
        for start, end, words in says_missing(text, asks=by_agent):
            rule = rules.ASKED_IN_VAIN if by_agent and asks_for_something(text[start:end]) else rules.SAID_MISSING
            self._note_named(statement, (start, end), words, FactNeed(MISSED, statement.seq, rule, ()))

    def _note_named(
        self, statement: LaterStatement, place: tuple[int, int], words: Iterable[str], need: FactNeed
    ) -> None:
        for word in words:
            named = self.named.get(word, [])
            for lost in named if len(named) <= _ROWS else ():
                # An error after a wrong value is about that value.
                if not any(
                    other.how == WRONG or (other.how, other.seq) == (need.how, need.seq) for other in lost.needs
                ):
                    span = TextSpan(statement.seq, statement.passage, *place)
                    self._note(lost, replace(need, words=(span,)), back=False)

    def _compare(self, statement: LaterStatement, fact: Fact) -> None:
        """Marks lost facts as needed if `fact`, a value that occurs nowhere before, has their kind and label, or in the
        arguments of a call the form of one of them."""
        named = [self.by_label.get((fact.kind, word), []) for word in label_words(fact.label)]
        if any(len(lost) > _ROWS for lost in named):
            return
        rivals = list({id(lost): lost for each in named for lost in each}.values())
        if not rivals and statement.tool and fact.kind == IDENTIFIER and _has_letters(fact.text):
            alike = self.by_form.get(form_of(fact.text), [])
            rule = rules.OTHER_OF_FORM if len(alike) == 1 else rules.OTHER_VALUE_UNCLEAR
            for lost in alike if len(alike) <= _MOST_RIVALS[IDENTIFIER][0] else ():
                need = FactNeed(WRONG, statement.seq, rule, (_words(statement, fact),), fact.text)
                self._note(lost, need, back=False)
            return
        if len(rivals) > _MOST_RIVALS[fact.kind][0 if statement.tool else 1]:
            return
        rule = _rule_of_another(fact, in_arguments=statement.tool is not None, rivals=len(rivals))
        for lost in rivals:
            if (lost.fact.kind, lost.fact.norm) not in self.back:
                self._note(
                    lost, FactNeed(WRONG, statement.seq, rule, (_words(statement, fact),), fact.text), back=False
                )

    def _lost(self, facts: Sequence[Fact]) -> list[tuple[Fact, LostFactRecord]]:
        return [(fact, self.by_norm[key]) for fact in facts if (key := (fact.kind, fact.norm)) in self.by_norm]

    def _note(self, lost: LostFactRecord, need: FactNeed, *, back: bool = True) -> None:
        key = (lost.fact.kind, lost.fact.norm)
        # Once a fact is back in the context, repeating it is no evidence of a need.
        if key not in self.back and len(lost.needs) < _EACH:
            lost.needs.append(need)
        if back:
            self.back.add(key)


def _rule_of_another(fact: Fact, *, in_arguments: bool, rivals: int) -> StrengthRule:
    """The rule for a value that occurs nowhere before and may replace `rivals` lost facts."""
    if rivals <= 1 and fact.kind == IDENTIFIER:
        return rules.OTHER_IDENTIFIER if in_arguments else rules.OTHER_VALUE
    return rules.OTHER_VALUE if rivals <= 1 and fact.kind == NAME and in_arguments else rules.OTHER_VALUE_UNCLEAR


def _has_letters(text: str) -> bool:
    return any(character.isalpha() for character in text)


def writes(tool: str) -> bool:
    """Whether a tool changes something, judged by the verb with which its name begins: `update_order`,
    `orders.cancel`.
    """
    parts = [name_words(part) for part in tool[-_MAX_TOOL_LENGTH:].split(".")]
    reads = any(word in _READS for words in parts for word in words)
    return not reads and any(word in _WRITES for words in parts for word in words[:1])


def _question(statement: LaterStatement) -> TextSpan | None:
    """The last question in a text of the agent, or None."""
    text = statement.passage.text
    end = text.rfind("?") + 1
    if not end:
        return None
    start = max(text.rfind(mark, 0, end - 1) for mark in ".!?\n") + 1
    return TextSpan(statement.seq, statement.passage, start + len(text[start:end]) - len(text[start:end].lstrip()), end)


def _words(statement: LaterStatement, fact: Fact) -> TextSpan:
    return TextSpan(statement.seq, statement.passage, fact.start, fact.end)

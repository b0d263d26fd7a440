"""[analysis]: groups lost facts that were needed later: those that one later step needed, by the message that they were
read from.  Pure.

A fact may stand in several removed messages.  The one that it was read from is the one that says most of the facts that
the same step needed: a price stands in many listings, a price with its flight numbers in one.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from playhead.wire.operations.compression import NeededFacts
from playhead_collector.analysis.compression.needed_facts import FactNeed, LostFactRecord

_STRONGEST_FIRST = ("strong", "likely", "weak")


@dataclass(frozen=True, slots=True)
class NeedOfFact:
    """A lost fact with its strongest evidence, and the event of the message that it was read from."""

    fact: LostFactRecord
    need: FactNeed
    read_seq: int


def needs_of_facts(lost: Iterable[LostFactRecord]) -> list[NeedOfFact]:
    """Returns the facts that were needed, each once."""
    by_step: defaultdict[tuple[int, str], list[tuple[LostFactRecord, FactNeed]]] = defaultdict(list)
    for record in lost:
        if record.needs:
            need = min(record.needs, key=_weakness)
            by_step[need.seq, need.how].append((record, need))
    found: list[NeedOfFact] = []
    for pairs in by_step.values():
        said = Counter(seq for record, _ in pairs for seq in {words.seq for words in record.occurrences})
        found += [NeedOfFact(record, need, _read_from(record, said)) for record, need in pairs]
    return found


def _weakness(need: FactNeed) -> int:
    return _STRONGEST_FIRST.index(need.rule.strength)


def _read_from(record: LostFactRecord, said: Mapping[int, int]) -> int:
    return max((words.seq for words in record.occurrences), key=lambda seq: (said[seq], -seq))


def grouped_needs(needs: Sequence[NeedOfFact]) -> list[NeededFacts]:
    """Returns the groups as answers: the strongest first, then in order of the steps that needed them."""
    groups: defaultdict[tuple[int, str, int], list[NeedOfFact]] = defaultdict(list)
    for each in needs:
        groups[each.need.seq, each.need.how, each.read_seq].append(each)
    answers = [_answer(group) for group in groups.values()]
    return sorted(answers, key=lambda answer: (_STRONGEST_FIRST.index(answer["strength"]), answer["seq"]))


def _answer(group: Sequence[NeedOfFact]) -> NeededFacts:
    strongest = min((each.need for each in group), key=_weakness)
    used = max((words.seq for words in strongest.words), default=strongest.seq)
    return {
        "how": strongest.how,
        "seq": strongest.seq,
        "used_seq": used if used > strongest.seq else None,
        "read_seq": group[0].read_seq,
        "facts": list(dict.fromkeys(each.fact.fact.text for each in group)),
        "values": list(dict.fromkeys(each.need.value for each in group if each.need.value is not None)),
        "strength": strongest.rule.strength,
        "rule": strongest.rule.name,
    }


def facts_of_messages(lost: Iterable[LostFactRecord], needs: Iterable[NeedOfFact]) -> tuple[Counter[int], Counter[int]]:
    """Returns how many lost facts, and how many needed ones, each message has, by the seq of its event.

    A needed fact counts for the message that it was read from, any other for the first message that says it.
    """
    read = {id(each.fact): each.read_seq for each in needs}
    all_facts = Counter(read.get(id(record), record.occurrences[0].seq) for record in lost)
    return all_facts, Counter(read.values())

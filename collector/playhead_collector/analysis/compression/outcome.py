"""[analysis]: what became of each message of a context that was compressed.  Pure.

Every message of the context before is kept, summarised or dropped: one of the three, and none is forgotten.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from playhead.model.event import ContextCompressed
from playhead.model.ref import ContentRef
from playhead.project.context.cut_kinds import replaced
from playhead.project.context.known_messages import Known
from playhead.project.context.list_change import Change, compare

KEPT, SUMMARISED, DROPPED = "kept", "summarised", "dropped"


@dataclass(slots=True)
class Account:
    """The context before and after, and the fate of each place in the one before.

    `asked`: how many messages of the one before were a call's input; the others are its answer.
    """

    change: Change
    fates: list[str]
    asked: int
    pairs: dict[int, int] = field(default_factory=dict[int, int])
    """Places in the context before that have another message in their place now."""

    def places(self, fate: str) -> list[int]:
        """Where the messages of this fate were."""
        return [place for place, each in enumerate(self.fates) if each == fate]

    def count(self, fate: str) -> int:
        """How many messages this became of."""
        return self.fates.count(fate)


def account_of(event: ContextCompressed, before: Sequence[ContentRef], after: Sequence[ContentRef]) -> Account:
    """The account of a compression; `before` is the input of the call before, its answer follows from the event."""
    listed = Counter([*event.kept, *event.summarised, *event.dropped])
    answer = list((listed - Counter(before)).elements())
    whole = [*before, *answer]
    change = compare(whole, after)
    fates = [KEPT] * len(whole)
    open_places = _places_in_order(whole, change)
    for fate, refs in ((SUMMARISED, event.summarised), (DROPPED, event.dropped)):
        for ref in refs:
            fates[open_places[ref].pop(0)] = fate
    return Account(change, fates, len(before) or len(whole))


def pair_up(account: Account, known: Known) -> None:
    """Notes which messages have another in their place."""
    gone = {*account.places(DROPPED)}
    account.pairs = {old: new for old, new in replaced(account.change, known) if old in gone}


def retained(account: Account, event: ContextCompressed) -> list[int]:
    """Places in the context after that were made of the one before: kept, summary, replacements; not what was added."""
    change = account.change
    if event.origin == "declared":
        return list(range(len(change.after)))
    summary = change.after.index(event.summary) if event.summary in change.after else -1
    inner = {place for gap in change.gaps if not gap.last for place in gap.came}
    made = {*change.stayed.values(), *account.pairs.values(), *inner}
    return sorted({*made, *(place for place in change.came if place <= summary)})


def seqs_of(refs: Sequence[ContentRef], entered: Mapping[ContentRef, Sequence[int]]) -> list[int | None]:
    """Where each message had entered the run; of equal ones, each its own time as far as there are as many."""
    taken: Counter[ContentRef] = Counter()
    seqs: list[int | None] = []
    for ref in refs:
        times = entered.get(ref, ())
        seqs.append(times[min(taken[ref], len(times) - 1)] if times else None)
        taken[ref] += 1
    return seqs


def _places_in_order(whole: Sequence[ContentRef], change: Change) -> dict[ContentRef, list[int]]:
    """Places of each message, those first that are no longer there."""
    went = change.went
    gone = set(went)
    places: defaultdict[ContentRef, list[int]] = defaultdict(list)
    rest: Iterable[int] = (place for place in range(len(whole) - 1, -1, -1) if place not in gone)
    for place in (*went, *rest):
        places[whole[place]].append(place)
    return places

"""[analysis]: what happened to each message of a compressed context. Pure.

Each message of the context before is exactly one of kept, summarised and dropped.
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
class MessageFates:
    """The context before and after a compression, and what became of each message of the one before.

    `input_length`: how many messages of the one before were a call's input; the others are its answer.
    """

    diff: Change
    fate_by_position: list[str]
    input_length: int
    replacements: dict[int, int] = field(default_factory=dict[int, int])
    """Places in the context before that have another message in their place now."""

    def positions(self, fate: str) -> list[int]:
        """Positions of the messages with this fate."""
        return [position for position, each in enumerate(self.fate_by_position) if each == fate]

    def count(self, fate: str) -> int:
        """Number of messages with this fate."""
        return self.fate_by_position.count(fate)


def fates_of(event: ContextCompressed, before: Sequence[ContentRef], after: Sequence[ContentRef]) -> MessageFates:
    """Returns the fates of a compression's messages; `before` is the input of the previous call, whose answer is
    taken from the event."""
    listed = Counter([*event.kept, *event.summarised, *event.dropped])
    answer = list((listed - Counter(before)).elements())
    all_before = [*before, *answer]
    diff = compare(all_before, after)
    fates = [KEPT] * len(all_before)
    open_positions = _positions_in_order(all_before, diff)
    for fate, refs in ((SUMMARISED, event.summarised), (DROPPED, event.dropped)):
        for ref in refs:
            fates[open_positions[ref].pop(0)] = fate
    return MessageFates(diff, fates, len(before) or len(all_before))


def note_replacements(fates: MessageFates, known: Known) -> None:
    """Notes which dropped messages were replaced by another one."""
    gone = {*fates.positions(DROPPED)}
    fates.replacements = {old: new for old, new in replaced(fates.diff, known) if old in gone}


def retained(fates: MessageFates, event: ContextCompressed) -> list[int]:
    """Positions in the context after that come from the one before: kept messages, the summary and replacements, but
    not additions."""
    diff = fates.diff
    if event.origin == "declared":
        return list(range(len(diff.after)))
    summary = diff.after.index(event.summary) if event.summary in diff.after else -1
    inner = {position for gap in diff.gaps if not gap.last for position in gap.came}
    made = {*diff.stayed.values(), *fates.replacements.values(), *inner}
    return sorted({*made, *(position for position in diff.came if position <= summary)})


def entry_seqs(refs: Sequence[ContentRef], entered: Mapping[ContentRef, Sequence[int]]) -> list[int | None]:
    """Returns the seq at which each message entered the run; equal messages get successive seqs as far as there are
    enough."""
    taken: Counter[ContentRef] = Counter()
    seqs: list[int | None] = []
    for ref in refs:
        times = entered.get(ref, ())
        seqs.append(times[min(taken[ref], len(times) - 1)] if times else None)
        taken[ref] += 1
    return seqs


def _positions_in_order(all_before: Sequence[ContentRef], diff: Change) -> dict[ContentRef, list[int]]:
    """Positions of each message; those at which it left the context come first."""
    went = diff.went
    gone = set(went)
    positions: defaultdict[ContentRef, list[int]] = defaultdict(list)
    rest: Iterable[int] = (position for position in range(len(all_before) - 1, -1, -1) if position not in gone)
    for position in (*went, *rest):
        positions[all_before[position]].append(position)
    return positions

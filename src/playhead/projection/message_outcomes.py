"""Decides what happened to each message of a context. Pure.

Each message of the context before is exactly one of kept, summarised and dropped.  A dropped
message may be replaced by another one (`replacements`).  Used by the projector for its events, by the audits of
compressions (`outcomes_of_event`), and by the difference of two contexts.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from playhead.model.event import ContextCompressed
from playhead.model.ref import ContentRef
from playhead.projection.known_messages import KnownMessages
from playhead.projection.message_diff import MessageListDiff, diff_messages

KEPT, SUMMARISED, DROPPED = "kept", "summarised", "dropped"


@dataclass(frozen=True, slots=True)
class MessageOutcomes:
    """The contexts before and after (`diff`), and the outcome of each message of the context before, by its position.

    `replacements`: for each dropped message that was replaced, its position in `before` → the replacement's in `after`.
    `input_length`: how many messages of `before` were the last call's input; the others are its answer.
    """

    diff: MessageListDiff
    by_position: Sequence[str]
    input_length: int
    replacements: Mapping[int, int] = field(default_factory=dict[int, int])

    def positions(self, outcome: str) -> list[int]:
        """Positions of the messages with this outcome."""
        return [position for position, other in enumerate(self.by_position) if other == outcome]

    def moved(self) -> set[int]:
        """Positions of the messages that are still in the context, but in another order: as few as explain it."""
        kept = sorted(self.diff.kept)
        places = [self.diff.kept[position] for position in kept]
        return {kept[number] for number in range(len(kept))} - {kept[number] for number in longest_rise(places)}

    def count(self, outcome: str) -> int:
        """Number of messages with this outcome."""
        return self.by_position.count(outcome)

    def refs(self, outcome: str) -> tuple[ContentRef, ...]:
        """The messages with this outcome, in the order of the context before."""
        return tuple(self.diff.before[position] for position in self.positions(outcome))


def message_outcomes(diff: MessageListDiff, summarised: Iterable[int] = ()) -> MessageOutcomes:
    """Outcomes of all messages. Removed messages at the positions `summarised` are summarised, the others dropped."""
    outcomes = [DROPPED] * len(diff.before)
    for position in diff.kept:
        outcomes[position] = KEPT
    for position in summarised:
        outcomes[position] = SUMMARISED
    return MessageOutcomes(diff, outcomes, len(diff.before))


def outcomes_of_event(
    event: ContextCompressed, inputs: Sequence[ContentRef], after: Sequence[ContentRef]
) -> MessageOutcomes:
    """The outcomes that an event records; messages that it does not list are kept.

    `inputs`: the input of the previous call (its answer is taken from the event); `after`: the context after.
    """
    listed = Counter([*event.kept, *event.summarised, *event.dropped])
    diff = diff_messages([*inputs, *(listed - Counter(inputs)).elements()], after)
    outcomes = [KEPT] * len(diff.before)
    positions = _positions_removed_first(diff)
    for outcome, refs in ((SUMMARISED, event.summarised), (DROPPED, event.dropped)):
        for ref in refs:
            outcomes[positions[ref].pop(0)] = outcome
    return MessageOutcomes(diff, outcomes, len(inputs) or len(diff.before))


def with_replacements(outcomes: MessageOutcomes, messages: KnownMessages) -> MessageOutcomes:
    """The same outcomes, with `replacements` filled."""
    pairs = replaced_messages(outcomes.diff, messages)
    return replace(outcomes, replacements={old: new for old, new in pairs if outcomes.by_position[old] == DROPPED})


def declared_outcomes(
    gone: Sequence[ContentRef],
    summarised: Sequence[ContentRef] | None,
    dropped: Sequence[ContentRef] | None,
    *,
    summed_up: bool,
) -> tuple[tuple[ContentRef, ...], tuple[ContentRef, ...]]:
    """Which removed messages were summarised and which dropped, where the program declared both, one or neither (None).

    For a list that is None: with a summary (`summed_up`), all that were not dropped are summarised; without one, all
    are dropped.
    """
    if summarised is None:
        summarised = _without(gone, dropped or ()) if summed_up else ()
    return tuple(summarised), tuple(_without(gone, summarised) if dropped is None else dropped)


def longest_rise(numbers: Sequence[int]) -> list[int]:
    """Indexes of a longest rising subsequence of different numbers."""
    ends: list[int] = []  # of the rises of each length, the one with the least last number: its last index
    before: list[int | None] = []
    for index, number in enumerate(numbers):
        length = bisect_left(ends, number, key=numbers.__getitem__)
        before.append(ends[length - 1] if length else None)
        ends[length : length + 1] = [index]
    rise: list[int] = []
    here = ends[-1] if ends else None
    while here is not None:
        rise.append(here)
        here = before[here]
    return rise[::-1]


# --- replacements -----------------------------------------------------------------------------------------------------


def replaced_messages(diff: MessageListDiff, messages: KnownMessages) -> list[tuple[int, int]]:
    """Replaced messages, as (position before, position after): system and developer messages in order, results of the
    same tool call, and groups of the same roles."""
    pairs: list[tuple[int, int]] = []
    for gap in diff.hunks:
        went, came = list(gap.removed), list(gap.added)
        for kind in ("system", "developer"):
            olds, news = (_of_role(diff.before, went, kind, messages), _of_role(diff.after, came, kind, messages))
            pairs += zip(olds, news, strict=False)
        went, came = _rest(went, came, pairs)
        tools = _of_role(diff.after, came, "tool", messages)
        for position in _of_role(diff.before, went, "tool", messages) if tools else ():
            same = next((new for new in tools if _same_call(diff, position, new, messages)), None)
            if same is not None:
                pairs.append((position, same))
                tools.remove(same)
        went, came = _rest(went, came, pairs)
        roles = [messages.role(diff.before[old]) for old in went]
        if roles == [messages.role(diff.after[new]) for new in came] and not gap.is_last:
            pairs += zip(went, came, strict=True)
    return sorted(pairs)


def _same_call(diff: MessageListDiff, position: int, new: int, messages: KnownMessages) -> bool:
    calls, others = messages.calls(diff.before[position]), messages.calls(diff.after[new])
    return bool(calls) and calls == others


def _of_role(refs: Sequence[ContentRef], positions: Iterable[int], role: str, messages: KnownMessages) -> list[int]:
    return [position for position in positions if messages.role(refs[position]) == role]


def _rest(went: Iterable[int], came: Iterable[int], pairs: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    olds, news = {old for old, _ in pairs}, {new for _, new in pairs}
    return [old for old in went if old not in olds], [new for new in came if new not in news]


# --- positions --------------------------------------------------------------------------------------------------------


def _positions_removed_first(diff: MessageListDiff) -> Mapping[ContentRef, list[int]]:
    """Positions of each message in `before`; positions from which it was removed come first."""
    gone = set(diff.removed)
    positions: defaultdict[ContentRef, list[int]] = defaultdict(list)
    rest = (position for position in range(len(diff.before) - 1, -1, -1) if position not in gone)
    for position in (*diff.removed, *rest):
        positions[diff.before[position]].append(position)
    return positions


def _without(refs: Sequence[ContentRef], others: Iterable[ContentRef]) -> list[ContentRef]:
    remaining = list(refs)
    for other in others:
        if other in remaining:
            remaining.remove(other)
    return remaining

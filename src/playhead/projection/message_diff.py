"""store → [projection] → read: the difference of two message lists: kept, removed and added messages, by position.

Used by the projector to classify cuts, and by the answers about compressions and differences.  Pure.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

from playhead.model.ref import ContentRef
from playhead.projection.known_messages import KnownMessages


@dataclass(frozen=True, slots=True)
class DiffHunk:
    """Messages removed and added between two kept messages, as positions in the two lists.

    `is_last`: no kept message follows, so the new messages may be plain additions.
    """

    removed: tuple[int, ...]
    added: tuple[int, ...]
    is_last: bool


class MessageListDiff:
    """Two message lists and their difference.

    `kept`: position in `before` → position in `after` of each kept message; `removed` and `added`: positions of the
    other messages.  Of equal messages, the first are taken as removed and the last as added, since contexts lose old
    messages and gain new ones.
    """

    def __init__(
        self, before: Sequence[ContentRef], after: Sequence[ContentRef], kept: dict[int, int], prefix: int
    ) -> None:
        self.before, self.after, self.kept, self.prefix = before, after, kept, prefix
        kept_after = set(kept.values())
        self.removed = [position for position in range(prefix, len(before)) if position not in kept]
        self.added = [position for position in range(prefix, len(after)) if position not in kept_after]

    @cached_property
    def hunks(self) -> list[DiffHunk]:
        """The removed and added messages, grouped between kept messages that are in order."""
        groups: list[DiffHunk] = []
        went, came = self.removed, self.added
        low = first_went = first_came = 0
        anchors = sorted((new, old) for old, new in self.kept.items() if old >= self.prefix)
        for new, old in [*anchors, (len(self.after), len(self.before))]:
            if old < low:
                continue  # the message has moved to the front
            low = old
            last_went, last_came = bisect_left(went, old, first_went), bisect_left(came, new, first_came)
            if last_went > first_went or last_came > first_came:
                last = new == len(self.after)
                groups.append(DiffHunk(tuple(went[first_went:last_went]), tuple(came[first_came:last_came]), last))
            first_went, first_came = last_went, last_came
        return groups


def diff_messages(
    before: Sequence[ContentRef], after: Sequence[ContentRef], prefix: int | None = None
) -> MessageListDiff:
    """Returns the difference. `prefix`: number of leading messages known to be equal."""
    if prefix is None:
        prefix = 0
        while prefix < min(len(before), len(after)) and before[prefix] == after[prefix]:
            prefix += 1
    olds, news = _positions(before, prefix), _positions(after, prefix)
    kept = {position: position for position in range(prefix)}
    for message, came in news.items():
        had = olds.get(message, ())
        count = min(len(had), len(came))
        kept.update(zip(had[len(had) - count :], came, strict=False))
    return MessageListDiff(before, after, kept, prefix)


def pair_by_meaning(diff: MessageListDiff, messages: KnownMessages) -> MessageListDiff:
    """The difference in which messages count as kept, too, that say the same under another ref: a framework may add a
    name to a message that it sends again."""
    kept = dict(diff.kept)
    for gap in diff.hunks:
        waiting: defaultdict[Hashable, list[int]] = defaultdict(list)
        roles = {messages.role(diff.before[position]) for position in gap.removed}
        came = [position for position in gap.added if messages.role(diff.after[position]) in roles]
        roles = {messages.role(diff.after[position]) for position in came}
        for position in came:
            waiting[messages.meaning(diff.after[position])].append(position)
        for position in gap.removed:
            if messages.role(diff.before[position]) not in roles:
                continue
            meaning = messages.meaning(diff.before[position])
            if meaning is not None and waiting[meaning]:
                kept[position] = waiting[meaning].pop(0)
    return diff if len(kept) == len(diff.kept) else MessageListDiff(diff.before, diff.after, kept, diff.prefix)


def _positions(refs: Sequence[ContentRef], start: int) -> dict[ContentRef, list[int]]:
    positions: defaultdict[ContentRef, list[int]] = defaultdict(list)
    for position in range(start, len(refs)):
        positions[refs[position]].append(position)
    return positions

"""store → [project] → read: what became of a list of messages: which stayed, which went, and what came where.

The projector judges cuts by this, and the questions about compressions and differences show it.  Pure.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from playhead.model.ref import ContentRef


@dataclass(frozen=True, slots=True)
class Gap:
    """Messages removed and added between two kept messages, as positions in the two lists.

    `last`: no message that stayed follows, so what came may just as well have been added.
    """

    went: tuple[int, ...]
    came: tuple[int, ...]
    last: bool


class Change:
    """Two message lists and their difference.

    `stayed` has each place in `before` and the place in `after` of what stayed, `went` and `came` the places of all
    other messages.  Of equal messages those that went are the first, and those that came the last: what a context loses
    is old, and what it gains is new.
    """

    def __init__(
        self, before: Sequence[ContentRef], after: Sequence[ContentRef], stayed: dict[int, int], prefix: int
    ) -> None:
        self.before, self.after, self.stayed, self.prefix = before, after, stayed, prefix
        known = set(stayed.values())
        self.went = [place for place in range(prefix, len(before)) if place not in stayed]
        self.came = [place for place in range(prefix, len(after)) if place not in known]

    @cached_property
    def gaps(self) -> list[Gap]:
        """The removed and added messages, grouped between kept messages that are in order."""
        found: list[Gap] = []
        went, came = self.went, self.came
        low = first_went = first_came = 0
        anchors = sorted((new, old) for old, new in self.stayed.items() if old >= self.prefix)
        for new, old in [*anchors, (len(self.after), len(self.before))]:
            if old < low:
                continue  # it has moved to the front
            low = old
            last_went, last_came = bisect_left(went, old, first_went), bisect_left(came, new, first_came)
            if last_went > first_went or last_came > first_came:
                last = new == len(self.after)
                found.append(Gap(tuple(went[first_went:last_went]), tuple(came[first_came:last_came]), last))
            first_went, first_came = last_went, last_came
        return found


def compare(before: Sequence[ContentRef], after: Sequence[ContentRef], prefix: int | None = None) -> Change:
    """Returns the difference. `prefix`: number of leading messages known to be equal."""
    if prefix is None:
        prefix = 0
        while prefix < min(len(before), len(after)) and before[prefix] == after[prefix]:
            prefix += 1
    olds, news = _places(before, prefix), _places(after, prefix)
    stayed = {place: place for place in range(prefix)}
    for message, came in news.items():
        had = olds.get(message, ())
        count = min(len(had), len(came))
        stayed.update(zip(had[len(had) - count :], came, strict=False))
    return Change(before, after, stayed, prefix)


def _places(refs: Sequence[ContentRef], start: int) -> dict[ContentRef, list[int]]:
    places: defaultdict[ContentRef, list[int]] = defaultdict(list)
    for place in range(start, len(refs)):
        places[refs[place]].append(place)
    return places

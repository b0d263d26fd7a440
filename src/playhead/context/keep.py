"""How much of a context a compression keeps, and when one is due: `Keep`, `Turns` and `Messages`. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from playhead.context.entries import ASSISTANT, USER, Entry, groups_of, open_calls


@dataclass(frozen=True, slots=True)
class Keep:
    """How much of the newest part of a context stays: one of three.

    `share`: of the limit (0 to 1); where the number of turns made the compression due, of the turns; without a limit,
    of the tokens that the context has. `messages`: so many messages. `tokens`: so many tokens. At least the newest
    message stays, with all that belongs to it; and of `share` and `tokens`, definitions of tools and the system prompt
    are a part. Raises ValueError unless exactly one is given.
    """

    share: float | None = None
    messages: int | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        given = [value for value in (self.share, self.messages, self.tokens) if value is not None]
        if len(given) != 1:
            raise ValueError("Keep takes one of share=, messages= and tokens=")
        if self.share is not None and not 0 < self.share < 1:
            raise ValueError(f"Keep(share={self.share}): a share is more than 0 and less than 1")
        if given[0] < 0:
            raise ValueError(f"Keep takes no negative number: {given[0]}")


def check_keep(kind: str, given: object) -> None:
    """Raises TypeError unless this is a `Keep`."""
    if not isinstance(given, Keep):
        raise TypeError(f"{kind}(keep={given!r}): expected Keep(share=0.3), Keep(messages=20) or Keep(tokens=8_000)")


@dataclass(frozen=True, slots=True)
class Turns:
    """A threshold in turns: reached with `share` of `most` turns. A turn begins with a message of the user."""

    most: int
    share: float = 1.0

    def __post_init__(self) -> None:
        if self.most < 1 or not 0 < self.share <= 1:
            raise ValueError(f"Turns({self.most}, share={self.share}): at least one turn, and a share from 0 to 1")

    def is_reached(self, entries: Sequence[Entry]) -> bool:
        """Whether the context has so many turns."""
        return len(turns_of(entries)) >= self.share * self.most


@dataclass(frozen=True, slots=True)
class Messages:
    """A threshold in messages: reached with `most` of them, those of the system included."""

    most: int

    def __post_init__(self) -> None:
        if self.most < 1:
            raise ValueError(f"Messages({self.most}): at least one message")

    def is_reached(self, entries: Sequence[Entry]) -> bool:
        """Whether the context has so many messages."""
        return len(entries) >= self.most


def turns_of(entries: Sequence[Entry]) -> list[int]:
    """Returns the indexes of the entries with which turns begin."""
    return [index for index, entry in enumerate(entries) if entry.role == USER and entry.kind == "message"]


def target_of(keep: Keep, limit: int | None, now: int) -> int | None:
    """Returns the tokens that a context should have after a compression; None: `keep` does not say it in tokens."""
    if keep.tokens is not None:
        return keep.tokens
    if keep.share is not None:
        return int(keep.share * (now if limit is None else limit))
    return None


def tail_of(
    entries: Sequence[Entry],
    keep: Keep,
    limit: int | None,
    *,
    fixed: int = 0,
    by_turns: bool = False,
    at_user: bool = False,
) -> int:
    """Returns the index of the first entry of the newest part that stays: at most what `keep` says, and at least the
    last group. Cuts between groups only; with `at_user`, before a message of the user if there is one."""
    if by_turns and keep.share is not None:
        turns = turns_of(entries)
        count = max(1, round(keep.share * len(turns)))
        return turns[-count] if turns else len(entries)
    groups = [group for group in groups_of(entries) if not entries[group[0]].is_instruction]
    if not groups:
        return len(entries)
    tail = _first_that_fits(entries, groups, keep, limit, fixed)
    if at_user:
        borders = (group[0] for group in groups if group[0] >= tail and entries[group[0]].role == USER)
        tail = next(borders, tail)
    return tail


def _first_that_fits(
    entries: Sequence[Entry], groups: Sequence[range], keep: Keep, limit: int | None, fixed: int
) -> int:
    room: float
    if keep.messages is not None:
        room = keep.messages
    else:
        sizes = sum(entry.tokens for entry in entries)
        instructions = sum(entry.tokens for entry in entries if entry.is_instruction)
        room = (target_of(keep, limit, sizes + fixed) or 0) - fixed - instructions
    tail = groups[-1][0]
    for group in reversed(groups):
        size = len(group) if keep.messages is not None else sum(entries[index].tokens for index in group)
        if size > room:
            break
        room -= size
        tail = group[0]
    return tail


def protected_in(entries: Sequence[Entry]) -> frozenset[int]:
    """Returns the indexes of the entries that no plan removes: the system prompt, preserved messages with all that
    belongs to them, summaries of the provider, and tool calls that wait for their results with what follows them."""
    kept: set[int] = set()
    groups = groups_of(entries)
    for group in groups:
        members = [entries[index] for index in group]
        if any(entry.is_instruction or entry.preserve or entry.is_compaction for entry in members):
            kept.update(group)
    answers = (group for group in reversed(groups) if entries[group[0]].role == ASSISTANT)
    last = next(answers, None)  # an earlier call without a result was given up
    if last is not None and open_calls(entries[index] for index in last):
        kept.update(range(last[0], len(entries)))
    return frozenset(kept)

"""What a strategy is given and what it returns: a budget, and a plan with a fate for each entry. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from playhead.context.entries import ASSISTANT, FATES, USER, Entry, Fate, groups_of
from playhead.context.keep import Keep, tail_of
from playhead.models.model import Model

DEFAULT_PROMPT = """\
Summarise the conversation below for an assistant that goes on with it and no longer sees it. Keep the user's goals,
instructions and preferences, decisions with their reasons, facts with their exact names, numbers, ids, paths and dates,
errors with their text, and what is still to do. Leave out greetings and what was superseded. Write the summary only."""


@dataclass(frozen=True, slots=True)
class Summariser:
    """How summaries are written. `model`: the model, or its name; None: the model of the context.

    `max_input_tokens`: what one call is given at most; a longer conversation is summarised in several calls, each with
    the summary so far. None: as many as fit into the model's window, if that is known.
    """

    model: Model | str | None = None
    prompt: str = DEFAULT_PROMPT
    max_input_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """What a plan may use. Numbers are tokens as the entries count them (`Entry.tokens`).

    `limit`: of the whole context; None: not known. `now`: of the context as it is. `target`: the context should have at
    most so many afterwards; None: no such bound (it is to keep a number of messages or turns). `due_at`: with so many,
    the next compression is due; None: not known. `fixed`: those which no entry has (definitions of tools). `tail`:
    index of the first entry that the policy keeps; entries before it may be removed. `protected`: indexes of entries
    that stay whatever the plan says. `by_turns`: shares are of the turns; `at_user`: what stays begins with a message
    of the user, where there is one.
    """

    limit: int | None
    now: int
    target: int | None
    tail: int
    due_at: int | None = None
    fixed: int = 0
    protected: frozenset[int] = frozenset()
    by_turns: bool = False
    at_user: bool = False

    def tail_for(self, entries: Sequence[Entry], keep: Keep) -> int:
        """Returns the index of the first entry that stays if so much of the newest part is kept, cut where the policy
        cuts."""
        return tail_of(entries, keep, self.limit, fixed=self.fixed, by_turns=self.by_turns, at_user=self.at_user)

    def removable(self, entries: Sequence[Entry], tail: int | None = None) -> list[int]:
        """Returns the indexes of the entries before `tail` that are not protected."""
        end = self.tail if tail is None else tail
        return [index for index in range(min(end, len(entries))) if index not in self.protected]

    def holds(self, tokens: int) -> bool:
        """Whether a context of this many tokens is within the target."""
        return self.target is None or tokens <= self.target


@dataclass(frozen=True, slots=True)
class Plan:
    """A fate for each entry. `summariser`: who writes the summary of those to be summarised; None: the context's model.
    `reason`: why the plan does less than it should, in a sentence."""

    fates: tuple[Fate, ...]
    summariser: Summariser | None = None
    reason: str | None = None

    @classmethod
    def keeping(cls, entries: Sequence[Entry], reason: str | None = None) -> "Plan":
        """Returns the plan that changes nothing."""
        return cls(("keep",) * len(entries), reason=reason)

    @classmethod
    def giving(
        cls, entries: Sequence[Entry], indexes: Iterable[int], fate: Fate, summariser: Summariser | None = None
    ) -> "Plan":
        """Returns the plan that gives the entries at these indexes one fate, and keeps the others."""
        chosen = set(indexes)
        fates = tuple[Fate, ...](fate if index in chosen else "keep" for index in range(len(entries)))
        return cls(fates, summariser if chosen else None)

    def indexes(self, fate: Fate) -> list[int]:
        """Returns the indexes of the entries with this fate."""
        return [index for index, given in enumerate(self.fates) if given == fate]

    @property
    def changes(self) -> bool:
        """Whether anything is not kept."""
        return any(fate != "keep" for fate in self.fates)


class Strategy(Protocol):
    """Decides which entries go. Has to be pure: the same entries and budget give the same plan, on resume too."""

    def plan(self, entries: Sequence[Entry], budget: TokenBudget) -> Plan:
        """Returns a fate for each entry. Fates that would break the conversation (half a tool call, a protected entry)
        are changed to `keep`."""
        ...


class CompressionPolicy(Protocol):
    """Takes the place of a whole `Compression`: decides when and what."""

    def plan(self, entries: Sequence[Entry], tokens: int, limit: int | None) -> Plan | None:
        """Returns the plan for a context of so many tokens; None: nothing is to be done now."""
        ...


def legal(plan: Plan, entries: Sequence[Entry], protected: frozenset[int], *, has_summary_message: bool = True) -> Plan:
    """Returns the plan with fates that leave a valid conversation: groups are kept or removed whole, protected entries
    are kept, only results of tools are masked, and the kept messages begin with one of the user, or a summary. What the
    model is to answer next, a message of the user or results of tools, is kept, too.

    `has_summary_message`: a summary becomes a message, and no part of the system prompt. Raises ValueError for a plan
    that has not one fate for each entry, or a fate that is none."""
    if len(plan.fates) != len(entries):
        raise ValueError(f"the plan has {len(plan.fates)} fates for {len(entries)} entries: it needs one for each")
    if unknown := sorted({str(fate) for fate in plan.fates if fate not in FATES}):
        raise ValueError(f"the plan has the fate {unknown[0]!r}: expected one of {', '.join(FATES)}")
    fates = list(plan.fates)
    groups = groups_of(entries)
    if groups and entries[-1].role != ASSISTANT:
        protected = protected.union(groups[-1])
    for group in groups:
        _make_uniform(fates, group, entries, protected)
    if not (has_summary_message and "summarise" in fates):
        _keep_a_beginning(fates, entries, groups)
    return Plan(tuple(fates), plan.summariser, plan.reason)


def _make_uniform(fates: list[Fate], group: range, entries: Sequence[Entry], protected: frozenset[int]) -> None:
    stays = any(index in protected or fates[index] in ("keep", "mask") for index in group)
    gone: Fate = "summarise" if any(fates[index] == "summarise" for index in group) else "drop"
    for index in group:
        if not stays:
            fates[index] = gone
        elif fates[index] != "mask" or index in protected or not _may_be_masked(entries[index]):
            fates[index] = "keep"


def _may_be_masked(entry: Entry) -> bool:
    return bool(entry.results) and entry.kind == "message" and not entry.preserve


def _keep_a_beginning(fates: list[Fate], entries: Sequence[Entry], groups: Sequence[range]) -> None:
    """Keeps the user's message before the first kept answer: providers want a user's message first, and the model needs
    the task that it works on."""
    talk = [group for group in groups if not entries[group[0]].is_instruction]
    first = next((at for at, group in enumerate(talk) if fates[group[0]] in ("keep", "mask")), None)
    if first is None or entries[talk[first][0]].role == USER:
        return
    beginning = next((group for group in reversed(talk[:first]) if entries[group[0]].role == USER), None)
    for index in beginning or ():
        fates[index] = "keep"

"""[retain]: what a project's policy says about a run: the tier that it belongs into, why, and what comes next. Pure.

A policy has rules, tried in their order, and a default behind them. The first that fits a run decides. A rule says up
to which age, counted from the end of the run, a run is in each tier; a run that is older than all of them is deleted.

    hot = "7d"            all in Postgres
    warm = "30d"          packs of contents in the object store; without one, as hot
    cold = "1y"           the record in one piece; contents go, if `contents = false`
    archive = "forever"   kinds, times and usage of the events
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import Any, Final, NamedTuple, cast, get_args

from playhead.wire.operations.retention import TierName
from playhead.wire.operations.verdict import OutcomeWord
from playhead_collector.store.ports.tiers import RunAge, Tier

FOREVER: Final = "forever"
DAY_NS: Final = 86_400 * 1_000_000_000
_UNITS: Final = {"h": DAY_NS // 24, "d": DAY_NS, "w": 7 * DAY_NS, "y": 365 * DAY_NS}
_DURATION: Final = re.compile(r"([1-9][0-9]{0,5})([hdwy])")
TIERS: Final[Mapping[str, Tier]] = {
    "hot": Tier.HOT,
    "warm": Tier.WARM,
    "cold": Tier.COLD,
    "archive": Tier.ARCHIVE,
}
NAMES: Final[Mapping[Tier, TierName]] = {
    Tier.HOT: "hot", Tier.WARM: "warm", Tier.COLD: "cold", Tier.ARCHIVE: "archive", Tier.DELETED: "deleted",
}  # fmt: skip
_OUTCOMES: Final = frozenset(get_args(OutcomeWord))
_CONDITIONS: Final = ("agent", "tag", "outcome")
_SETTINGS: Final = (*TIERS, "contents", "last_context", "keep")
_MOST_RULES, _MOST_WORDS, _LONGEST = 100, 100, 200
DEFAULT_RULE: Final = "default"


class BadPolicy(ValueError):
    """A policy that cannot be used. The message names the place and says what to write instead."""


class TierLimit(NamedTuple):
    """A run is in `tier` up to this age; None: for ever."""

    tier: Tier
    age_ns: int | None


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """What happens to the runs that fit: all of the conditions that are given (a run has one of the words of each).

    `limits`: in the order of tiers, ages ascending; empty: runs are kept as they are. `contents`: whether a cold run
    keeps its contents; if not, `last_context` says whether it keeps the last context of each agent. `keep`: the share
    of the runs that is kept; the others are deleted at the end of the first tier.
    """

    name: str
    agents: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    outcomes: frozenset[str] = frozenset()
    limits: tuple[TierLimit, ...] = ()
    contents: bool = True
    last_context: bool = True
    keep: float = 1.0

    def fits(self, run: RunAge) -> bool:
        """Returns whether the rule is about the run."""
        return (
            (not self.agents or not self.agents.isdisjoint(run.agents))
            and (not self.tags or not self.tags.isdisjoint(run.tags))
            and (not self.outcomes or run.outcome in self.outcomes)
        )

    @property
    def kept_contents(self) -> str:
        """What cold runs keep of their contents, in words."""
        return "all" if self.contents else "last_context" if self.last_context else "checkpoints"


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """The rules of a project; the last one fits every run."""

    rules: tuple[RetentionRule, ...]

    def rule_of(self, run: RunAge) -> RetentionRule:
        """Returns the first rule that fits."""
        return next(rule for rule in self.rules if rule.fits(run))

    @property
    def first_limit_ns(self) -> int | None:
        """The least age at which anything happens; None: nothing ever does."""
        ages = [rule.limits[0].age_ns for rule in self.rules if rule.limits]
        return min((age for age in ages if age is not None), default=None)


class NextTier(NamedTuple):
    """The tier that a run goes into next, and when (ns since 1970). `rule`: which rule says so; `age_ns`: the limit."""

    tier: Tier
    at_ns: int
    rule: RetentionRule
    age_ns: int


class TierDecision(NamedTuple):
    """What is to be done with a run now. `target`: the tier into which it goes by its age; None: it stays where it is.
    `why`: a sentence. `kept`: what keeps it, although its age is reached; None: nothing does."""

    rule: RetentionRule
    target: Tier | None = None
    why: str = "is where it belongs"
    kept: str | None = None

    @property
    def moves_to(self) -> Tier | None:
        """The tier into which the run is to be moved now: another one, or its own again if late spans brought rows of
        it back. None: it is not to be moved."""
        return self.target if self.kept is None else None


# --- reading a policy ------------------------------------------------------------------------------------------------


def parse_duration(text: object, where: str) -> int | None:
    """Returns a duration (`7d`, `12h`, `4w`, `1y` of 365 days) in ns; None for `forever`. Raises BadPolicy."""
    if text == FOREVER:
        return None
    match = _DURATION.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise BadPolicy(
            f'{where}: {_shown(text)} is no duration: write a number and h, d, w or y ("30d"), or "forever"'
        )
    return int(match[1]) * _UNITS[match[2]]


def parse_policy(value: object) -> RetentionPolicy:
    """Reads a policy as JSON or TOML gives it: `{"default": {...}, "rules": [{...}, ...]}`. Raises BadPolicy."""
    members = _table(value, "policy", ("default", "rules"))
    given: object = members.get("rules", [])
    if not isinstance(given, list):
        raise BadPolicy("rules: write a list of rules ([[rules]] in TOML)")
    rules = cast("list[object]", given)
    if len(rules) > _MOST_RULES:
        raise BadPolicy(f"rules: there are {len(rules)}, {_MOST_RULES} are possible")
    read = [_rule(rule, number) for number, rule in enumerate(rules, 1)]
    names = [rule.name for rule in read]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BadPolicy(f"rules: two are named {twice!r}: give each a name of its own")
    default = _settings(
        _table(members.get("default", {}), DEFAULT_RULE, _SETTINGS), DEFAULT_RULE, RetentionRule(DEFAULT_RULE)
    )
    return RetentionPolicy((*read, default))


def _rule(value: object, number: int) -> RetentionRule:
    where = f"rules[{number}]"
    members = _table(value, where, ("name", *_CONDITIONS, *_SETTINGS))
    name = members.get("name", f"rule {number}")
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST or "\x00" in name or name == DEFAULT_RULE:
        raise BadPolicy(f"{where}.name: write a short text that is not {DEFAULT_RULE!r}")
    agents, tags, outcomes = (_words(members.get(each), f"{where}.{each}") for each in _CONDITIONS)
    if unknown := sorted(outcomes - _OUTCOMES):
        raise BadPolicy(f"{where}.outcome: {unknown[0]!r} is no outcome: use {', '.join(sorted(_OUTCOMES))}")
    if not agents | tags | outcomes:
        raise BadPolicy(f"{where}: has no condition: add agent, tag or outcome, or move it to [default]")
    return _settings(members, where, RetentionRule(name, agents, tags, outcomes))


def _settings(members: Mapping[str, Any], where: str, rule: RetentionRule) -> RetentionRule:
    limits = tuple(
        TierLimit(tier, parse_duration(members[name], f"{where}.{name}"))
        for name, tier in TIERS.items()
        if name in members
    )
    for before, after in pairwise(limits):
        if before.age_ns is None:
            raise BadPolicy(f'{where}.{NAMES[after.tier]}: never comes, since {NAMES[before.tier]} is "forever"')
        if after.age_ns is not None and after.age_ns <= before.age_ns:
            raise BadPolicy(
                f"{where}.{NAMES[after.tier]}: ends before {NAMES[before.tier]} does: ages count from the end of the "
                "run, so each has to be greater than the one before"
            )
    keep = members.get("keep", 1.0)
    if isinstance(keep, bool) or not isinstance(keep, int | float) or not 0 <= keep <= 1:
        raise BadPolicy(f"{where}.keep: {_shown(keep)} is no share: write a number from 0 to 1")
    if keep < 1 and (not limits or limits[0].age_ns is None):
        raise BadPolicy(f'{where}.keep: says what is deleted, but not when: add hot, such as hot = "7d"')
    flags = {name: _flag(members.get(name, True), f"{where}.{name}") for name in ("contents", "last_context")}
    return RetentionRule(rule.name, rule.agents, rule.tags, rule.outcomes, limits, keep=float(keep), **flags)


def _table(value: object, where: str, known: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadPolicy(f"{where}: {_shown(value)} is no table")
    members: dict[str, Any] = {str(name): item for name, item in value.items()}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if unknown := sorted(members.keys() - set(known)):
        raise BadPolicy(f"{where}: does not know {_shown(unknown[0])}: use {', '.join(known)}")
    return members


def _words(value: object, where: str) -> frozenset[str]:
    words: list[Any] = []
    if isinstance(value, str):
        words = [value]
    elif isinstance(value, list):
        words = cast("list[Any]", value)
    elif value is not None:
        words = [value]
    if len(words) > _MOST_WORDS or any(not isinstance(word, str) or not 0 < len(word) <= _LONGEST for word in words):
        raise BadPolicy(f"{where}: write a text, or a list of at most {_MOST_WORDS} texts")
    return frozenset(words)


def _flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise BadPolicy(f"{where}: {_shown(value)} is neither true nor false")
    return value


def _shown(value: object) -> str:
    return repr(value)[:60]


# --- deciding --------------------------------------------------------------------------------------------------------


def is_sampled(run: str, keep: float) -> bool:
    """Returns whether a run is among the share `keep` of the runs, by a hash of its id: always the same answer, and who
    is kept by a small share is kept by each greater one."""
    return int.from_bytes(sha256(run.encode()).digest()[:8]) < keep * 2**64


def limits_of(rule: RetentionRule, run: str, has_objects: bool) -> tuple[TierLimit, ...]:
    """Returns the limits for this run: one that is not in the sample ends with its first tier. Without an object store,
    warm is the same as hot."""
    limits = rule.limits
    if limits and not is_sampled(run, rule.keep):
        limits = limits[:1]
    if has_objects:
        return limits
    as_hot = [TierLimit(Tier.HOT, limit.age_ns) for limit in limits if limit.tier <= Tier.WARM]
    return (*as_hot[-1:], *(limit for limit in limits if limit.tier > Tier.WARM))


def tier_at(rule: RetentionRule, run: RunAge, now_ns: int, has_objects: bool) -> Tier:
    """Returns the tier that a run of this age belongs into, whatever keeps it."""
    limits = limits_of(rule, run.run, has_objects)
    if not limits or run.ended_ns is None:
        return Tier.HOT
    age = now_ns - run.ended_ns
    return next((limit.tier for limit in limits if limit.age_ns is None or age < limit.age_ns), Tier.DELETED)


def decide(policy: RetentionPolicy, run: RunAge, now_ns: int, has_objects: bool) -> TierDecision:
    """Returns what is to be done with a run now. A run never comes back from a tier: what is gone is gone."""
    rule = policy.rule_of(run)
    tier = tier_at(rule, run, now_ns, has_objects)
    if tier < run.tier or (tier == run.tier and not run.has_rows):
        return TierDecision(rule)
    why = _why(rule, run, tier, now_ns)
    if tier == run.tier:
        why = f"late spans came; rule {rule.name!r} has it in {NAMES[tier]}"
    return TierDecision(rule, tier, why, root_of(run, tier))


def _why(rule: RetentionRule, run: RunAge, tier: Tier, now_ns: int) -> str:
    age = age_text(0 if run.ended_ns is None else now_ns - run.ended_ns)
    if tier is Tier.DELETED and not is_sampled(run.run, rule.keep):
        return f"rule {rule.name!r} keeps {rule.keep:g} of its runs, and this one is not among them; it ended {age} ago"
    return f"rule {rule.name!r}: it ended {age} ago"


def root_of(run: RunAge, tier: Tier) -> str | None:
    """Returns what keeps the run from going into this tier; None: nothing."""
    if run.pinned:
        return "it is pinned"
    if run.ended_ns is None:
        return "it has not ended"
    if run.waiting:
        return "it waits for a promise"
    if run.leased:
        return "a process goes on with it"
    if run.dirty or not run.settled:
        return "it is not sealed yet"
    if run.fork_tier is not None and run.fork_tier < tier:
        return "runs that were forked from it need its record"
    return None


def next_step(policy: RetentionPolicy, run: RunAge, has_objects: bool) -> NextTier | None:
    """Returns what happens to a run next by its age, after the tier in which it is; None: nothing any more."""
    if run.ended_ns is None:
        return None
    rule = policy.rule_of(run)
    limits = limits_of(rule, run.run, has_objects)
    for number, limit in enumerate(limits):
        if limit.age_ns is None:
            return None
        following = limits[number + 1].tier if number + 1 < len(limits) else Tier.DELETED
        if following > run.tier:
            return NextTier(following, run.ended_ns + limit.age_ns, rule, limit.age_ns)
    return None


def age_text(age_ns: int) -> str:
    """Returns an age for people: `3 hours`, `12 days`, `2.5 years`."""
    for unit, length_ns in (("years", 365 * DAY_NS), ("days", DAY_NS), ("hours", DAY_NS // 24)):
        if age_ns >= (2 if unit == "days" else 1) * length_ns:
            number = age_ns / length_ns
            return f"{number:.1f} {unit}" if unit == "years" else f"{number:.0f} {unit}"
    return f"{max(0, age_ns) / (DAY_NS / 1440):.0f} minutes"

"""The policy of a context: when it is compressed, how, and how much stays. Pure but for the user's functions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from numbers import Real
from types import UnionType
from typing import Literal

from playhead.context.entries import Entry
from playhead.context.keep import Keep, Messages, Turns, check_keep, protected_in, tail_of, target_of
from playhead.context.plan import CompressionPolicy, Strategy, TokenBudget
from playhead.context.report import CompressionReport, CompressionStart
from playhead.context.strategies import (
    BuiltIn,
    LlmSummary,
    NoCompression,
    SlidingWindow,
    check_strategy,
    has_plan,
    in_words,
    is_due,
)
from playhead.kernel.guard import guarded
from playhead.model.json_value import Json
from playhead.model.message import Message


class AllOf:
    """A threshold that is reached when each of these is: `AllOf(4_000, Messages(10))`. Raises ValueError for none."""

    __slots__ = ("thresholds",)

    def __init__(self, *thresholds: "float | Turns | Messages") -> None:
        if not thresholds:
            raise ValueError("AllOf takes at least one threshold")
        self.thresholds = thresholds

    def __repr__(self) -> str:
        return f"AllOf({', '.join(map(repr, self.thresholds))})"


Threshold = float | Turns | Messages | AllOf
"""A share of the limit (up to 1), a number of tokens (more than 1), a number of turns or of messages, or several of
these at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compression:
    """When a context is compressed, and how.

    `limit`: most tokens of the context; None: the window of the model, as the table of models has it. `threshold`: a
    share of the limit, a number of tokens, `Turns`, `Messages`, `AllOf` these, or a list of which any is enough.
    `keep`: how much of the newest part stays. `fallback`: the strategy for when the first one fails, or leaves more
    than the limit; None: the context then stays as it is. `auto`: compress in `for_model()` when it is due; False: only
    by `compress()`.

    `preserve`: a function of an entry; no compression removes those for which it is true. `count`: counts the tokens of
    a message; None: the usage that the provider reports, until then an estimate. `before` and `after` are called around
    each compression; what they raise is logged. `cut_at`: `round` (before any answer or message) or `user` (before a
    message of the user, where there is one). `summary_in`: whether a summary becomes a message or a part of the system
    prompt.

    Raises ValueError for numbers that are no shares or numbers of tokens, and TypeError for values of other types.
    """

    limit: int | None = None
    threshold: Threshold | Sequence[Threshold] = 0.7
    keep: Keep = field(default_factory=lambda: Keep(share=0.3))
    strategy: Strategy = field(default_factory=LlmSummary)
    fallback: Strategy | None = field(default_factory=SlidingWindow)
    auto: bool = True
    preserve: Callable[[Entry], bool] | None = None
    count: Callable[[Message], int] | None = None
    before: Callable[[CompressionStart], object] | None = None
    after: Callable[[CompressionReport], object] | None = None
    cut_at: Literal["round", "user"] = "round"
    summary_in: Literal["message", "system"] = "message"

    def __post_init__(self) -> None:
        self._check_types()
        if self.limit is not None and not 1 <= self.limit < inf:
            raise ValueError(f"Compression(limit={self.limit}): expected a finite number of tokens, at least one")
        for threshold in self.thresholds:
            if any(isinstance(part, int | float) and not 0 < part < inf for part in _parts(threshold)):
                raise ValueError(f"Compression(threshold={threshold}): a share of the limit, or a number of tokens")
        for name, value, words in (("cut_at", self.cut_at, _CUTS), ("summary_in", self.summary_in, _PLACES)):
            if value not in words:
                raise ValueError(f"Compression({name}={value!r}): expected one of {', '.join(words)}")

    def _check_types(self) -> None:
        """Raises TypeError for what would fail in the middle of the program, or do nothing."""
        if not _is(self.limit, Real | None):
            raise TypeError(f"Compression(limit={self.limit!r}): expected a number of tokens, or None")
        parts = [part for threshold in self.thresholds for part in _parts(threshold)]
        if _is(self.threshold, str) or not all(_is(part, _SIZES) for part in parts):
            raise TypeError(
                f"Compression(threshold={self.threshold!r}): "
                "expected a number, Turns, Messages, AllOf, or a list of these"
            )
        check_keep("Compression", self.keep)
        check_strategy("Compression(strategy=...)", self.strategy)
        if self.fallback is not None:
            check_strategy("Compression(fallback=...)", self.fallback)
        for name in ("preserve", "count", "before", "after"):
            value: object = getattr(self, name)
            if value is not None and not callable(value):
                raise TypeError(f"Compression({name}={value!r}): expected a function, or None")

    @property
    def thresholds(self) -> Sequence[Threshold]:
        """All thresholds."""
        return self.threshold if isinstance(self.threshold, Sequence) else (self.threshold,)

    @property
    def is_by_turns(self) -> bool:
        """Whether nothing but numbers of turns makes a compression due."""
        return bool(self.thresholds) and all(isinstance(threshold, Turns) for threshold in self.thresholds)

    def due_at(self, limit: int | None) -> int | None:
        """Returns the number of tokens at which a compression is due; None: tokens do not make it due."""
        shares = [threshold for threshold in self.thresholds if isinstance(threshold, int | float)]
        numbers = [number for share in shares if (number := _tokens_of(share, limit)) is not None]
        return min(numbers, default=None)

    def reached(self, entries: Sequence[Entry], tokens: int, limit: int | None) -> "Reason | None":
        """Returns why a compression is due; None if it is not."""
        if isinstance(self.strategy, NoCompression):
            return None
        found: set[Reason | None] = {_reached(threshold, entries, tokens, limit) for threshold in self.thresholds}
        if is_due(self.strategy, entries):
            found.add("strategy")
        return next((reason for reason in _REASONS if reason in found), None)

    def budget(
        self, entries: Sequence[Entry], limit: int | None, *, fixed: int, due_at: int | None, by_turns: bool
    ) -> TokenBudget:
        """Returns the budget of a compression. `limit`, `fixed` and `due_at` in tokens as the entries count them."""
        now = fixed + sum(entry.tokens for entry in entries)
        at_user = self.cut_at == "user"
        tail = tail_of(entries, self.keep, limit, fixed=fixed, by_turns=by_turns, at_user=at_user)
        target = None if by_turns else target_of(self.keep, limit, now)
        protected = protected_in(entries)
        return TokenBudget(limit, now, target, tail, due_at, fixed, protected, by_turns=by_turns, at_user=at_user)

    def tokens_of(self, entry: Entry) -> int:
        """Returns what `count` says of the entry's message; an estimate without it, or if it raises."""
        if self.count is not None:
            with guarded("count the tokens of a message"):
                return int(self.count(entry.message))
        return entry.estimate

    def describe(self) -> Json:
        """Returns the policy as it is recorded."""
        return {
            "limit": self.limit,
            "threshold": [each if isinstance(each, int | float) else repr(each) for each in self.thresholds],
            "keep": repr(self.keep),
            "strategy": in_words(self.strategy),
            "fallback": None if self.fallback is None else in_words(self.fallback),
            "auto": self.auto,
            "cut_at": self.cut_at,
            "summary_in": self.summary_in,
            "preserve": self.preserve is not None,
            "count": self.count is not None,
        }


AnyCompression = Compression | BuiltIn | CompressionPolicy
"""What a context, an agent and the adapters take: a policy, one of the strategies (with all else as in
`Compression()`), or an object that decides in the place of a policy."""


def _is(value: object, kinds: type | UnionType) -> bool:
    return isinstance(value, kinds)


_SIZES = Real | Turns | Messages
_CUTS = ("round", "user")
_PLACES = ("message", "system")


def _parts(threshold: Threshold) -> Sequence[float | Turns | Messages]:
    return threshold.thresholds if isinstance(threshold, AllOf) else (threshold,)


def check_compression(given: object) -> None:
    """Raises TypeError unless this is an `AnyCompression`, or None."""
    if given is None or isinstance(given, Compression | BuiltIn) or has_plan(given, arguments=3):
        return
    raise TypeError(
        f"compression={given!r}: expected a Compression, a strategy such as SlidingWindow(50), or an object with "
        "plan(entries, tokens, limit); a strategy of your own goes into Compression(strategy=...)"
    )


Reason = Literal["tokens", "turns", "messages", "strategy"]
# Of several, the first counts.
_REASONS: tuple[Reason, ...] = ("tokens", "turns", "messages", "strategy")


def _tokens_of(threshold: float, limit: int | None) -> int | None:
    """Returns a threshold in tokens; None: it is a share of a limit that is not known."""
    if threshold > 1:
        return int(threshold)
    return None if limit is None else round(threshold * limit)


def _reached(threshold: Threshold, entries: Sequence[Entry], tokens: int, limit: int | None) -> Reason | None:
    """Returns the reason that a threshold which is reached is one for; None: it is not reached."""
    match threshold:
        case AllOf():
            reasons: list[Reason | None] = [_reached(part, entries, tokens, limit) for part in threshold.thresholds]
            return reasons[0] if all(reasons) else None
        case Turns():
            return "turns" if threshold.is_reached(entries) else None
        case Messages():
            return "messages" if threshold.is_reached(entries) else None
        case _:
            due_at = _tokens_of(threshold, limit)
            return "tokens" if due_at is not None and tokens >= due_at else None

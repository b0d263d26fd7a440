"""Strategies: which entries of a context are kept, summarised, masked or dropped. Pure.

`Chain` is the way to combine them: first the cheap one, then, if that was not enough, the next.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from inspect import signature

from playhead.context.entries import Entry, Fate, masked_message
from playhead.context.keep import Keep, check_keep, tail_of
from playhead.context.plan import DEFAULT_PROMPT, Plan, Strategy, Summariser, TokenBudget, legal
from playhead.model.json_value import Json, JsonValue
from playhead.model.token_estimates import estimate_message
from playhead.models.model import Model


@dataclass(frozen=True, slots=True)
class NoCompression:
    """Keeps everything."""

    def plan(self, entries: Sequence[Entry], budget: TokenBudget) -> Plan:
        """Returns the plan that changes nothing."""
        return Plan.keeping(entries)


@dataclass(frozen=True, slots=True)
class LlmSummary:
    """Has a model summarise all messages but the newest ones, and puts the summary in their place.

    `model`: a name (`gpt-4o-mini`), or an object of `playhead.models.Model`; None: the context's own model. `keep`: how
    much stays; None: as the policy says. `max_input_tokens`: what one call of the model is given at most, with the
    prompt and the summary so far; of a longer message, it gets the beginning and the end. `prompt`: the system prompt
    of that call, or, with `{messages}` in it, the whole of it, with the conversation in that place.
    """

    model: Model | str | None = None
    prompt: str = DEFAULT_PROMPT
    keep: Keep | None = None
    max_input_tokens: int | None = None

    def __post_init__(self) -> None:
        _check_summariser(self)
        if self.keep is not None:
            check_keep("LlmSummary", self.keep)

    def plan(self, entries: Sequence[Entry], budget: TokenBudget) -> Plan:
        """Returns the plan that summarises what is before the newest messages."""
        tail = budget.tail if self.keep is None else budget.tail_for(entries, self.keep)
        old = budget.removable(entries, tail)
        if all(entries[index].kind == "summary" for index in old):  # a summary of a summary gains nothing
            return Plan.keeping(entries, "there is nothing to summarise before the messages that are kept")
        summariser = Summariser(self.model, self.prompt, self.max_input_tokens)
        return Plan.giving(entries, old, "summarise", summariser)


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """Keeps the newest `messages` messages, and drops the others. Keeps what the policy says if so many messages alone
    would make the next compression due."""

    messages: int = 50

    def __post_init__(self) -> None:
        _check_number(self, "messages")

    def plan(self, entries: Sequence[Entry], budget: TokenBudget) -> Plan:
        """Returns the plan that drops what is before the window."""
        tail = budget.tail_for(entries, Keep(messages=self.messages))
        plan = legal(Plan.giving(entries, budget.removable(entries, tail), "drop"), entries, budget.protected)
        if budget.due_at is None or tokens_after(plan, entries, budget) < budget.due_at:
            return plan
        return Plan.giving(entries, budget.removable(entries, max(tail, budget.tail)), "drop")


@dataclass(frozen=True, slots=True)
class Hybrid:
    """Keeps the newest `window` messages. Older ones wait until there are `summarise_every` of them, and are then
    summarised by `model` (see `LlmSummary`) together with the summary so far.

    So a context has at most `window + summarise_every` messages. If the threshold is reached before, the older ones are
    summarised at once.
    """

    window: int = 30
    summarise_every: int = 20
    model: Model | str | None = None
    prompt: str = DEFAULT_PROMPT
    max_input_tokens: int | None = None

    def __post_init__(self) -> None:
        _check_summariser(self)
        _check_number(self, "window")
        _check_number(self, "summarise_every", least=1)

    def is_due(self, entries: Sequence[Entry]) -> bool:
        """Whether enough messages wait, whatever the threshold says."""
        return len(self._waiting(entries)) >= self.summarise_every

    def plan(self, entries: Sequence[Entry], budget: TokenBudget) -> Plan:
        """Returns the plan that summarises what is before the window."""
        tail = budget.tail_for(entries, Keep(messages=self.window))
        old = budget.removable(entries, tail)
        left = tokens_after(legal(Plan.giving(entries, old, "summarise"), entries, budget.protected), entries, budget)
        if budget.due_at is not None and left >= budget.due_at:  # the window itself is too large
            old = budget.removable(entries, max(tail, budget.tail))
        if all(entries[index].kind == "summary" for index in old):
            return Plan.keeping(entries, "there is nothing to summarise before the messages that are kept")
        return Plan.giving(entries, old, "summarise", Summariser(self.model, self.prompt, self.max_input_tokens))

    def _waiting(self, entries: Sequence[Entry]) -> list[Entry]:
        tail = tail_of(entries, Keep(messages=self.window), None)
        return [
            entry for entry in entries[:tail] if not (entry.is_instruction or entry.preserve or entry.kind == "summary")
        ]


@dataclass(frozen=True, slots=True)
class ClearToolResults:
    """Replaces the results of tools, except the newest `keep`, by a line each. Calls stay, so the model knows what it
    did and can do it again."""

    keep: int = 3

    def __post_init__(self) -> None:
        _check_number(self, "keep")

    def plan(self, entries: Sequence[Entry], budget: TokenBudget) -> Plan:
        """Returns the plan that masks the older results."""
        results = [index for index, entry in enumerate(entries) if entry.results]
        older = results[: max(0, len(results) - self.keep)]
        unmasked = [index for index in older if index not in budget.protected and entries[index].kind == "message"]
        gains = [index for index in unmasked if _masked_tokens(entries[index]) < entries[index].tokens]
        return Plan.giving(entries, gains, "mask")


class Chain:
    """Strategies one after the other, until the context is within its target: `Chain(ClearToolResults(keep=3),
    LlmSummary(model="gpt-4o-mini"))` asks a model only if cleared results were not enough. Raises ValueError for no
    strategy."""

    __slots__ = ("strategies",)

    def __init__(self, *strategies: Strategy) -> None:
        if not strategies:
            raise ValueError("Chain takes at least one strategy")
        for strategy in strategies:
            check_strategy("Chain(...)", strategy)
        self.strategies = strategies

    def __repr__(self) -> str:
        return f"Chain({', '.join(map(repr, self.strategies))})"

    def is_due(self, entries: Sequence[Entry]) -> bool:
        """Whether one of the strategies is due, whatever the threshold says."""
        return any(is_due(strategy, entries) for strategy in self.strategies)

    def plan(self, entries: Sequence[Entry], budget: TokenBudget) -> Plan:
        """Returns the plans of the strategies, joined."""
        fates: list[Fate] = ["keep"] * len(entries)
        summariser: Summariser | None = None
        reasons: list[str] = []
        for strategy in self.strategies:
            left = [index for index, fate in enumerate(fates) if fate in ("keep", "mask")]
            now = [_as_planned(entries[index], fates[index]) for index in left]
            here = _budget_of(budget, left, entries, now)
            plan = legal(strategy.plan(now, here), now, here.protected)
            reasons += [] if plan.reason is None else [plan.reason]
            summariser = plan.summariser or summariser
            for index, fate in zip(left, plan.fates, strict=True):
                fates[index] = fate if fate != "keep" else fates[index]
            joined = Plan(tuple(fates), summariser)
            is_done = joined.changes or budget.target is not None
            if is_done and budget.holds(_tokens_without_summaries(joined, entries, budget)):
                return joined
        return Plan(tuple(fates), summariser, None if len(reasons) < len(self.strategies) else reasons[-1])


_Single = NoCompression | LlmSummary | SlidingWindow | Hybrid | ClearToolResults
BuiltIn = _Single | Chain


def check_strategy(where: str, given: object) -> None:
    """Raises TypeError unless this is a `Strategy`."""
    if not isinstance(given, BuiltIn) and not has_plan(given, arguments=2):
        raise TypeError(f"{where}: expected an object with plan(entries, budget), and not its class; got {given!r}")


def has_plan(given: object, *, arguments: int) -> bool:
    """Whether the object has a method `plan` that takes so many arguments."""
    plan = getattr(given, "plan", None)
    if isinstance(given, type) or not callable(plan):
        return False
    try:
        signature(plan).bind(*range(arguments))
    except TypeError:
        return False
    except ValueError:  # a function that does not say what it takes
        return True
    return True


def _check_number(strategy: object, name: str, *, least: int = 0) -> None:
    value: object = getattr(strategy, name)
    if not isinstance(value, int) or value < least:
        raise ValueError(f"{type(strategy).__name__}({name}={value!r}): expected a whole number, at least {least}")


def _check_summariser(strategy: "LlmSummary | Hybrid") -> None:
    if strategy.max_input_tokens is not None:
        _check_number(strategy, "max_input_tokens", least=1)
    check_model(type(strategy).__name__, strategy.model)
    _check_prompt(type(strategy).__name__, strategy.prompt)


def check_model(kind: str, model: object) -> None:
    """Raises TypeError unless this is a model, its name, or None."""
    if not (model is None or isinstance(model, str) or callable(getattr(model, "complete", None))):
        raise TypeError(f"{kind}(model={model!r}): expected a name, or a model of playhead.models: OpenAIModel(...)")


def _check_prompt(kind: str, prompt: object) -> None:
    if not isinstance(prompt, str):
        raise TypeError(f"{kind}(prompt={prompt!r}): expected a text")


def is_due(strategy: Strategy, entries: Sequence[Entry]) -> bool:
    """Whether the strategy itself says that it is time, whatever the threshold says."""
    return isinstance(strategy, Hybrid | Chain) and strategy.is_due(entries)


def tokens_after(plan: Plan, entries: Sequence[Entry], budget: TokenBudget) -> int:
    """Returns the tokens of the context after the plan, without its summary."""
    kept = 0
    for entry, fate in zip(entries, plan.fates, strict=True):
        if fate == "keep":
            kept += entry.tokens
        elif fate == "mask":
            kept += _masked_tokens(entry)
    return budget.fixed + kept


def _tokens_without_summaries(plan: Plan, entries: Sequence[Entry], budget: TokenBudget) -> int:
    """Returns the tokens after the plan, without summaries: a new one is not counted before it is written, so that an
    old one may not make the next compression go further."""
    kept = [entry for entry, fate in zip(entries, plan.fates, strict=True) if fate == "keep"]
    return tokens_after(plan, entries, budget) - sum(entry.tokens for entry in kept if entry.kind == "summary")


def _masked_tokens(entry: Entry) -> int:
    return round(estimate_message(masked_message(entry)))


def _as_planned(entry: Entry, fate: Fate) -> Entry:
    """Returns the entry as the next strategy is to see it."""
    return replace(entry, message=masked_message(entry), kind="masked", tokens=0) if fate == "mask" else entry


def _budget_of(budget: TokenBudget, left: Sequence[int], entries: Sequence[Entry], now: Sequence[Entry]) -> TokenBudget:
    """Returns the budget for the entries that are left."""
    return replace(
        budget,
        now=budget.fixed + sum(entry.tokens for entry in now),
        tail=sum(1 for index in left if index < budget.tail),
        protected=frozenset(at for at, index in enumerate(left) if index in budget.protected),
    )


def in_words(strategy: Strategy) -> Json:
    """Returns a strategy as it is recorded: its class and settings; models by their names."""
    kind = type(strategy).__name__
    if isinstance(strategy, Chain):
        return {"kind": kind, "strategies": [in_words(each) for each in strategy.strategies]}
    if not isinstance(strategy, _Single):
        return {"kind": kind}
    values = {field.name: getattr(strategy, field.name) for field in fields(strategy)}
    return {"kind": kind, **{name: _in_words(value) for name, value in values.items()}}


def _in_words(value: object) -> JsonValue:
    if value is None or isinstance(value, int | str):
        return value
    return str(getattr(value, "name", value))


def name_of(strategy: Strategy) -> str:
    """Returns the strategy's name in records: `summary`, `sliding_window`, `hybrid`, `tool_result_masking`, for a chain
    the names joined by `+`, else its class."""
    if isinstance(strategy, Chain):
        return "+".join(map(name_of, strategy.strategies))
    names: dict[type, str] = {
        LlmSummary: "summary", SlidingWindow: "sliding_window", Hybrid: "hybrid", NoCompression: "none",
        ClearToolResults: "tool_result_masking",
    }  # fmt: skip
    return names.get(type(strategy), type(strategy).__name__)

"""A cheaper model when the money runs low.

    Budget(usd=2.0, normal="gpt-5", low="gpt-5-mini", reserve=0.5)

Prices are those of the table of models. What a model costs that is not in the table is not known, which is not 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from playhead.calls.run import ActiveRun
from playhead.errors import PlayheadError
from playhead.kernel.forks import ForkSafeLock
from playhead.model.event import TokenUsage
from playhead.model.models import BY_NAME, ModelFacts, model_named
from playhead.models.choosing import CallSituation, FailedAttempt, ModelChooser, ModelLike
from playhead.models.model import ModelResponse
from playhead.models.settled_choices import ModelChoice, PerRun, name_of, settled

_MILLION = 1_000_000


class BudgetExceeded(PlayheadError):
    """The money of a run is spent, or it is not known how much is: no further model call is made."""


@dataclass(slots=True)
class Spending:
    """What the calls of a run have cost. `unknown`: models of calls whose cost is not known."""

    usd: float = 0.0
    calls: int = 0
    unknown: list[str] | None = None


class Budget(ModelChooser):
    """Uses `normal` until no more than `reserve` of the `usd` of a run is left, then `low` until nothing is left; then
    the call raises BudgetExceeded. With `stops=False`, it goes on with `low`.

    The input of the next call counts with its estimated tokens. `prices`: US dollars per million tokens of input and
    output, for models that the table does not have, or has otherwise. Raises ValueError for a name without a price.
    After a call whose cost is not known (a model without a price, an answer without usage), `low` is used; after a
    second one, BudgetExceeded is raised. Outside runs, one budget is for all calls.

    In a resumed run, the recorded calls count as they did; of a run that goes on from a checkpoint, all model calls
    before it.
    """

    def __init__(
        self,
        usd: float,
        normal: ModelLike,
        low: ModelLike,
        *,
        reserve: float = 0.0,
        stops: bool = True,
        prices: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        if not usd > 0 or not 0 <= reserve < usd:
            raise ValueError(f"Budget(usd={usd!r}, reserve={reserve!r}): expected 0 <= reserve < usd")
        own = {name: ModelFacts(name, None, *both) for name, both in (prices or {}).items()}
        self._table: Mapping[str, ModelFacts] = {**BY_NAME, **own}
        self._normal, self._low = normal, low
        for model in (normal, low):
            if not isinstance(model, ModelChooser) and self._price(name_of(model)) is None:
                raise ValueError(
                    f"Budget: there is no price for {name_of(model)}: give prices={{name: (input, output)}}"
                )
        self._usd, self._reserve, self._stops = usd, reserve, stops
        self._lock = ForkSafeLock()
        self._spending: PerRun[Spending] = PerRun(self._begun)
        self.name = f"budget of {usd} USD"

    @property
    def spent(self) -> Spending:
        """What the calls of the current run have cost so far."""
        return self._spending.here()

    def choose(self, situation: CallSituation, failed: Sequence[FailedAttempt]) -> ModelLike | None:
        """See `ModelChooser`. Raises BudgetExceeded."""
        if failed:
            return None
        names = [name_of(self._normal), name_of(self._low)]
        choice = settled(self.name, situation, failed, lambda: self._choice(situation, names), names)
        return self._normal if choice.model == names[0] else self._low

    def completed(self, situation: CallSituation, response: ModelResponse) -> None:
        """Adds the cost of a call."""
        cost, spending = self._cost(response.model, response.usage), self._spending.here()
        with self._lock:
            _add(spending, response.model, cost)

    def _choice(self, situation: CallSituation, names: Sequence[str]) -> ModelChoice:
        normal, low = names
        with self._lock:
            spending = self._spending.here()
            left, unknown = self._usd - spending.usd, list(spending.unknown or [])
        if len(unknown) > 1 and self._stops:
            raise BudgetExceeded(f"what calls of {', '.join(unknown)} cost is not known: the budget cannot be kept")
        if left <= 0 and self._stops:
            raise BudgetExceeded(f"{spending.usd:.4f} of {self._usd} USD are spent: raise the budget, or end the run")
        if unknown:
            return ModelChoice(low, f"what a call of {unknown[0]} cost is not known")
        price = None if isinstance(self._normal, ModelChooser) else self._price(normal)
        next_call = 0.0 if price is None else situation.tokens * (price.input or 0.0) / _MILLION
        said = f"{left:.4f} of {self._usd} USD left, reserve {self._reserve}"
        if left - next_call <= self._reserve:
            return ModelChoice(low, f"{said}, input of the next call {next_call:.4f}")
        return ModelChoice(normal, said)

    def _price(self, name: str) -> ModelFacts | None:
        facts = model_named(name, self._table)
        return facts if facts is not None and facts.input is not None and facts.output is not None else None

    def _cost(self, model: str, usage: TokenUsage) -> float | None:
        price = self._price(model)
        return None if price is None else price.cost(usage)

    def _begun(self, run: ActiveRun | None) -> Spending:
        """Returns what a run has cost before its first call here: of one that goes on from a checkpoint, all before."""
        spending = Spending()
        for model, usage in () if run is None or run.start is None else run.start.usage_before:
            _add(spending, model, self._cost(model, usage))
        return spending


def _add(spending: Spending, model: str, cost: float | None) -> None:
    spending.calls += 1
    if cost is None:
        spending.unknown = [*(spending.unknown or []), model]
    else:
        spending.usd += cost

"""Choices that depend on more than the call: on the time, on other runs, on calls side by side. They are recorded as
values before the call, so that a resumed run makes the same ones; and what choosers remember of a run."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from playhead.api.recorded_values import recorded_value
from playhead.calls.lifecycle import current_span
from playhead.calls.run import ActiveRun
from playhead.kernel.forks import ForkSafeLock
from playhead.models.choosing import CallSituation, FailedAttempt, ModelChooser, record_choice
from playhead.models.model import Model

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The name of a chosen model, and why it was chosen."""

    model: str
    reason: str


def name_of(model: Model | ModelChooser | str) -> str:
    """Returns the name of a model or chooser."""
    return model if isinstance(model, str) else model.name


def settled(
    chooser: str,
    situation: CallSituation,
    failed: Sequence[FailedAttempt],
    choose: Callable[[], ModelChoice],
    among: Iterable[str],
) -> ModelChoice:
    """Returns the choice that the resumed run has in its record for this attempt, else that of the function, which is
    recorded first. Records it as a decision, too, if `among` has other names."""
    made: list[ModelChoice] = []

    def read() -> str:
        made.append(choose())
        return made[0].model

    attempt = f"{situation.agent or ''} {situation.turn} {len(situation.messages)} {len(failed)}"
    model = recorded_value(f"model of {chooser} {attempt}", read)
    choice = made[0] if made else ModelChoice(str(model), "as it was chosen before the run was resumed")
    decided(choice, among)
    return choice


def decided(choice: ModelChoice, among: Iterable[str]) -> None:
    """Records the choice, if `among` has other names."""
    others = [name for name in dict.fromkeys(among) if name != choice.model]
    if others:
        record_choice(choice.model, alternatives=others, reason=choice.reason)


class PerRun(Generic[T]):
    """A value for each run, and one for calls outside runs. Safe for threads."""

    def __init__(self, make: Callable[[ActiveRun | None], T]) -> None:
        self._make = make
        self._lock = ForkSafeLock()
        self._of_runs: WeakKeyDictionary[ActiveRun, T] = WeakKeyDictionary()
        self._outside: list[T] = []

    def here(self) -> T:
        """Returns the value of the current run."""
        span = current_span()
        with self._lock:
            if span is None:
                if not self._outside:
                    self._outside.append(self._make(None))
                return self._outside[0]
            if span.run not in self._of_runs:
                self._of_runs[span.run] = self._make(span.run)
            return self._of_runs[span.run]

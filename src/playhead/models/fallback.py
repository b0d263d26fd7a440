"""Other models for when one fails.

Fallback("gpt-5", "gpt-4o", on=(RateLimited, Overloaded), sticky=True)
Fallback("gpt-5", {RateLimited: "gpt-4o", ContextTooLong: "gpt-4.1"})
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from playhead.kernel.forks import ForkSafeLock
from playhead.models.choosing import CallSituation, FailedAttempt, ModelChooser, ModelLike
from playhead.models.failures import ContextTooLong, Overloaded, RateLimited
from playhead.models.settled_choices import ModelChoice, PerRun, name_of, settled

ByError = Mapping[type[Exception], ModelLike]
"""The next model by the kind of failure, or by the class of the client's error; the first that fits."""


@dataclass(frozen=True, slots=True)
class _Cooling:
    until: float
    attempt: FailedAttempt


class Fallback(ModelChooser):
    """Tries models in order, each after the one before it has failed by an error in `on` (kinds of failures, or classes
    of a client's errors). A dictionary in the place of a model says for which error which one comes next; any other
    error is raised.

    `sticky`: the rest of the run stays with the model to which it came. `cool_down_s`: seconds for which a model that
    was rate limited or overloaded is left out by all calls of this object (longer if the provider says so); 0: never.
    After the first chunk of a stream, no other model is tried.
    """

    def __init__(
        self,
        *models: ModelLike | ByError,
        on: type[Exception] | tuple[type[Exception], ...] = (RateLimited, Overloaded, ContextTooLong),
        sticky: bool = False,
        cool_down_s: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not models or isinstance(models[0], Mapping):
            raise ValueError("Fallback(...): the first one has to be a model")
        self._steps = models
        self._on = on
        self._sticky = sticky
        self._cool_down_s = cool_down_s
        self._clock = clock
        self._lock = ForkSafeLock()
        self._cooling: dict[str, _Cooling] = {}
        self._stays: PerRun[list[str]] = PerRun(lambda _: [])
        self._by_name: dict[str, ModelLike] = {
            name_of(model): model
            for step in models
            for model in (step.values() if isinstance(step, Mapping) else [step])
        }
        self.name = f"fallback of {', '.join(self._by_name)}"

    def choose(self, situation: CallSituation, failed: Sequence[FailedAttempt]) -> ModelLike | None:
        """See `ModelChooser`."""
        if failed:
            self._note(failed[-1])
            if self._next(failed) is None:
                self._stays.here().clear()
                return None
        choice = settled(self.name, situation, failed, lambda: self._choice(failed), self._by_name)
        if failed and self._sticky:
            self._stays.here()[:] = [choice.model]
        return self._by_name.get(choice.model, choice.model)

    def _choice(self, failed: Sequence[FailedAttempt]) -> ModelChoice:
        if failed:
            last = failed[-1]
            failure = type(last.failure or last.error).__name__
            return ModelChoice(self._next(failed) or "", f"{last.model} failed: {failure}: {str(last.error)[:200]}")
        if stays := self._stays.here():
            return ModelChoice(stays[0], "the run stays with the model to which it came")
        return self._first()

    def _first(self) -> ModelChoice:
        """Returns the first model that does not cool down; if all do, the one that is ready first."""
        place, model = 0, name_of(_plain(self._steps[0]))
        left_out: dict[str, _Cooling] = {}
        while (cooling := self._cooling_of(model)) is not None:
            left_out[model] = cooling
            after = self._after(place, cooling.attempt)
            if after is None:
                first = min(left_out, key=lambda name: left_out[name].until)
                return ModelChoice(first, f"all cool down, this one is ready first: {', '.join(left_out)}")
            place, model = after
        return ModelChoice(model, f"cool down: {', '.join(left_out)}" if left_out else "the first one")

    def _next(self, failed: Sequence[FailedAttempt]) -> str | None:
        """Returns the name of the model for the next attempt; None: there is none."""
        place = -1
        for attempt in failed:
            place = self._place_of(attempt.model, place + 1)
        after = self._after(place, failed[-1])
        while after is not None and (cooling := self._cooling_of(after[1])) is not None:
            beyond = self._after(after[0], cooling.attempt)
            if beyond is None:  # it cools down, but nothing else is left
                break
            after = beyond
        return None if after is None else after[1]

    def _place_of(self, model: str, first: int) -> int:
        for place in [*range(first, len(self._steps)), *range(first)]:
            step = self._steps[place]
            if model in ([*map(name_of, step.values())] if isinstance(step, Mapping) else [name_of(step)]):
                return place
        return len(self._steps)

    def _after(self, place: int, attempt: FailedAttempt) -> tuple[int, str] | None:
        """Returns place and name of the model that comes after this place, after this failure."""
        if place + 1 >= len(self._steps):
            return None
        step = self._steps[place + 1]
        if isinstance(step, Mapping):
            fitting = (model for kind, model in step.items() if _is(attempt, kind))
            model = next(fitting, None)
        else:
            model = step if _is(attempt, self._on) else None
        return None if model is None else (place + 1, name_of(model))

    def _note(self, attempt: FailedAttempt) -> None:
        failure = attempt.failure
        if self._cool_down_s > 0 and isinstance(failure, RateLimited | Overloaded):
            seconds = max(self._cool_down_s, failure.retry_after_s or 0.0)
            with self._lock:
                self._cooling[attempt.model] = _Cooling(self._clock() + seconds, attempt)

    def _cooling_of(self, model: str) -> _Cooling | None:
        with self._lock:
            cooling = self._cooling.get(model)
            if cooling is not None and cooling.until <= self._clock():
                del self._cooling[model]
                return None
            return cooling


def _plain(step: ModelLike | ByError) -> ModelLike:
    assert not isinstance(step, Mapping)  # noqa: S101 - the first one is a model
    return step


def _is(attempt: FailedAttempt, kinds: type[Exception] | tuple[type[Exception], ...]) -> bool:
    return isinstance(attempt.error, kinds) or isinstance(attempt.failure, kinds)

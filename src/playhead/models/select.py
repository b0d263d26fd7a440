"""A model that a function chooses for each call.

Select(lambda call: "gpt-5" if call.tokens > 50_000 else "gpt-4o-mini", among=["gpt-5", "gpt-4o-mini"])
Select.by_task({"extract": "gpt-4o-mini", "review": "gpt-5"}, default="gpt-4o")
"""

from collections.abc import Callable, Mapping, Sequence

from playhead.models.choosing import CallSituation, FailedAttempt, ModelChooser, ModelLike
from playhead.models.settled_choices import ModelChoice, decided, name_of

SelectModel = Callable[[CallSituation], ModelLike | tuple[ModelLike, str]]
"""Returns the model for a call, or the model and the reason in words."""


class Select(ModelChooser):
    """Asks a function for the model of each call. `among`: the models that it chooses from, for the record.

    The function must return the same in a resumed run: it goes by what it is given, and by `playhead.now()`. What it
    raises is raised by the call. If the model fails, no other one is tried; for that, return a `Fallback`.
    """

    def __init__(self, choose: SelectModel, *, among: Sequence[ModelLike] = (), name: str = "select") -> None:
        self.name = name
        self._choose = choose
        self._among = [name_of(model) for model in among]

    @classmethod
    def by_task(cls, models: Mapping[str, ModelLike], *, default: ModelLike) -> "Select":
        """Returns a chooser that goes by the name of the task, else by that of the agent."""

        def choose(call: CallSituation) -> tuple[ModelLike, str]:
            for kind, named in (("task", call.task), ("agent", call.agent)):
                if named is not None and named in models:
                    return models[named], f"{kind} {named}"
            return default, "no model is named for this task"

        return cls(choose, among=[*models.values(), default], name="select by task")

    def choose(self, situation: CallSituation, failed: Sequence[FailedAttempt]) -> ModelLike | None:
        """See `ModelChooser`."""
        if failed:
            return None
        chosen = self._choose(situation)
        model, reason = chosen if isinstance(chosen, tuple) else (chosen, f"turn {situation.turn}, {self.name}")
        default = [] if situation.default is None else [situation.default]
        decided(ModelChoice(name_of(model), reason), [*self._among, *default])
        return model

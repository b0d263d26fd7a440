"""[analysis]: the steps of plans that an agent wrote down: in plan events, in the state under `plan`, in annotations.
Pure.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from playhead.model import event as ev
from playhead.model.canonical import text_of
from playhead.model.json_value import text_at, value_at
from playhead.model.ref import ContentRef
from playhead_collector.analysis.texts.limits import readable
from playhead_collector.read.values import ContentCache

_LISTS = ("steps", "plan", "todo", "tasks")
_WORDS = ("text", "step", "content", "task", "title", "description", "name")


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A step of a plan: the event that has the plan, the step's words, and its whole text."""

    seq: int
    plan: ContentRef | None
    words: str
    whole: str


def plan_steps_in(event: ev.RunEvent, cache: ContentCache) -> Iterator[PlanStep]:
    """Yields the steps of the plan in this event, if it has one."""
    match event:
        case ev.PlanCreated(plan=ref) | ev.StateChanged(key="plan", value=ref):
            value = cache.parsed(ref)
        case ev.OrchestrationDecision(annotation=ref):
            noted = cache.parsed(ref)
            value = value_at(noted, "plan")
        case _:
            return
    for step in _steps(value):
        whole = readable(text_of(step), ref)
        yield PlanStep(event.seq, ref, _words(step) or whole, whole)


def _steps(plan: Any) -> list[Any]:
    if isinstance(plan, list):
        return cast(list[Any], plan)
    if isinstance(plan, dict):
        fields = cast(dict[str, Any], plan)
        listed = [fields[key] for key in _LISTS if isinstance(fields.get(key), list)]
        return listed[0] if listed else [fields]
    return [line for line in plan.splitlines() if line.strip()] if isinstance(plan, str) else []


def _words(step: Any) -> str:
    """The text of a step that is an object, from its usual keys; "" if there is none."""
    return next((text for key in _WORDS if (text := text_at(step, key, None)) is not None), "")

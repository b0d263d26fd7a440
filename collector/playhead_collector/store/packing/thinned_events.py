"""[store]: what is left of a run's events and contents in the lower tiers.  Pure."""

import dataclasses
from collections.abc import Iterable
from functools import cache
from typing import Any, cast

from playhead.model.event import (
    CheckpointCreated,
    ContextCompressed,
    Event,
    LlmCalled,
    RunEvent,
    ScoreRecorded,
    UnknownEvent,
)
from playhead.model.ref import ContentRef

# Of an event in the archive: names of what was called, counts, times and usage, and what ties events to each other. All
# other fields may hold texts of a program or a person.
_KEPT_FIELDS = frozenset(
    {
        "id", "run", "seq", "time_ns", "span", "actor", "late",
        "attempt", "from_seq", "at", "parent_run", "next_run", "continues", "parent", "call_id", "turn", "about",
        "model", "provider", "operation", "stream", "messages", "role", "source", "tokens", "usage", "finish_reasons",
        "elapsed_ms", "first_chunk_ms", "waited_ms", "outcome", "error_type", "how", "step_kind", "to",
        "origin", "strategy", "trigger", "summariser", "tokens_before", "tokens_after", "window", "unit", "level",
        "severity", "approval", "wait",
    }
)  # fmt: skip
# Their names are the program's, not a person's text; a checkpoint's or a run's may be anything.
_NAMED = ("tool_called", "tool_completed", "tool_failed", "step_started", "step_completed", "metric_recorded")
_HEADER = {"kind", "priority", "id", "run", "seq", "time_ns", "span", "actor", "late"}


def stripped(event: RunEvent) -> RunEvent:
    """Returns an event without refs and texts: its kind, times, names of what was called, counts and usage."""
    if isinstance(event, UnknownEvent):
        header = {name: value for name, value in event.original.items() if name in _HEADER}
        return dataclasses.replace(event, original={**header, "data": {}, "refs": {}})
    if isinstance(event, ScoreRecorded):  # a number says nothing, a category may be a text
        value = "" if isinstance(event.value, str) else event.value
        return dataclasses.replace(event, value=value, label=None, comment=None, explanation=None, name="")
    return cast(RunEvent, dataclasses.replace(event, **_emptied(type(event))))


@cache
def _emptied(cls: type[Event]) -> dict[str, Any]:
    """Returns the fields of a kind of events that are emptied, with what stands there then."""
    emptied: dict[str, Any] = {}
    for field in dataclasses.fields(cls):
        if field.name in _KEPT_FIELDS or (field.name == "name" and cls.kind in _NAMED):
            continue
        if field.default is not dataclasses.MISSING:
            emptied[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            emptied[field.name] = field.default_factory()
        else:
            emptied[field.name] = 0.0 if field.name == "value" else ""
    return emptied


def kept_refs(events: Iterable[RunEvent], *, last_context: bool) -> set[ContentRef]:
    """Returns the refs that a cold run keeps whose contents go: checkpoints and summaries, and with `last_context` the
    last context of each agent, with its system prompt and tools."""
    kept = set[ContentRef | None]()
    contexts: dict[str | None, tuple[ContentRef | None, ...]] = {}
    for event in events:
        match event:
            case CheckpointCreated():
                kept |= {event.state, event.thread}
            case ContextCompressed():
                kept.add(event.summary)
                contexts[event.actor] = (event.after, *contexts.get(event.actor, ())[1:])
            case LlmCalled():
                contexts[event.actor] = (event.thread, event.system, event.tools)
            case _:
                pass
    if last_context:
        kept.update(ref for refs in contexts.values() for ref in refs)
    return {ref for ref in kept if ref is not None}

"""Answers about the difference between two moments of a run."""

from typing import Any, NotRequired, TypedDict

Moved = TypedDict("Moved", {"from": Any, "to": Any})


class KeyedChange(TypedDict):
    """How values under keys differ."""

    added: dict[str, Any]
    removed: dict[str, Any]
    changed: dict[str, Moved]


class ListChange(TypedDict):
    """How a list differs: the first `same` items are, then come those `removed`, and `added` in their place."""

    same: int
    removed: list[Any]
    added: list[Any]


class StateDiff(TypedDict):
    """Fields of the state that differ.  `changed`: plain ones; `keyed`: `user_state` and `open_calls` (by span);
    `lists`: `history`, `pending_approvals`, `compressions`, `errors`."""

    changed: dict[str, Moved]
    keyed: dict[str, KeyedChange]
    lists: dict[str, ListChange]


ContextEntry = TypedDict(
    "ContextEntry",
    {
        "op": str,
        "from": int | None,
        "to": int | None,
        "role": str | None,
        "message": str,
        "was": str | None,
        "value": NotRequired[Any],
        "was_value": NotRequired[Any],
    },
)
ContextEntry.__doc__ = """A message of either context: `kept`, `added`, `dropped`, or `replaced` (`was` stood there).

`from` and `to` are its positions, from 0."""


class ContextDiff(TypedDict):
    """How what the model saw last differs: messages in the new order, those that went where they had been.

    `changed` has `system`, `tools` and `settings` of the last calls where they differ, as refs.
    """

    kept: int
    added: int
    dropped: int
    replaced: int
    entries: list[ContextEntry]
    changed: dict[str, Moved]


class DiffMoment(TypedDict):
    """One end of a difference: an event, and what the model saw last by then."""

    seq: int
    event: str
    time: str
    thread: str | None
    call: int | None


Diff = TypedDict(
    "Diff",
    {
        "run": str,
        "from": DiffMoment,
        "to": DiffMoment,
        "state": StateDiff,
        "context": ContextDiff,
        "values": NotRequired[dict[str, Any]],
        "missing": list[str],
    },
)
Diff.__doc__ = """What is different at `to`, compared to `from`; `to` may be the earlier one.

`values` has the user's values that the difference of states names, by their refs."""

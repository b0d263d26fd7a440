"""Answers about the differences between two events of a run."""

from typing import Any, NotRequired, TypedDict

Moved = TypedDict("Moved", {"from": Any, "to": Any})


class KeyedChange(TypedDict):
    """Differences of a mapping, by key."""

    added: dict[str, Any]
    removed: dict[str, Any]
    changed: dict[str, Moved]


class ListChange(TypedDict):
    """Differences of a list: after the first `same` items, `removed` was replaced by `added`."""

    same: int
    removed: list[Any]
    added: list[Any]


class StateDiff(TypedDict):
    """Differences of the state, by field.  Applied to the state at `from`, they give the one at `to`.

    `changed`: single values; `keyed`: `user_state` and `open_calls` (by span); `lists`: `history`,
    `pending_approvals`, `compressions`, `tripped`, `errors`.
    """

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
ContextEntry.__doc__ = """A message of either context; `op` is `kept`, `added`, `dropped` or `replaced`.

`was` is the ref of the message that was replaced. `from` and `to` are its positions in the two contexts, from 0."""


class ContextDiff(TypedDict):
    """Differences between the contexts of the last model calls.

    `entries` are in the order of the new context, dropped messages at their old positions.  `changed` has the refs of
    `system`, `tools` and `settings` where they differ.
    """

    kept: int
    added: int
    dropped: int
    replaced: int
    entries: list[ContextEntry]
    changed: dict[str, Moved]


class DiffMoment(TypedDict):
    """One of the two compared events, with the last model call up to it and that call's thread."""

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
Diff.__doc__ = """Differences at event `to`, compared to event `from`; `to` may be the earlier one.

`values` has, by ref, the user's values to which the difference of the states refers."""

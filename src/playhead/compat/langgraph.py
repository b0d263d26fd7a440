"""Private names of LangGraph that have no public counterpart.

Tested with langgraph-checkpoint 3.0 (which has none of them) to 4.3; `tests/unit/compat/test_langgraph.py` fails when a
version moves them.
"""

from typing import Any

from langgraph.checkpoint.serde import types

# What a checkpoint has of a `DeltaChannel` from time to time. Savers are told to store it, and what they return for
# such a channel must be one again. None: this version has no such channels.
_SNAPSHOT: Any = getattr(types, "_DeltaSnapshot", None)


def is_snapshot(value: object) -> bool:
    """Whether this is a snapshot of a `DeltaChannel`: its `value` is the channel's."""
    return _SNAPSHOT is not None and isinstance(value, _SNAPSHOT)


def snapshot_of(value: object) -> Any:
    """Makes a snapshot; returns the value itself if this version of LangGraph has no snapshots, which reads it so."""
    return value if _SNAPSHOT is None else _SNAPSHOT(value)

"""Attributes whose names spell a structure (`llm.input_messages.0.message.role`) → the structure.

Numbers in a name are places in a list.  Places that are missing are left out: SDKs evict attributes beyond a limit, and
what is left still has its order.
"""

from typing import Any, cast

from playhead.model.span import Attributes

_MOST_SEGMENTS = 16  # names spell no deeper structures, and what walks them need not be prepared for more


def take_indexed(attributes: Attributes, prefix: str) -> list[Any] | None:
    """The list that the attributes below `prefix.` spell, which are taken out; None when there are none.

    Only those whose next segment is a number: others below the same name are something else."""
    start = prefix + "."
    end = len(start)
    keys = [key for key in attributes if key.startswith(start) and _is_index(key[end:].partition(".")[0])]
    if not keys:
        return None
    tree: dict[str, Any] = {}
    for key in keys:
        value = attributes.pop(key)
        if value is not None:
            _put(tree, key[len(start) :].split(".", _MOST_SEGMENTS), value)
    listed = _with_lists(tree)
    return cast(list[Any], listed) if isinstance(listed, list) else None


class _Node(dict[str, Any]):
    """A name that has others below it, as against a value that is an object."""


def _put(tree: dict[str, Any], path: list[str], value: Any) -> None:
    here: dict[str, Any] = tree
    for segment in path[:-1]:
        below = here.get(segment)
        if not isinstance(below, _Node):
            below = here[segment] = _Node() if below is None else _Node({"": below})
        here = cast(dict[str, Any], below)
    last = here.get(path[-1])
    if isinstance(last, _Node):
        last[""] = value
    else:
        here[path[-1]] = value


def _with_lists(tree: dict[str, Any]) -> Any:
    values = {key: _with_lists(value) if isinstance(value, _Node) else value for key, value in tree.items()}
    if values and all(map(_is_index, values)):
        return [values[key] for key in sorted(values, key=int)]
    return values


def _is_index(segment: str) -> bool:
    return segment.isdecimal() and segment.isascii() and len(segment) < 10

"""Builds the structure that attribute names describe (`llm.input_messages.0.message.role`).

Numbers in a name are indexes of a list. Missing indexes are skipped: SDKs drop attributes beyond a limit, and the
others keep their order.
"""

from functools import lru_cache
from typing import Final

from playhead.model.json_value import Json, JsonMapping, JsonValue
from playhead.model.span import Attributes

_MOST_SEGMENTS: Final = 16  # bounds the depth of the structure
_MOST_DIGITS: Final = 9
# Every span has the same names, so the split is cached; only for short names, to bound the memory.
_REMEMBERED: Final = 4_096
_REMEMBERED_CHARACTERS: Final = 128


def pop_indexed_list(attributes: Attributes, prefix: str) -> list[JsonValue] | None:
    """Removes the attributes below `prefix.` and returns the list that they encode; None if there are none."""
    elements = pop_indexed_elements(attributes, prefix)
    return None if elements is None else list(map(structure, elements))


def pop_indexed_elements(attributes: Attributes, prefix: str) -> list[Attributes] | None:
    """Removes the indexed attributes below `prefix.` and returns them by element of the list; None when there are none.

    The names are without prefix and index; the name of an element that is a single value is empty.  Attributes below
    `prefix.` without an index stay.
    """
    start = prefix + "."
    end = len(start)
    elements: dict[str, Attributes] = {}
    for key in [key for key in attributes if key.startswith(start)]:
        name = key[end:]
        index, below = _split(name) if len(name) <= _REMEMBERED_CHARACTERS else _split_any(name)
        if index is None:
            continue
        value = attributes.pop(key)
        if value is None:
            continue
        element = elements.get(index)
        if element is None:
            elements[index] = {below: value}
        else:
            element[below] = value
    return [elements[index] for index in sorted(elements, key=int)] if elements else None


def structure(element: JsonMapping) -> JsonValue:
    """Returns the value that one element's attributes encode."""
    if len(element) == 1 and "" in element:
        return element[""]
    tree = _Node()
    for name, value in element.items():
        _put(tree, name.split(".", _MOST_SEGMENTS), value)
    return _with_lists(tree)


def _split_any(name: str) -> tuple[str | None, str]:
    """Returns the number at the beginning of a name (None if there is none) and the text after the first dot."""
    segment, _, below = name.partition(".")
    return (segment if _is_index(segment) else None), below


_split = lru_cache(_REMEMBERED)(_split_any)


class _Node(Json):
    """A name with other names below it; a value that is an object is a plain dictionary."""


def _put(tree: _Node, path: list[str], value: JsonValue) -> None:
    here = tree
    for segment in path[:-1]:
        below = here.get(segment)
        if not isinstance(below, _Node):
            below = here[segment] = _Node() if below is None else _Node({"": below})
        here = below
    last = here.get(path[-1])
    if isinstance(last, _Node):
        last[""] = value
    else:
        here[path[-1]] = value


def _with_lists(tree: JsonMapping) -> JsonValue:
    values = {key: _with_lists(value) if isinstance(value, _Node) else value for key, value in tree.items()}
    if values and all(map(_is_index, values)):
        return [values[key] for key in sorted(values, key=int)]
    return values


def _is_index(segment: str) -> bool:
    return segment.isdecimal() and segment.isascii() and len(segment) <= _MOST_DIGITS

"""Checks that data kept to rebuild a value contains nothing that its recorded form does not show.

A redaction hook decides by the recorded form.  Attributes that it does not show (private ones, excluded fields) would
pass it unseen.
"""

import base64
from typing import Any, cast

from playhead.refs.plain import MARK, survey_key_orders

# Of tagged values: what says of which class they are, not what is in them.
_OF_THE_CLASS = frozenset({MARK, "class", "factory", "fields", "flavour", "kind", "member", "unset"})


def is_covered_by_recorded(tree: Any, recorded: Any) -> bool:
    """Whether every text and number in the tagged tree (see `faithful.py`) stands somewhere in the recorded form."""
    if isinstance(tree, dict) and cast("dict[str, Any]", tree).get(MARK) in {"json", "key order"}:
        return True  # plain JSON: the recorded form is the value
    found = survey_key_orders(tree)
    if found is not None and not found.marked:
        return True
    known = set(_texts(recorded))
    everything = "\n".join(known)
    return all(text in known or text in everything for text in _kept_texts(tree))


def _kept_texts(tree: Any) -> list[str]:
    found: list[str] = []
    waiting = [tree]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            fields = cast("dict[str, Any]", item)
            tagged = MARK in fields
            waiting += [each for key, each in fields.items() if not (tagged and key in _OF_THE_CLASS)]
        elif isinstance(item, list):
            waiting += cast("list[Any]", item)
        elif item is not None and not isinstance(item, bool):
            found.append(str(item))
    return found


def _texts(recorded: Any) -> list[str]:
    found: list[str] = []
    waiting = [recorded]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            fields = cast("dict[str, Any]", item)
            found += fields
            waiting += fields.values()
        elif isinstance(item, list):
            waiting += cast("list[Any]", item)
        elif isinstance(item, bytes):
            found.append(base64.b64encode(item).decode())
        elif item is not None and not isinstance(item, bool):
            found.append(str(item))
    return found

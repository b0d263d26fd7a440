"""Checks that data kept to rebuild a value contains nothing that its recorded form does not show.

A redaction hook sees only the recorded form. Attributes that are not in it (private ones, excluded fields) would pass
the hook unseen.
"""

import base64
from typing import Any, cast

from playhead.refs.plain import MARK, survey_key_orders

# Keys of tagged values that describe the class, not what is in the value.
_OF_THE_CLASS = frozenset({MARK, "class", "factory", "fields", "flavour", "kind", "member", "unset"})


def is_covered_by_recorded(tree: Any, recorded: Any) -> bool:
    """Whether every text and number in the tagged tree (see `faithful.py`) also occurs in the recorded form."""
    if isinstance(tree, dict) and cast("dict[str, Any]", tree).get(MARK) in {"json", "key order"}:
        return True  # plain JSON: the recorded form is the value
    survey = survey_key_orders(tree)
    if survey is not None and not survey.marked:
        return True
    texts = set(_texts(recorded))
    everything = "\n".join(texts)
    return all(text in texts or text in everything for text in _kept_texts(tree))


def _kept_texts(tree: Any) -> list[str]:
    texts: list[str] = []
    waiting = [tree]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            fields = cast("dict[str, Any]", item)
            tagged = MARK in fields
            waiting += [value for key, value in fields.items() if not (tagged and key in _OF_THE_CLASS)]
        elif isinstance(item, list):
            waiting += cast("list[Any]", item)
        elif item is not None and not isinstance(item, bool):
            texts.append(str(item))
    return texts


def _texts(recorded: Any) -> list[str]:
    texts: list[str] = []
    waiting = [recorded]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            fields = cast("dict[str, Any]", item)
            texts += fields
            waiting += fields.values()
        elif isinstance(item, list):
            waiting += cast("list[Any]", item)
        elif isinstance(item, bytes):
            texts.append(base64.b64encode(item).decode())
        elif item is not None and not isinstance(item, bool):
            texts.append(str(item))
    return texts

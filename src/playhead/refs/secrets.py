"""Masks secrets in the data kept to rebuild a value, by the same keys as in its recorded form.

A result that holds a secret cannot be given back. In an exception, the secret is left out and listed.
"""

import base64
from collections.abc import Collection, Iterable
from typing import Any, cast

from playhead.model.objects.error_texts import argument_text
from playhead.model.objects.masking import Mask
from playhead.model.objects.plain_forms import class_of
from playhead.refs.plain import MARK
from playhead.refs.value_codecs import Tree, tagged

_CONTAINERS = frozenset({list, dict})
_WITH_STATE = frozenset({"dataclass", "model"})
_OBJECTS = frozenset({"dataclass", "model", "namedtuple", "error"})


def holds_secret(tree: Any, mask: Mask, *, inside: bool = False) -> bool:
    """Whether something in a tagged tree (see `faithful.py`) is masked; `inside`: all of it is part of an object."""
    harmless: set[tuple[Any, ...]] = set()
    """Keys of objects that were found to hide nothing: most objects of a value are of few classes."""
    waiting = [(tree, inside)]
    while waiting:
        item, within = waiting.pop()
        if class_of(item) is list:
            items = cast("list[Any]", item)
            if within and mask.hides_second([_key(each) for each in items[:1]] + items[1:]):
                return True
            waiting += [(each, within) for each in items if type(each) in _CONTAINERS]
        if class_of(item) is not dict:
            continue
        fields = cast(Tree, item)
        within = within or fields.get(MARK) in _OBJECTS
        if fields.get(MARK) == "array" and any(mask.hides(part["name"], "?") for part in fields.get("columns", ())):
            return True
        names, values = _named(fields)
        if within and _hides_some(names, values, mask, harmless):
            return True
        inner: Iterable[Any] = [*names, *values] or fields.values()
        if fields.get(MARK) in _WITH_STATE:
            inner = (fields["state"],)
        waiting += [(each, within) for each in inner if type(each) in _CONTAINERS]
    return False


def _hides_some(names: Iterable[Any], values: Iterable[Any], mask: Mask, harmless: set[tuple[Any, ...]]) -> bool:
    keys = tuple(map(_key, names))
    if keys in harmless:
        return False
    if any(map(mask.hides, keys, values)):
        return True
    if not any(mask.hides(key, "?") for key in keys):
        harmless.add(keys)
    return False


def without_secrets(error: Tree, mask: Mask, raised: BaseException) -> Tree:
    """The tree of an exception (of `encode_error`), with what is masked left out; its text is the program's own."""
    kept = dict(error)
    if kept.get(MARK) != "error":
        return tagged("left out", text="<masked>") if holds_secret(kept, mask, inside=True) else kept
    only = len(raised.args) == 1
    kept["args"] = [
        _shown(arg, mask, error["message"] if only else argument_text(given))
        for arg, given in zip(error["args"], raised.args, strict=True)
    ]
    hidden = [
        name
        for name, item in error["state"].items()
        if mask.hides(name, item) or (not _is_http(item) and holds_secret(item, mask, inside=True))
    ]
    kept["state"] = {name: _shown(item, mask, "") for name, item in error["state"].items() if name not in hidden}
    kept["left_out"] = [*error["left_out"], *hidden]
    for name, chained in (("cause", raised.__cause__), ("context", raised.__context__)):
        if isinstance(kept.get(name), dict) and chained is not None:
            kept[name] = without_secrets(kept[name], mask, chained)
    return kept


def _shown(item: Any, mask: Mask, text: str) -> Any:
    if _is_http(item):
        return _http(item, mask)
    return tagged("left out", text=text) if holds_secret(item, mask) else item


def _is_http(item: Any) -> bool:
    return isinstance(item, dict) and cast(Tree, item).get(MARK) in {"http request", "http response"}


def _http(tree: Tree, mask: Mask) -> Tree:
    """The outline of a request or response without its credentials."""
    kept = dict(tree)
    if "url" in kept:
        kept["url"] = mask.text(kept["url"])
    if "headers" in kept:
        kept["headers"] = [pair for pair in kept["headers"] if not mask.hides_second(pair)]
    if kept.get("request") is not None:
        kept["request"] = _http(kept["request"], mask)
    return kept


def _named(fields: Tree) -> tuple[Collection[Any], Collection[Any]]:
    """Keys and values of the object that a tree describes; none for one of values without keys."""
    tag = fields.get(MARK)
    if tag == "namedtuple":
        return fields["fields"], fields["items"]
    if tag is None:
        return fields.keys(), fields.values()
    return (fields["keys"], fields["values"]) if "keys" in fields and "values" in fields else ((), ())


def _key(key: Any) -> Any:
    if type(key) is not dict:
        return key
    fields = cast(Tree, key)
    if fields.get(MARK) == "text":
        return "".join(fields["parts"])
    return base64.b64decode(fields["base64"]) if fields.get(MARK) == "bytes" else None

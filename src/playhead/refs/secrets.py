"""Masks secrets in the data kept to rebuild a value, by the same keys as in its recorded form.

A result that holds a secret cannot be given back. In an exception, the secret is left out and listed.
"""

import base64
from collections.abc import Iterator
from typing import Any, cast

from playhead.model.objects.masking import Mask
from playhead.model.objects.plain_forms import safe_repr
from playhead.refs.plain import MARK
from playhead.refs.value_codecs import Tree, tagged

_OBJECTS = frozenset({"dataclass", "model", "namedtuple", "error"})


def holds_secret(tree: Any, mask: Mask, *, inside: bool = False) -> bool:
    """Whether something in a tagged tree (see `faithful.py`) is masked; `inside`: all of it is part of an object."""
    waiting = [(tree, inside)]
    while waiting:
        item, within = waiting.pop()
        if type(item) is list:
            items = cast("list[Any]", item)
            if within and mask.hides_second([_key(each) for each in items[:1]] + items[1:]):
                return True
            waiting += [(each, within) for each in items]
        elif type(item) is dict:
            fields = cast(Tree, item)
            within = within or fields.get(MARK) in _OBJECTS
            for key, each in _named(fields):
                if within and mask.hides(_key(key), each):
                    return True
                waiting.append((each, within))
    return False


def without_secrets(error: Tree, mask: Mask, raised: BaseException) -> Tree:
    """The tree of an exception (of `encode_error`), with what is masked left out; its text is the program's own."""
    kept = dict(error)
    if kept.get(MARK) != "error":
        return tagged("left out", text="<masked>") if holds_secret(kept, mask, inside=True) else kept
    only = len(raised.args) == 1
    kept["args"] = [
        _shown(arg, mask, error["message"] if only else safe_repr(given))
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


def _named(fields: Tree) -> Iterator[tuple[Any, Any]]:
    """Keys and values of the object that a tree describes."""
    tag = fields.get(MARK)
    if tag == "namedtuple":
        yield from zip(fields["fields"], fields["items"], strict=False)
    elif tag is not None and "keys" in fields and "values" in fields:
        yield from ((None, key) for key in fields["keys"])
        yield from zip(fields["keys"], fields["values"], strict=False)
    elif tag is not None:
        yield from ((None, each) for each in fields.values())
    else:
        yield from fields.items()


def _key(key: Any) -> Any:
    if type(key) is not dict:
        return key
    fields = cast(Tree, key)
    if fields.get(MARK) == "text":
        return "".join(fields["parts"])
    return base64.b64decode(fields["base64"]) if fields.get(MARK) == "bytes" else None

"""Keeps secrets out of the data from which values are restored.

A value that holds something which a mask hides, by the same keys as in its recorded form, cannot be restored
(`holds_secret`). In an exception, the secret is left out and listed (`without_secrets`).

A redaction hook sees only the recorded form. Attributes that are not in it (private ones, excluded fields) would pass
the hook unseen. So the kept data must contain nothing that the recorded form does not show (`is_all_recorded`).
"""

import base64
from collections.abc import Collection, Iterable
from typing import Any, cast

from playhead.model.objects.error_texts import argument_text
from playhead.model.objects.masking import Mask
from playhead.model.objects.plain_forms import class_of
from playhead.refs.plain import MARK, key_orders_of
from playhead.refs.value_codecs import Tree, tagged

# --- masked keys ------------------------------------------------------------------------------------------------------


_CONTAINERS = frozenset({list, dict})
_WITH_STATE = frozenset({"dataclass", "model"})
_OBJECTS = frozenset({"dataclass", "model", "namedtuple", "error"})


def holds_secret(tree: object, mask: Mask, *, inside: bool = False) -> bool:
    """Whether something in a tagged tree (see `faithful.py`) is masked. `inside`: the whole tree is part of an
    object."""
    harmless: set[tuple[Any, ...]] = set()
    """Keys of objects that hide nothing: most objects of a value belong to few classes."""
    waiting = [(tree, inside)]
    while waiting:
        item, within = waiting.pop()
        if class_of(item) is list:
            items = cast("list[Any]", item)
            if within and mask.hides_second([_plain_key(element) for element in items[:1]] + items[1:]):
                return True
            waiting += [(element, within) for element in items if type(element) in _CONTAINERS]
        if class_of(item) is not dict:
            continue
        fields = cast(Tree, item)
        within = within or fields.get(MARK) in _OBJECTS
        if fields.get(MARK) == "array" and any(mask.hides(part["name"], "?") for part in fields.get("columns", ())):
            return True
        names, values = _keys_and_values(fields)
        if within and _hides_some(names, values, mask, harmless):
            return True
        inner: Iterable[Any] = [*names, *values] or fields.values()
        if fields.get(MARK) in _WITH_STATE:
            inner = (fields["state"],)
        waiting += [(element, within) for element in inner if type(element) in _CONTAINERS]
    return False


def _hides_some(names: Iterable[Any], values: Iterable[Any], mask: Mask, harmless: set[tuple[Any, ...]]) -> bool:
    keys = tuple(map(_plain_key, names))
    if keys in harmless:
        return False
    if any(map(mask.hides, keys, values)):
        return True
    if not any(mask.hides(key, "?") for key in keys):
        harmless.add(keys)
    return False


def without_secrets(error: Tree, mask: Mask, raised: BaseException) -> Tree:
    """Returns the tree of an exception (from `encode_error`) without what is masked. The exception's text is kept,
    since the program wrote it."""
    masked = dict(error)
    if masked.get(MARK) != "error":
        return tagged("left out", text="<masked>") if holds_secret(masked, mask, inside=True) else masked
    only = len(raised.args) == 1
    masked["args"] = [
        _masked_item(arg, mask, error["message"] if only else argument_text(original))
        for arg, original in zip(error["args"], raised.args, strict=True)
    ]
    hidden = [
        name
        for name, item in error["state"].items()
        if mask.hides(name, item) or (not _is_http(item) and holds_secret(item, mask, inside=True))
    ]
    masked["state"] = {
        name: _masked_item(item, mask, "") for name, item in error["state"].items() if name not in hidden
    }
    masked["left_out"] = [*error["left_out"], *hidden]
    for name, chained in (("cause", raised.__cause__), ("context", raised.__context__)):
        if isinstance(masked.get(name), dict) and chained is not None:
            masked[name] = without_secrets(masked[name], mask, chained)
    return masked


def _masked_item(item: Any, mask: Mask, text: str) -> Any:
    if _is_http(item):
        return _masked_http(item, mask)
    return tagged("left out", text=text) if holds_secret(item, mask) else item


def _is_http(item: object) -> bool:
    return isinstance(item, dict) and cast(Tree, item).get(MARK) in {"http request", "http response"}


def _masked_http(tree: Tree, mask: Mask) -> Tree:
    """The outline of a request or response without its credentials."""
    masked = dict(tree)
    if "url" in masked:
        masked["url"] = mask.text(masked["url"])
    if "headers" in masked:
        masked["headers"] = [pair for pair in masked["headers"] if not mask.hides_second(pair)]
    if masked.get("request") is not None:
        masked["request"] = _masked_http(masked["request"], mask)
    return masked


def _keys_and_values(fields: Tree) -> tuple[Collection[Any], Collection[Any]]:
    """Keys and values of the object that a tree describes; both empty if its values have no keys."""
    tag = fields.get(MARK)
    if tag == "namedtuple":
        return fields["fields"], fields["items"]
    if tag is None:
        return fields.keys(), fields.values()
    return (fields["keys"], fields["values"]) if "keys" in fields and "values" in fields else ((), ())


def _plain_key(key: object) -> Any:
    if type(key) is not dict:
        return key
    fields = cast(Tree, key)
    if fields.get(MARK) == "text":
        return "".join(fields["parts"])
    return base64.b64decode(fields["base64"]) if fields.get(MARK) == "bytes" else None


# --- what the recorded form does not show -----------------------------------------------------------------------------


# Keys of tagged values that describe the class, not what is in the value.
_CLASS_KEYS = frozenset({MARK, "class", "factory", "fields", "flavour", "kind", "member", "unset"})


def is_all_recorded(tree: Any, recorded: Any) -> bool:
    """Whether every text and number in the tagged tree (see `faithful.py`) also occurs in the recorded form."""
    if isinstance(tree, dict) and cast("dict[str, Any]", tree).get(MARK) in {"json", "key order"}:
        return True  # plain JSON: the recorded form is the value
    survey = key_orders_of(tree)
    if survey is not None and not survey.marked:
        return True
    texts = set(_recorded_texts(recorded))
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
            waiting += [value for key, value in fields.items() if not (tagged and key in _CLASS_KEYS)]
        elif isinstance(item, list):
            waiting += cast("list[Any]", item)
        elif item is not None and not isinstance(item, bool):
            texts.append(str(item))
    return texts


def _recorded_texts(recorded: object) -> list[str]:
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

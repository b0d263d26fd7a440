"""The part of JSON Patch (RFC 6902) that describes the difference of two JSON values.  Pure.

Only `add`, `replace` and `remove` are used; arrays of different lengths are replaced as a whole.  Values are compared
as JSON has them: 1, 1.0 and true are three values, and an object's keys have no order.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

Operation = dict[str, Any]
"""`{"op", "path", "value"?}`; the path is a JSON Pointer (RFC 6901)."""


def patch_between(before: object, after: object) -> list[Operation]:
    """The operations that turn `before` into `after`; empty when they are equal."""
    return list(_differences(before, after, ""))


def patched(value: object, patch: Sequence[Mapping[str, Any]]) -> Any:
    """Returns a copy of the value with the operations applied; `value` is not changed.

    Raises ValueError for an operation that does not fit the value, and if `patch` is not a patch.
    """
    if not isinstance(patch, list | tuple):
        raise ValueError(f"this is no JSON Patch, which is a list: {patch!r:.200}")
    holder = {"": _copied(value)}
    for operation in patch:
        _apply(holder, operation)
    return holder[""]


def _differences(before: Any, after: Any, path: str) -> Iterator[Operation]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _between_objects(cast("dict[str, Any]", before), cast("dict[str, Any]", after), path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _between_arrays(cast("list[Any]", before), cast("list[Any]", after), path)
    elif not _same(before, after):
        yield {"op": "replace", "path": path, "value": after}


def _between_objects(before: dict[str, Any], after: dict[str, Any], path: str) -> Iterator[Operation]:
    for key, item in after.items():
        below = f"{path}/{_escaped(key)}"
        if key in before:
            yield from _differences(before[key], item, below)
        else:
            yield {"op": "add", "path": below, "value": item}
    for key in before:
        if key not in after:
            yield {"op": "remove", "path": f"{path}/{_escaped(key)}"}


def _between_arrays(before: list[Any], after: list[Any], path: str) -> Iterator[Operation]:
    if len(before) != len(after):
        yield {"op": "replace", "path": path, "value": after}
        return
    for index, (old, new) in enumerate(zip(before, after, strict=True)):
        yield from _differences(old, new, f"{path}/{index}")


def _same(before: Any, after: Any) -> bool:
    """Whether two values, of which at most one is an object or an array, are the same JSON value; -0.0 is not 0.0."""
    return type(before) is type(after) and before == after and (type(after) is not float or repr(before) == repr(after))


def _apply(holder: dict[str, Any], operation: Any) -> None:
    path, op = _path_and_op(operation)
    keys = [_unescaped(key) for key in path.split("/")]
    try:
        target: Any = holder
        for key in keys[:-1]:
            target = target[_place(target, key)]
        last = _place(target, keys[-1])
        if op == "remove":
            del target[last]
        else:
            target[last] = _copied(operation["value"])
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ValueError(f"{op} {path!r:.200} does not fit the value: {error!r}") from None


def _path_and_op(operation: object) -> tuple[str, str]:
    if isinstance(operation, Mapping):
        fields = cast("Mapping[str, Any]", operation)
        path, op = fields.get("path"), fields.get("op")
        is_path = isinstance(path, str) and (not path or path.startswith("/"))
        if is_path and (op in ("add", "replace") or (op == "remove" and path)):
            return cast(str, path), cast(str, op)
    raise ValueError(f"this is no operation of a JSON Patch that is known here: {operation!r:.200}")


def _place(target: object, key: str) -> Any:
    if not isinstance(target, list):
        return key
    if not (key.isascii() and key.isdecimal()):  # not -1, which Python takes for the last
        raise ValueError(f"{key!r:.40} is no place in an array")
    return int(key)


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _unescaped(key: str) -> str:
    return key.replace("~1", "/").replace("~0", "~")


def _copied(value: object) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in cast("dict[str, Any]", value).items()}
    return [_copied(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value

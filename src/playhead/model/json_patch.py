"""JSON Patch (RFC 6902), as far as it says how one JSON value differs from another.  Pure.

Only `add`, `replace` and `remove` are used; arrays of different lengths are replaced as a whole.  Values are compared
as JSON has them: 1, 1.0 and true are three values, and an object's keys have no order.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

Operation = dict[str, Any]
"""`{"op", "path", "value"?}`; the path is a JSON Pointer (RFC 6901)."""


def patch_between(before: Any, after: Any) -> list[Operation]:
    """The operations that make `after` of `before`; none when they are equal."""
    return list(_differences(before, after, ""))


def patched(value: Any, patch: Sequence[Mapping[str, Any]]) -> Any:
    """The value after these operations, which must fit it; the value that was given is left alone.

    Raises ValueError for an operation that does not fit."""
    holder = {"": _copied(value)}
    for operation in patch:
        _apply(holder, operation)
    return holder[""]


def _differences(before: Any, after: Any, path: str) -> Iterator[Operation]:
    if isinstance(before, dict) and isinstance(after, dict):
        old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", after)
        for key, item in new.items():
            below = f"{path}/{_escaped(key)}"
            if key in old:
                yield from _differences(old[key], item, below)
            else:
                yield {"op": "add", "path": below, "value": item}
        for key in old:
            if key not in new:
                yield {"op": "remove", "path": f"{path}/{_escaped(key)}"}
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):  # pyright: ignore[reportUnknownArgumentType]
        for at, (old_item, new_item) in enumerate(zip(before, after, strict=True)):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            yield from _differences(old_item, new_item, f"{path}/{at}")
    elif type(before) is not type(after) or before != after or (type(after) is float and repr(before) != repr(after)):
        yield {"op": "replace", "path": path, "value": after}


def _apply(holder: dict[str, Any], operation: Mapping[str, Any]) -> None:
    path, op = operation.get("path"), operation.get("op")
    if not isinstance(path, str) or op not in ("add", "replace", "remove"):
        raise ValueError(f"this is no operation of a JSON Patch that is known here: {operation!r:.200}")
    keys = [_unescaped(key) for key in path.split("/")]
    try:
        at: Any = holder
        for key in keys[:-1]:
            at = at[int(key) if isinstance(at, list) else key]
        last: Any = int(keys[-1]) if isinstance(at, list) else keys[-1]
        if op == "remove":
            del at[last]
        else:
            at[last] = _copied(operation["value"])
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ValueError(f"{op} {path!r:.200} does not fit the value: {error!r}") from None


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _unescaped(key: str) -> str:
    return key.replace("~1", "/").replace("~0", "~")


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in cast("dict[str, Any]", value).items()}
    return [_copied(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value

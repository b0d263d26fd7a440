"""Differences between JSON objects, so that a record has only what has changed since the one before it. Pure."""

from typing import Final

from playhead.model.canonical import canonical_json
from playhead.model.json_value import Json, JsonMapping, JsonValue, is_object, list_of, object_of

SET: Final = "set"
INSIDE: Final = "in"
GONE: Final = "gone"


def difference(old: JsonMapping, new: JsonMapping) -> Json:
    """Returns what turns `old` into `new`: `set` has the members that are new or other, `in` the differences of objects
    that are in both, `gone` the names of the others. What is empty is left out."""
    changed: Json = {}
    inside: Json = {}
    for key, value in new.items():
        before = old.get(key)
        if is_object(before) and is_object(value):
            if part := difference(before, value):
                inside[key] = part
        elif key not in old or not _equal(before, value):
            changed[key] = value
    gone: list[JsonValue] = [key for key in old if key not in new]
    whole: Json = {SET: changed, INSIDE: inside, GONE: gone}
    return {name: part for name, part in whole.items() if part}


def patched(old: JsonMapping, change: JsonMapping) -> Json:
    """Returns the object that `difference` was given as `new`. What has not changed is shared with `old`."""
    gone = list_of(change.get(GONE))
    new: Json = {key: value for key, value in old.items() if key not in gone}
    for key, part in object_of(change.get(INSIDE)).items():
        new[key] = patched(object_of(new.get(key)), object_of(part))
    return {**new, **object_of(change.get(SET))}


def _equal(one: JsonValue, other: JsonValue) -> bool:
    """Whether both have the same JSON: 1, 1.0 and true are three values."""
    return one is other or canonical_json(one) == canonical_json(other)

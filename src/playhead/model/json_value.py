"""Reads JSON from outside with types. What is missing, or of another type, reads as the default; nothing raises.

`..._of` reads a value, `..._at` a member of it: of an object by its key, of a list by its index. The results are the
values of the JSON itself, not copies.
"""

from collections.abc import Mapping
from typing import TypeAlias, TypeGuard, TypeVar, cast

JsonValue: TypeAlias = str | int | float | bool | list["JsonValue"] | dict[str, "JsonValue"] | None
Json: TypeAlias = dict[str, JsonValue]
"""A JSON object."""
JsonMapping: TypeAlias = Mapping[str, JsonValue]
"""A JSON object that is only read."""
JsonOrBytes: TypeAlias = JsonValue | bytes
"""The value of a content: JSON, a text, or bytes of another media type."""

T = TypeVar("T")


def is_object(value: object) -> TypeGuard[Json]:
    """Whether a value of JSON is an object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[JsonValue]]:
    """Whether a value of JSON is a list."""
    return isinstance(value, list)


def object_of(value: object) -> Json:
    """Returns a JSON object; an empty one for any other value."""
    return cast("Json", value) if isinstance(value, dict) else {}


def mapping_of(value: object) -> JsonMapping:
    """Returns a JSON object of any class of mappings; an empty one for any other value."""
    return cast("JsonMapping", value) if isinstance(value, Mapping) else {}


def list_of(value: object) -> list[JsonValue]:
    """Returns a JSON list; an empty one for any other value."""
    return cast("list[JsonValue]", value) if isinstance(value, list) else []


def objects_of(value: object) -> list[Json]:
    """Returns the objects of a JSON list, without its other items; an empty list for any other value."""
    return [item for item in list_of(value) if isinstance(item, dict)]


def value_at(value: object, key: str | int) -> JsonValue:
    """Returns a member of any type; None if there is none."""
    if isinstance(value, dict):
        return cast("dict[str | int, JsonValue]", value).get(key)
    items = list_of(value)
    return items[key] if isinstance(key, int) and -len(items) <= key < len(items) else None


def object_at(value: object, key: str | int) -> Json:
    """Returns a member that is an object; else an empty object."""
    return object_of(value_at(value, key))


def list_at(value: object, key: str | int) -> list[JsonValue]:
    """Returns a member that is a list; else an empty list."""
    return list_of(value_at(value, key))


def objects_at(value: object, key: str | int) -> list[Json]:
    """Returns the objects in a member that is a list; else an empty list."""
    return objects_of(value_at(value, key))


def text_at(value: object, key: str | int, default: T = "") -> str | T:
    """Returns a member that is a text; else the default."""
    text = value_at(value, key)
    return text if isinstance(text, str) else default


def int_at(value: object, key: str | int, default: T = 0) -> int | T:
    """Returns a member that is an integer (True and False are none); else the default."""
    number = value_at(value, key)
    return number if isinstance(number, int) and not isinstance(number, bool) else default


def float_at(value: object, key: str | int) -> float:
    """Returns a member that is a number (True and False are none) as a float; else 0."""
    number = value_at(value, key)
    return float(number) if isinstance(number, int | float) and not isinstance(number, bool) else 0.0

"""Reads arguments and answers of generated clients. Changes nothing."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from playhead.model.objects.interrupts import let_through

# Not part of the request's content; headers may hold secrets. (`settings_of` merges extra_body.)
TRANSPORT = frozenset({"extra_headers", "extra_query", "extra_body", "timeout"})
# The clients' types for arguments that are not given.
LEFT_OUT = frozenset({"Omit", "NotGiven"})
_PLAIN = frozenset({str, int, float, bool})


def listed(tools: Any) -> list[Any] | None:
    """Returns tool definitions as a list; None if there are none, or if the client refuses the value's type."""
    kind: Any = type(tools)  # pyright: ignore[reportUnknownVariableType]
    if tools is None or kind is list:  # as nearly always
        return tools
    return list(cast("Sequence[Any]", tools)) if isinstance(tools, Sequence) else None


def settings_of(
    kwargs: Mapping[str, Any],
    elsewhere: Collection[str],
    attribute_names: Mapping[str, str],
    schema_of: Callable[[type], Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the request's other arguments as sent, and the attributes of those in `attribute_names` (argument →
    attribute).

    `extra_body` is merged in, as the client does it. Arguments in `elsewhere` are left out, except a null value of one
    that is not in TRANSPORT. `schema_of` returns the schema that is sent for a class.
    """
    settings: dict[str, Any] = {}
    attributes: dict[str, Any] = {}
    for name, value in kwargs.items():
        if name in elsewhere and (value is not None or name in TRANSPORT):
            continue
        if type(value) in _PLAIN:
            attribute = attribute_names.get(name)
            if attribute is not None:
                attributes[attribute] = value
        elif type(value).__name__ in LEFT_OUT:
            continue
        settings[name] = schema_of(value) if isinstance(value, type) else value
    extra: Any = kwargs.get("extra_body")
    if extra is not None and isinstance(extra, Mapping):  # None first: isinstance with an abstract class is slow
        body = cast("Mapping[str, Any]", extra)
        settings |= {name: value for name, value in body.items() if type(value).__name__ not in LEFT_OUT}
    return settings, attributes


def dumped(value: Any) -> Any:
    """Returns the JSON that the client sends for one of its objects; any other value unchanged."""
    if not hasattr(value, "model_dump"):
        return value
    left_out = getattr(value, "__api_exclude__", None)
    return value.model_dump(mode="json", exclude_unset=True, warnings=False, exclude=left_out)


def answer_json(value: Any) -> Any:
    """Returns the JSON that the provider sent for an answer, as far as the client's class has it.

    The result of `model_dump(mode="json", exclude_unset=True, warnings=False, by_alias=True)`, in less time.
    """
    kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType]
    to_python = _serializer_of(kind)
    if to_python is None:
        return value.model_dump(mode="json", exclude_unset=True, warnings=False, by_alias=True)
    return to_python(value, mode="json", exclude_unset=True, warnings=False, by_alias=True)


@lru_cache(maxsize=256)
def _serializer_of(kind: type[Any]) -> Callable[..., Any] | None:
    """Returns the function that pydantic's own `model_dump` calls; None if the class has another `model_dump`."""
    if getattr(getattr(kind, "model_dump", None), "__module__", None) != "pydantic.main":
        return None
    return getattr(getattr(kind, "__pydantic_serializer__", None), "to_python", None)


def usage_of(usage: Mapping[str, Any], fields: Iterable[tuple[str, str, str]]) -> dict[str, int]:
    """Returns attributes with the token counts of `usage`. `fields`: (group, key, attribute), with group "" for a count
    at the top."""
    # Providers may answer without usage; absent is not zero.
    attributes: dict[str, int] = {}
    for group, key, name in fields:
        counts: Mapping[str, Any] | None = usage.get(group) if group else usage
        if counts and (value := counts.get(key)) is not None:
            attributes[name] = value
    return attributes


def audio_usage(usage: Mapping[str, Any], groups: Mapping[str, str]) -> dict[str, int]:
    """Returns attributes with counts of audio tokens. `groups`: key of the group that has the count → attribute.

    Counts of 0 are left out: models without audio report them, too.
    """
    attributes: dict[str, int] = {}
    for group, name in groups.items():
        counts: Mapping[str, Any] | None = usage.get(group)
        if counts and (value := counts.get("audio_tokens")):
            attributes[name] = value
    return attributes


def described(kind: type) -> dict[str, Any]:
    """Returns the name and JSON schema of a class; the schema is None if the class has none."""
    try:
        schema = getattr(kind, "model_json_schema", None)
        json_schema = schema() if callable(schema) else None
    except BaseException as error:  # noqa: BLE001 - the class is the user's
        let_through(error)
        json_schema = None
    return {"type": kind.__qualname__, "json_schema": json_schema}

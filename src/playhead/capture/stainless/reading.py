"""Reads arguments and answers of generated clients. Changes nothing."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from playhead.model.objects.interrupts import let_through

# Not part of the request's content (extra_body is told apart): and headers may hold secrets.
TRANSPORT = frozenset({"extra_headers", "extra_query", "extra_body", "timeout"})
# Types of the clients' that say: not given.
LEFT_OUT = frozenset({"Omit", "NotGiven"})
_PLAIN = frozenset({str, int, float, bool})


def listed(tools: Any) -> list[Any] | None:
    """Tool definitions; None where there are none, or what the client does not take either."""
    kind: Any = type(tools)  # pyright: ignore[reportUnknownVariableType]
    if tools is None or kind is list:  # as nearly always
        return tools
    return list(cast("Sequence[Any]", tools)) if isinstance(tools, Sequence) else None


def settings_of(
    kwargs: Mapping[str, Any],
    elsewhere: Collection[str],
    known: Mapping[str, str],
    schema_of: Callable[[type], Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The request's other arguments as they are sent, and attributes for those that have a known name. `extra_body` is
    merged in, as the client does it; an argument that is recorded elsewhere is kept only if it is null. `schema_of`
    says what is sent for a class.
    """
    settings: dict[str, Any] = {}
    attributes: dict[str, Any] = {}
    for name, value in kwargs.items():
        if name in elsewhere and (value is not None or name in TRANSPORT):
            continue
        if type(value) in _PLAIN:
            attribute = known.get(name)
            if attribute is not None:
                attributes[attribute] = value
        elif type(value).__name__ in LEFT_OUT:
            continue
        settings[name] = schema_of(value) if isinstance(value, type) else value
    extra: Any = kwargs.get("extra_body")
    if extra is not None and isinstance(extra, Mapping):  # an abstract class takes its time to say no
        body = cast("Mapping[str, Any]", extra)
        settings |= {name: value for name, value in body.items() if type(value).__name__ not in LEFT_OUT}
    return settings, attributes


def dumped(value: Any) -> Any:
    """An object of the client as the JSON that it sends; any other value unchanged."""
    if not hasattr(value, "model_dump"):
        return value
    left_out = getattr(value, "__api_exclude__", None)
    return value.model_dump(mode="json", exclude_unset=True, warnings=False, exclude=left_out)


def answer_json(value: Any) -> Any:
    """An answer of the client as the JSON that the provider sent, as far as the client understood it.

    What `model_dump(mode="json", exclude_unset=True, warnings=False, by_alias=True)` gives, in less time.
    """
    kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType]
    to_python = _serializer_of(kind)
    if to_python is None:
        return value.model_dump(mode="json", exclude_unset=True, warnings=False, by_alias=True)
    return to_python(value, mode="json", exclude_unset=True, warnings=False, by_alias=True)


@lru_cache(maxsize=256)
def _serializer_of(kind: type[Any]) -> Callable[..., Any] | None:
    """What pydantic's own `model_dump` calls, with a dozen arguments more; None: the class has another `model_dump`."""
    if getattr(getattr(kind, "model_dump", None), "__module__", None) != "pydantic.main":
        return None
    return getattr(getattr(kind, "__pydantic_serializer__", None), "to_python", None)


def usage_of(usage: Mapping[str, Any], known: Iterable[tuple[str, str, str]]) -> dict[str, int]:
    """Attributes of the counts that are known: group ("" for none), key, attribute."""
    # Providers may answer without usage; absent is not zero.
    found: dict[str, int] = {}
    for group, key, name in known:
        counts: Mapping[str, Any] | None = usage.get(group) if group else usage
        if counts and (value := counts.get(key)) is not None:
            found[name] = value
    return found


def audio_usage(usage: Mapping[str, Any], groups: Mapping[str, str]) -> dict[str, int]:
    """Attributes of the tokens that were sound. `groups`: the attribute by the group that counts them.

    None of a model that neither heard nor said anything, though such a model counts them, too.
    """
    found: dict[str, int] = {}
    for group, name in groups.items():
        counts: Mapping[str, Any] | None = usage.get(group)
        if counts and (value := counts.get("audio_tokens")):
            found[name] = value
    return found


def described(kind: type) -> dict[str, Any]:
    """A class as its name and schema; None if it has no schema."""
    try:
        schema = getattr(kind, "model_json_schema", None)
        said = schema() if callable(schema) else None
    except BaseException as error:  # noqa: BLE001 - the class is the user's
        let_through(error)
        said = None
    return {"type": kind.__qualname__, "json_schema": said}

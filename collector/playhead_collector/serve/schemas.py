"""Builds response models for FastAPI (and so for OpenAPI) from the types in `playhead.wire.operations`.

On Python 3.11 pydantic accepts only the TypedDict of `typing_extensions`, a library that `playhead.wire` does not use.
So each TypedDict is rebuilt with that library, from the same fields.
"""

from functools import cache
from types import UnionType
from typing import Any, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

import typing_extensions

from playhead.wire.operations import Page


@cache
def schema(answer: Any) -> Any:
    """Returns the `response_model` for an answer's type."""
    origin, inside = get_origin(answer), get_args(answer)
    if origin is Page:
        items: Any = list[schema(inside[0])]
        return _typed_dict(f"PageOf{inside[0].__name__}", {"items": items, "next_cursor": str | None}, Page.__doc__)
    if origin is NotRequired:
        return typing_extensions.NotRequired[schema(inside[0])]
    if origin in (Union, UnionType):
        return Union[tuple(map(schema, inside))]  # noqa: UP007 - there is no operator for a list of types
    if origin is list:
        return list[schema(inside[0])]
    if origin is dict:
        return dict[inside[0], schema(inside[1])]
    if is_typeddict(answer):
        hints = get_type_hints(answer, include_extras=True)
        return _typed_dict(answer.__name__, {name: schema(hint) for name, hint in hints.items()}, answer.__doc__)
    return answer


def _typed_dict(name: str, fields: dict[str, Any], doc: str | None) -> Any:
    make: Any = typing_extensions.TypedDict  # type checkers accept calls with literals only
    made = make(name, fields)
    made.__doc__ = doc
    return made

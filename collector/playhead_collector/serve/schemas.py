"""From the shared types of answers to response models, and so to OpenAPI.

pydantic reads a TypedDict's required keys on Python 3.11 only when `typing_extensions` made it, and `playhead.model`
does without that library.  Hence each is made again from its own fields; nothing is described twice.
"""

from functools import lru_cache
from types import UnionType
from typing import Any, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

import typing_extensions

from playhead.wire.answers import Page


@lru_cache(maxsize=256)
def schema(answer: Any) -> Any:
    """What to give FastAPI as `response_model` for an answer's type."""
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
    make: Any = typing_extensions.TypedDict  # as a function, which type checkers know with literals only
    made = make(name, fields)
    made.__doc__ = doc
    return made

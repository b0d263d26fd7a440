"""Registers operations of the query API as routes, with their parameters, response models and errors for OpenAPI.

Response models are built from the types in `playhead.wire.operations`. On Python 3.11 pydantic accepts only the
TypedDict of `typing_extensions`, a library that `playhead.wire` does not use. So each TypedDict is rebuilt with that
library, from the same fields.
"""

from collections.abc import Callable, Collection, Sequence
from functools import cache
from types import UnionType
from typing import Annotated, Any, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

import typing_extensions
from fastapi import Depends, FastAPI, Header, Query, Request, Response

from playhead.wire import operations
from playhead.wire.operations import Page
from playhead.wire.operations.declared import PREFIX
from playhead_collector.errors import Refused
from playhead_collector.serve.read_limiter import ReadLimiter

# --- parameters ------------------------------------------------------------------------------------------------------

Cursor = Annotated[str | None, Query(max_length=300, description="`next_cursor` of the previous page.")]
LastEventId = Annotated[str | None, Header(max_length=100, description="The last `id` that was received.")]


# --- response models -------------------------------------------------------------------------------------------------


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


# --- routes ----------------------------------------------------------------------------------------------------------

Responses = dict[int | str, dict[str, Any]]
_REFUSALS = {
    400: "A part of the request cannot be read.",
    404: "There is no such run, event, call or content.",
    409: "No model for explanations is configured.",
    410: "What was missed since `Last-Event-ID` is not known any more.",
    413: "The requested contents are too large together.",
    422: "A parameter is not valid.",
    502: "The model for explanations did not answer, or its answer cannot be used.",
    503: "The database does not answer, or too many requests wait: try again after `Retry-After` seconds. Or the "
    "analysis took too long or too much memory (`took_too_long`, `took_too_much`): ask for less.",
}


def no_other_parameters(known: Collection[str]) -> Callable[[Request], None]:
    """Returns a check of a request's query. It raises Refused for a parameter that is not `known`: a misspelt filter
    would have no effect."""

    def check(request: Request) -> None:
        unknown = sorted(request.query_params.keys() - known)
        if unknown:
            expected = f"known are {', '.join(sorted(known))}" if known else "this path takes none"
            raise Refused(400, "unknown_parameter", f"there is no parameter {unknown[0][:40]!r} here: {expected}")

    return check


Handled = Callable[..., Any]


class ApiRoutes:
    """Adds routes below the API's path to an application, with what all of them have in common."""

    def __init__(self, app: FastAPI, reads: ReadLimiter | None = None) -> None:
        """`reads` limits how many of the handlers run at a time; sending the response is not limited."""
        self.reads = reads
        turn = [Depends(reads.around, scope="function")] if reads else []
        self._app = app
        self._turn = turn
        self._responses = refusals(400, 404, 422, 503)

    def add(
        self,
        path: str,
        handler: Handled,
        *,
        methods: list[str],
        query: Collection[str] = (),
        name: str | None = None,
        tags: Sequence[str] = (),
        response_model: Any = None,
        response_class: type[Response] | None = None,
        responses: Responses | None = None,
        **described: Any,
    ) -> None:
        """Adds a route. `query` are the names of its query's parameters. `described` is passed on to FastAPI."""
        if response_class is not None:
            described["response_class"] = response_class
        self._app.add_api_route(
            PREFIX + path,
            handler,
            methods=methods,
            name=name,
            tags=list(tags),
            dependencies=[Depends(no_other_parameters(frozenset(query))), *self._turn],
            response_model=response_model,
            responses={**self._responses, **(responses or {})},
            **described,
        )


def refusals(*statuses: int) -> Responses:
    """Returns the OpenAPI responses for these error statuses."""
    return {status: refusal(_REFUSALS[status]) for status in statuses}


def refusal(description: str) -> dict[str, Any]:
    """Returns the OpenAPI response for an error. It refers to the model of `first_refusal` by name: FastAPI builds the
    model again for each response that has one, which took most of the time to build the application."""
    answer = {"schema": {"$ref": f"#/components/schemas/{operations.ErrorAnswer.__name__}"}}
    return {"description": description, "content": {"application/json": answer}}


def first_refusal(description: str) -> dict[str, Any]:
    """Returns the same as `refusal`, with the model itself. One response is registered with it, so that OpenAPI has the
    model."""
    return {"description": description, "model": schema(operations.ErrorAnswer)}

"""Registers operations of the query API as routes, with their parameters, response models and errors for OpenAPI.

Response models are built from the types in `playhead.wire.operations`. On Python 3.11 pydantic accepts only the
TypedDict of `typing_extensions`, a library that `playhead.wire` does not use. So each TypedDict is rebuilt with that
library, from the same fields.
"""

from collections.abc import Callable, Iterator
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

import typing_extensions
from fastapi import APIRouter, Depends, FastAPI, Header, Path, Query, Request

from playhead.model.times import parse_time
from playhead.wire import operations
from playhead.wire.operations import Page
from playhead_collector.errors import Refused
from playhead_collector.serve.read_limiter import ReadLimiter
from playhead_collector.store.ports.cohorts import RunFilter

# --- parameters ------------------------------------------------------------------------------------------------------

# Postgres cannot store a NUL character, so no stored value equals a text with one.
NO_NUL = r"^[^\x00]*$"
"""Pattern of texts that can be looked up in the database."""
MOMENT = "A seq, the id of an event or span, `turn:N` (the N-th model call), `first-error` or `last`"
_WORD = Query(max_length=300, pattern=NO_NUL)

Ref = Annotated[
    str, Path(description="`sha256:` and 64 lower-case hex digits; a suffix `:text` or `:bytes` says how to read it.")
]
RunId = Annotated[str, Path(description="A run: its id (32 hex digits), a part of it that is unique, or `last`.")]
At = Annotated[str | None, Query(max_length=300, pattern=NO_NUL, description=f"{MOMENT}; default: the last.")]


AtEvent = Annotated[str, Path(max_length=300, description=f"{MOMENT}.")]
TraceId = Annotated[str | None, Query(pattern="^[0-9a-f]{32}$", description="The id of a trace, 32 hex digits.")]
Limit = Annotated[int, Query(ge=1, le=1_000, description="Maximum number of items in the answer.")]
Cursor = Annotated[str | None, Query(max_length=300, description="`next_cursor` of the previous page.")]
Hydrate = Annotated[bool, Query(description="Also return the values of the refs.")]
Word = Annotated[str | None, _WORD]
Status = Literal["running", "completed", "failed", "cancelled", "lost"]
Priority = Literal["critical", "normal"]
Time = Annotated[str | None, Query(max_length=50, description="RFC 3339, e.g. 2026-01-31T12:00:00Z, or a date.")]
LastEventId = Annotated[str | None, Header(max_length=100, description="The last `id` that was received.")]
Kinds = Annotated[list[str] | None, Query(description="Kinds of events, repeated or separated by commas.")]


def read_time(text: str | None) -> int | None:
    """Returns the time in nanoseconds since 1970; None for None. Raises Refused if the text is not a time."""
    try:
        return None if text is None else parse_time(text)
    except ValueError as error:
        raise Refused(400, "bad_time", str(error)) from None


def run_conditions(
    agent: Word = None,
    status: Status | None = None,
    session: Word = None,
    user: Word = None,
    tag: Word = None,
    model: Word = None,
    tool: Word = None,
    text: Word = None,
    since: Time = None,
    until: Time = None,
) -> RunFilter:
    """Returns the filter for lists of runs and for questions about many runs. Raises Refused."""
    return RunFilter(
        agent=agent, status=status, session=session, user=user, tag=tag, model=model, tool=tool, text=text,
        since_ns=read_time(since), until_ns=read_time(until),
    )  # fmt: skip


RunConditions = Annotated[RunFilter, Depends(run_conditions)]


def read_kinds(kinds: list[str] | None) -> frozenset[str]:
    """Returns the event kinds; an empty set means all kinds."""
    return frozenset(word.strip() for kind in kinds or () for word in kind.split(",") if word.strip())


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

PREFIX = "/api/v1"

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


def reject_unknown_parameters(request: Request) -> None:
    """Raises Refused for query parameters that the route does not have: a misspelt filter would have no effect."""
    sent = request.query_params.keys()
    if not sent:
        return
    accepted = set(_query_names(request.scope["route"].dependant))
    unknown = sorted(sent - accepted)
    if unknown:
        expected = f"known are {', '.join(sorted(accepted))}" if accepted else "this path takes none"
        raise Refused(400, "unknown_parameter", f"there is no parameter {unknown[0][:40]!r} here: {expected}")


def _query_names(dependant: Any) -> Iterator[str]:
    yield from (param.alias for param in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _query_names(inner)


ONLY_KNOWN = [Depends(reject_unknown_parameters)]


def new_router(reads: ReadLimiter | None = None) -> APIRouter:
    """Returns a router. `reads` limits how many of its handlers run at a time; sending the response is not limited."""
    turn = [Depends(reads.around, scope="function")] if reads else []
    return APIRouter(prefix=PREFIX, responses=refusals(400, 404, 422, 503), dependencies=[*ONLY_KNOWN, *turn])


def get(
    api: APIRouter, tag: str, path: str, handler: Callable[..., Any], answer: Any, also: Responses | None = None
) -> None:
    """Registers a GET route. `answer` is the type of the response, from `playhead.wire.operations`. `also` are further
    responses for OpenAPI."""
    api.get(path, tags=[tag], name=handler.__name__, response_model=schema(answer), responses=also)(handler)


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


def conflict(description: str) -> Responses:
    """Returns the OpenAPI response for status 409."""
    return {409: refusal(description)}


def add_routers(to: FastAPI | APIRouter, *routers: APIRouter) -> None:
    """Adds the routes of these routers as they are, with the prefix and the dependencies of their own router.

    FastAPI's `include_router` builds each route again, with all of its models, when the first request arrives: a third
    of a second for this API. A route that is included a second time also loses the prefix in its path.
    """
    for router in routers:
        to.routes.extend(router.routes)

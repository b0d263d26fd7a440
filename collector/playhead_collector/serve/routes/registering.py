"""[serve]: registers operations of the query API, with their response models and errors for OpenAPI."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Depends

from playhead.wire import operations
from playhead_collector.serve.read_limiter import ReadLimiter
from playhead_collector.serve.routes.params import ONLY_KNOWN
from playhead_collector.serve.schemas import schema

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

"""[serve]: how an operation of the query API is registered: the type of its answer, and its errors."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter

from playhead.wire import answers as a
from playhead_collector.serve.schemas import schema

Responses = dict[int | str, dict[str, Any]]
_REFUSALS = {
    400: "A part of the question cannot be understood.",
    404: "There is no such run, event, call or content.",
    409: "No model is configured that could explain.",
    413: "The contents are too large together.",
    422: "A parameter is out of its bounds.",
    502: "The model that explains does not answer, or not as it should.",
    503: "The database does not answer, or too many questions wait: try again after `Retry-After` seconds. Or the "
    "question took too long or too much memory (`took_too_long`, `took_too_much`): ask for less.",
}


def get(api: APIRouter, tag: str, path: str, handler: Callable[..., Any], answer: Any) -> None:
    """Registers a GET that is named as its handler and answers with this type."""
    api.get(path, tags=[tag], name=handler.__name__, response_model=schema(answer))(handler)


def refusals(*statuses: int) -> Responses:
    """Errors that several operations answer with."""
    error = schema(a.ErrorAnswer)
    return {status: {"description": _REFUSALS[status], "model": error} for status in statuses}


def conflict(description: str) -> Responses:
    """A refusal with 409."""
    return {409: {"description": description, "model": schema(a.ErrorAnswer)}}

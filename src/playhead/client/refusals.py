"""The exceptions that stand for the statuses of refused requests, over HTTP and from the journal."""

from collections.abc import Mapping

from playhead.errors import BadRequest, ClientError, Conflict, NotAuthorized, NotFound

_ERRORS: Mapping[int, type[ClientError]] = {
    401: NotAuthorized,
    403: NotAuthorized,
    404: NotFound,
    409: Conflict,
    410: NotFound,  # it was forgotten
    **dict.fromkeys((400, 413, 416, 422), BadRequest),
}


def refusal_error(status: int, message: str, code: str | None) -> ClientError:
    """Returns the exception for a request that was refused with this status. `code`: the error code for programs."""
    return _ERRORS.get(status, ClientError)(message, code)

"""protocols → [errors]. Errors in the form of Google's APIs, and the API key of a request. Pure."""

from __future__ import annotations

from playhead.testing.answers import Failed
from playhead.testing.http_response import Response, json_response
from playhead.testing.protocols.openai_http import bearer_token
from playhead.testing.protocols.protocol import Incoming
from playhead.testing.request import JsonObject

_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_TYPES = "type.googleapis.com/google.rpc."


def error_response(failed: Failed, param: str | None = None) -> Response:
    """The failure as a `google.rpc.Status`; `param` is the request's field at fault."""
    details: list[JsonObject] = []
    if failed.code is not None:
        info = {"@type": f"{_TYPES}ErrorInfo", "reason": failed.code.upper(), "domain": "googleapis.com"}
        details.append(info)
    if param is not None:
        violation = {"field": param, "description": failed.message}
        details.append({"@type": f"{_TYPES}BadRequest", "fieldViolations": [violation]})
    if (milliseconds := failed.headers.get("retry-after-ms")) is not None:
        details.append({"@type": f"{_TYPES}RetryInfo", "retryDelay": f"{int(milliseconds) / 1000:g}s"})
    error: JsonObject = {
        "code": failed.status,
        "message": failed.message,
        "status": _STATUSES.get(failed.status, "INTERNAL" if failed.status >= 500 else "UNKNOWN"),
    }
    return json_response({"error": {**error, "details": details} if details else error}, failed.status, failed.headers)


def api_key(incoming: Incoming) -> str | None:
    """Returns the API key in a request's header or query; for Vertex AI, the bearer token."""
    key = incoming.headers.get("x-goog-api-key") or incoming.query.get("key")
    return key or bearer_token(incoming.headers)

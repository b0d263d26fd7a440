"""protocols → [openai_errors].  Errors in OpenAI's form, which all of its APIs share.  Pure."""

from __future__ import annotations

from collections.abc import Mapping

from playhead.testing.answers import Failed
from playhead.testing.http_response import Response, json_response


def error_response(failed: Failed, param: str | None = None) -> Response:
    """The failure as OpenAI's error object; `param` is the request's field at fault."""
    error = {"message": failed.message, "type": failed.type, "param": param, "code": failed.code}
    return json_response({"error": error}, failed.status, failed.headers)


def bearer_token(headers: Mapping[str, str]) -> str | None:
    """The API key that a request carries as `Authorization: Bearer`."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key if scheme.lower() == "bearer" else None

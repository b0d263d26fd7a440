"""protocols → [openai_http]. What OpenAI's APIs have in common: the form of errors, and the API key. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from playhead.testing.answers import Failed
from playhead.testing.http_response import Response, json_response


def error_response(failed: Failed, param: str | None = None) -> Response:
    """The failure as OpenAI's error object; `param` is the request's field at fault."""
    error = {"message": failed.message, "type": failed.type, "param": param, "code": failed.code}
    return json_response({"error": error}, failed.status, failed.headers)


def api_key(headers: Mapping[str, str]) -> str | None:
    """The API key that a request carries, as OpenAI's clients send it or as Azure's do."""
    return headers.get("api-key") or bearer_token(headers)


def bearer_token(headers: Mapping[str, str]) -> str | None:
    """The API key that a request carries as `Authorization: Bearer`."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key if scheme.lower() == "bearer" else None


def is_azure_path(path: str, operation: str) -> bool:
    """Whether this is the path of the operation in Azure's API."""
    return path == f"/openai/v1/{operation}" or (
        path.startswith("/openai/deployments/") and path.endswith(f"/{operation}")
    )

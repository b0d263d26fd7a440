"""Routes that SDKs of other products call besides sending spans, and advice for requests to unknown paths.

Spans of these SDKs arrive at the paths of `receive/otlp_http.py`. The routes here answer their first requests:
Langfuse's SDK in `auth_check()`, and LangSmith's when it starts. Langfuse's uploads of images are in
`receive/langfuse_media.py`. The routes need the scope `ingest`, which the keys of such clients have.
"""

import re
from typing import Any, Final

from fastapi import APIRouter

# Paths of Langfuse's API and of LangSmith's.
PATHS: Final = ("/api/public/projects", "/api/public/health", "/info")


def router(version: str) -> APIRouter:
    """Returns the three routes; they are not part of the query API's description."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/api/public/projects")
    async def projects() -> dict[str, Any]:
        """Returns the project of a key, in Langfuse's form."""
        owner = {"id": "playhead", "name": "Playhead"}
        return {"data": [{"id": "1", "name": "Playhead", "organization": owner, "metadata": {}}]}

    @routes.get("/api/public/health")
    async def public_health() -> dict[str, str]:
        """Returns that the collector answers, in Langfuse's form."""
        return {"status": "OK", "version": version}

    @routes.get("/info")
    async def info() -> dict[str, Any]:
        """Answers LangSmith's SDK when it starts, without flags for LangSmith's own format, which is not accepted."""
        return {"version": version, "instance_flags": {}}

    return routes


_LANGSMITH_HINT = (
    "LangSmith's own format is not read here: set LANGSMITH_TRACING_MODE=otel (in older versions of its SDK "
    "LANGSMITH_OTEL_ENABLED=true), with which it sends OTLP to /otel/v1/traces"
)
_LANGFUSE_HINT = (
    "this path of Langfuse is not here: spans are taken as OTLP at /api/public/otel/v1/traces, which its SDKs use from "
    "version 3 on; recorded runs are read at /api/v1/runs"
)
_HINTS: Final = (
    (re.compile(r"/runs|(/api/v1)?/runs/(batch|multipart)"), _LANGSMITH_HINT),
    (re.compile(r"/api/public/.*"), _LANGFUSE_HINT),
    (
        re.compile(r"/v1/projects/[^/]+/spans"),
        "spans are taken as OTLP at /v1/traces, as Phoenix takes them from OpenTelemetry's exporters",
    ),
    (re.compile(r".*/?traces?/*"), "OTLP is taken at /v1/traces: set OTEL_EXPORTER_OTLP_ENDPOINT without a path"),
    (re.compile(r".*/?logs?/*"), "OTLP is taken at /v1/logs: set OTEL_EXPORTER_OTLP_ENDPOINT without a path"),
    (re.compile(r".*/?metrics?/*"), "OTLP is taken at /v1/metrics: set OTEL_EXPORTER_OTLP_ENDPOINT without a path"),
    (
        re.compile(r"/+"),
        "OTLP is taken at /v1/traces: set OTEL_EXPORTER_OTLP_ENDPOINT, and exporters add the path",
    ),
)


def hint(method: str, path: str) -> str | None:
    """Returns advice for a request to a path that does not exist or does not accept the method; None without advice."""
    if method != "POST":
        return None
    return next((todo for pattern, todo in _HINTS if pattern.fullmatch(path)), None)

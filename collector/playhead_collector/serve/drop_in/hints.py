"""Advice for requests to unknown paths, for senders that were configured for another product."""

import re
from typing import Final

_LANGSMITH = (
    "LangSmith's own format is not read here: set LANGSMITH_TRACING_MODE=otel (in older versions of its SDK "
    "LANGSMITH_OTEL_ENABLED=true), with which it sends OTLP to /otel/v1/traces"
)
_LANGFUSE = (
    "this path of Langfuse is not here: spans are taken as OTLP at /api/public/otel/v1/traces, which its SDKs use from "
    "version 3 on; recorded runs are read at /api/v1/runs"
)
_HINTS: Final = (
    (re.compile(r"/runs|(/api/v1)?/runs/(batch|multipart)"), _LANGSMITH),
    (re.compile(r"/api/public/.*"), _LANGFUSE),
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

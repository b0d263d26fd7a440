"""settings → [kinds] → destination.  What is specific to Langfuse, to any backend that takes OTLP, and to Phoenix.

Langfuse   its own attributes over HTTP, authorised with the keys of a project
OTLP       OpenTelemetry's GenAI conventions, spans and log events, over HTTP or gRPC
Phoenix    OpenInference over HTTP, into a project
"""

import base64
from collections.abc import Callable

import httpx

from playhead_collector.destination_settings import LangfuseSettings, OtlpSettings, PhoenixSettings
from playhead_collector.forward.scoring import annotation, langfuse_score
from playhead_collector.forward.senders import DestinationKind, HttpTarget, Sender
from playhead_collector.forward.senders.grpc import GrpcSender
from playhead_collector.forward.senders.http import HttpSender, JsonScores
from playhead_collector.forward.senders.langfuse_media import LangfuseMedia
from playhead_collector.forward.senders.phoenix import PhoenixSender

_LANGFUSE_PATH = "/api/public/otel/v1/traces"
# With this version, observations are readable at once; without it, Langfuse takes up to ten minutes.
_INGESTION_VERSION = "4"


def langfuse_kind(settings: LangfuseSettings) -> DestinationKind:
    """Returns the kind of destination for a project of Langfuse."""
    keys = base64.b64encode(f"{settings.public_key}:{settings.secret_key}".encode()).decode()
    fixed_headers = {"authorization": f"Basic {keys}", "x-langfuse-ingestion-version": _INGESTION_VERSION}
    url = (settings.url or "").removesuffix("/v1/traces").removesuffix("/api/public/otel").rstrip("/")
    headers = {**settings.headers, **fixed_headers}
    target = HttpTarget({"traces": url + _LANGFUSE_PATH}, headers, settings.timeout_seconds)

    def uploader(transport: httpx.AsyncBaseTransport | None) -> LangfuseMedia:
        return LangfuseMedia(url, headers, settings.media_hosts, settings.timeout_seconds, transport)

    return DestinationKind(
        "langfuse",
        lambda transport: HttpSender(target, transport),
        uploader=uploader if settings.media_hosts else None,
        scores=lambda transport: JsonScores(
            f"{url}/api/public/scores", headers, settings.timeout_seconds, langfuse_score, transport
        ),
    )


def otlp_kind(settings: OtlpSettings) -> DestinationKind:
    """Returns the kind of destination for a backend that takes OTLP."""
    url = settings.url or ""
    if settings.protocol == "grpc":
        return DestinationKind("otlp", _grpc_sender(settings, url), logs=settings.logs)
    target = HttpTarget(
        {"traces": f"{base_url(url)}/v1/traces", "logs": f"{base_url(url)}/v1/logs"},
        settings.headers,
        settings.timeout_seconds,
    )
    return DestinationKind("otlp", lambda transport: HttpSender(target, transport), logs=settings.logs)


def base_url(url: str) -> str:
    """Returns the URL without `/v1/traces`, which is often copied along."""
    return url.removesuffix("/v1/traces").rstrip("/")


def _grpc_sender(settings: OtlpSettings, url: str) -> Callable[[httpx.AsyncBaseTransport | None], Sender]:
    def sender(_: httpx.AsyncBaseTransport | None) -> Sender:
        return GrpcSender(url, settings.headers, settings.timeout_seconds)

    return sender


def phoenix_kind(settings: PhoenixSettings) -> DestinationKind:
    """Returns the kind of destination for a project of Phoenix."""
    headers = dict(settings.headers)
    if settings.api_key:
        headers["authorization"] = f"Bearer {settings.api_key}"
    if settings.project:
        headers["x-project-name"] = settings.project  # for spans whose resource names no project
    url = base_url(settings.url or "")
    target = HttpTarget({"traces": f"{url}/v1/traces"}, headers, settings.timeout_seconds)
    # sync: otherwise Phoenix answers before it knows whether it has the span.
    annotations = f"{url}/v1/span_annotations?sync=true"
    return DestinationKind(
        "phoenix",
        lambda transport: PhoenixSender(url, target, settings.project, transport),
        project=settings.project,
        scores=lambda transport: JsonScores(annotations, headers, settings.timeout_seconds, annotation, transport),
    )

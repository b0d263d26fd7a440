"""Langfuse: its own attributes over HTTP, authorised with the keys of a project."""

import base64

import httpx

from playhead_collector.destination_settings import LangfuseSettings
from playhead_collector.forward.scoring import langfuse_score
from playhead_collector.forward.senders import DestinationKind, HttpTarget
from playhead_collector.forward.senders.http import HttpSender
from playhead_collector.forward.senders.langfuse_media import LangfuseMedia
from playhead_collector.forward.senders.scores import JsonScores

_PATH = "/api/public/otel/v1/traces"
# With this version, observations are readable at once; without it, Langfuse takes up to ten minutes.
_INGESTION_VERSION = "4"


def of(settings: LangfuseSettings) -> DestinationKind:
    """Returns the kind of destination for a project of Langfuse."""
    keys = base64.b64encode(f"{settings.public_key}:{settings.secret_key}".encode()).decode()
    fixed_headers = {"authorization": f"Basic {keys}", "x-langfuse-ingestion-version": _INGESTION_VERSION}
    url = (settings.url or "").removesuffix("/v1/traces").removesuffix("/api/public/otel").rstrip("/")
    headers = {**settings.headers, **fixed_headers}
    target = HttpTarget({"traces": url + _PATH}, headers, settings.timeout_seconds)

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

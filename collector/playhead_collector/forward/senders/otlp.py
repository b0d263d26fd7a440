"""Any backend that takes OTLP: OpenTelemetry's GenAI conventions, spans and log events, over HTTP or gRPC."""

from collections.abc import Callable

import httpx

from playhead_collector.destination_settings import OtlpSettings
from playhead_collector.forward.senders import DestinationKind, HttpTarget, Sender
from playhead_collector.forward.senders.grpc import GrpcSender
from playhead_collector.forward.senders.http import HttpSender


def of(settings: OtlpSettings) -> DestinationKind:
    """Returns the kind of destination for a backend that takes OTLP."""
    url = settings.url or ""
    if settings.protocol == "grpc":
        return DestinationKind("otlp", _grpc(settings, url), logs=settings.logs)
    target = HttpTarget(
        {"traces": f"{base(url)}/v1/traces", "logs": f"{base(url)}/v1/logs"}, settings.headers, settings.timeout_seconds
    )
    return DestinationKind("otlp", lambda transport: HttpSender(target, transport), logs=settings.logs)


def base(url: str) -> str:
    """Returns the URL without `/v1/traces`, which is often copied along."""
    return url.removesuffix("/v1/traces").rstrip("/")


def _grpc(settings: OtlpSettings, url: str) -> Callable[[httpx.AsyncBaseTransport | None], Sender]:
    def sender(_: httpx.AsyncBaseTransport | None) -> Sender:
        return GrpcSender(url, settings.headers, settings.timeout_seconds)

    return sender

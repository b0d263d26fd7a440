"""Phoenix: OpenInference over HTTP, into a project."""

from playhead_collector.destination_settings import PhoenixSettings
from playhead_collector.forward.senders import DestinationKind, HttpTarget
from playhead_collector.forward.senders.http import HttpSender
from playhead_collector.forward.senders.otlp import base


def of(settings: PhoenixSettings) -> DestinationKind:
    """What is particular to it."""
    headers = dict(settings.headers)
    if settings.api_key:
        headers["authorization"] = f"Bearer {settings.api_key}"
    if settings.project:
        headers["x-project-name"] = settings.project  # it takes spans to the project on their resource, else to this
    target = HttpTarget({"traces": f"{base(settings.url or '')}/v1/traces"}, headers, settings.timeout_seconds)
    return DestinationKind("phoenix", lambda transport: HttpSender(target, transport), project=settings.project)

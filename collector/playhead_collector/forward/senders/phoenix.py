"""Phoenix: OpenInference over HTTP, into a project."""

from playhead_collector.destination_settings import PhoenixSettings
from playhead_collector.forward.scoring import annotation
from playhead_collector.forward.senders import DestinationKind, HttpTarget
from playhead_collector.forward.senders.http import HttpSender
from playhead_collector.forward.senders.otlp import base
from playhead_collector.forward.senders.scores import JsonScores


def of(settings: PhoenixSettings) -> DestinationKind:
    """Returns the kind of destination for a project of Phoenix."""
    headers = dict(settings.headers)
    if settings.api_key:
        headers["authorization"] = f"Bearer {settings.api_key}"
    if settings.project:
        headers["x-project-name"] = settings.project  # for spans whose resource names no project
    url = base(settings.url or "")
    target = HttpTarget({"traces": f"{url}/v1/traces"}, headers, settings.timeout_seconds)
    # sync: otherwise Phoenix answers before it knows whether it has the span.
    annotations = f"{url}/v1/span_annotations?sync=true"
    return DestinationKind(
        "phoenix",
        lambda transport: HttpSender(target, transport),
        project=settings.project,
        scores=lambda transport: JsonScores(annotations, headers, settings.timeout_seconds, annotation, transport),
    )

"""settings → [destination] → worker.  A destination in the form that its worker uses."""

from dataclasses import dataclass

import httpx

from playhead.outbound.counting import counts_calls
from playhead.outbound.options import OutboundOptions
from playhead_collector.destination_settings import (
    DestinationSettings,
    LangfuseSettings,
    OtlpSettings,
    PhoenixSettings,
)
from playhead_collector.errors import BadSetting
from playhead_collector.forward.filters import redaction
from playhead_collector.forward.senders import DestinationKind, MediaUploader, kinds
from playhead_collector.store.postgres.recipients import Recipient


@dataclass(frozen=True, slots=True)
class Destination:
    """Settings of a destination, and what is specific to its kind."""

    settings: DestinationSettings
    kind: DestinationKind

    @property
    def name(self) -> str:
        """Name in commands and metrics."""
        return self.settings.name

    @property
    def recipient(self) -> Recipient:
        """The destination's entry for ingest, which fills the outbox."""
        return Recipient(
            self.name,
            self.settings.sample,
            self.kind.logs,
            self.counts_calls,
            self.settings.all_projects,
        )

    @property
    def counts_calls(self) -> bool:
        """Whether each model call must be exactly one span there: see `playhead.outbound.counting`."""
        return counts_calls(self.kind.vocabulary)

    def uploader(self, transport: httpx.AsyncBaseTransport | None) -> MediaUploader | None:
        """Returns the uploader for images and files; None if they stay in the spans."""
        return self.kind.uploader(transport) if self.kind.uploader else None

    @property
    def options(self) -> OutboundOptions:
        """Options for encoding spans for this destination."""
        return OutboundOptions(
            vocabulary=self.kind.vocabulary,
            content=self.settings.content,
            preview_characters=self.settings.preview_characters,
            redact=redaction(self.settings),
            project=self.kind.project,
            media=self.kind.uploader is not None,
        )


@dataclass(frozen=True, slots=True)
class ForwardLimits:
    """Limits for all destinations. Times are in seconds. `max_items` is the number of spans and log events that may
    wait for one destination."""

    max_age_s: float = 7 * 86_400.0
    max_items: int = 2_000_000
    content_wait_s: float = 60.0
    settle_s: float = 10.0
    busy_share: float = 0.05


def destination(settings: DestinationSettings) -> Destination:
    """Returns the destination with these settings. Raises BadSetting for an unknown kind."""
    match settings:
        case LangfuseSettings():
            return Destination(settings, kinds.langfuse_kind(settings))
        case PhoenixSettings():
            return Destination(settings, kinds.phoenix_kind(settings))
        case OtlpSettings():
            return Destination(settings, kinds.otlp_kind(settings))
        case _:
            raise BadSetting(f"the destination {settings.name} is of no known kind")

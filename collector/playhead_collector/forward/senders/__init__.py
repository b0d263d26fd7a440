"""[senders]: sends requests to a destination.

http, grpc       the two protocols
kinds            address, headers and vocabulary of each kind of destination: Langfuse, Phoenix, OTLP
phoenix          sends to Phoenix, after it has asked which spans another project has
langfuse_media   uploads images and files, which Langfuse stores apart from spans
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

import httpx

from playhead.outbound.langfuse_media import OutboundMedia
from playhead.outbound.options import Vocabulary
from playhead_collector.forward.attempts import Answer
from playhead_collector.forward.scoring import OutboundScore

Signal = Literal["traces", "logs"]


class Sender(Protocol):
    """Sends OTLP requests to one destination."""

    async def send(self, signal: Signal, body: bytes) -> Answer:
        """Sends a serialised request. Network errors are returned as an answer, not raised."""
        ...

    async def close(self) -> None:
        """Closes connections."""
        ...


class UploadFailed(Exception):
    """Images or files could not be uploaded now; `answer` has the reason."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.reason)
        self.answer = answer


class MediaUploader(Protocol):
    """Uploads images and files to a destination that stores them apart from spans."""

    async def upload(self, media: Iterable[OutboundMedia]) -> None:
        """Uploads the media; returns when the destination has everything that it accepts. Raises UploadFailed if it
        should be tried again."""
        ...

    async def close(self) -> None:
        """Closes connections."""
        ...


class ScoreSender(Protocol):
    """Sends scores to a destination that stores them apart from spans."""

    async def send(self, score: OutboundScore) -> Answer:
        """Sends one score. Network errors are returned as an answer, not raised."""
        ...

    async def close(self) -> None:
        """Closes connections."""
        ...


@dataclass(frozen=True, slots=True)
class Senders:
    """Senders of one destination. `scores` is None where scores are sent as log events."""

    requests: Sender
    scores: ScoreSender | None = None

    async def close(self) -> None:
        """Closes connections."""
        await self.requests.close()
        if self.scores is not None:
            await self.scores.close()


@dataclass(frozen=True, slots=True)
class HttpTarget:
    """Address for requests over HTTP. `urls` are by signal; a signal without a URL is not sent."""

    urls: Mapping[Signal, str]
    headers: Mapping[str, str] = field(repr=False)
    timeout_s: float


@dataclass(frozen=True, slots=True)
class DestinationKind:
    """What is specific to a kind of destination."""

    vocabulary: Vocabulary
    sender: Callable[[httpx.AsyncBaseTransport | None], Sender]
    logs: bool = False
    project: str | None = None
    uploader: Callable[[httpx.AsyncBaseTransport | None], MediaUploader] | None = None
    """None: images and files stay in the spans."""
    scores: Callable[[httpx.AsyncBaseTransport | None], ScoreSender] | None = None
    """None: scores are sent as log events."""

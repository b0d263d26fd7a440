"""[senders]: how requests reach a destination.

http, grpc                   the two ways
langfuse, phoenix, otlp      address, headers and vocabulary of each kind of destination
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

import httpx

from playhead.outbound import Vocabulary
from playhead_collector.forward.attempts import Answer

Signal = Literal["traces", "logs"]


class Sender(Protocol):
    """Sends OTLP requests to one destination."""

    async def send(self, signal: Signal, body: bytes) -> Answer:
        """Sends a serialised request.  Raises nothing of the network: that is an answer, too."""
        ...

    async def close(self) -> None:
        """Closes connections."""
        ...


@dataclass(frozen=True, slots=True)
class HttpTarget:
    """Where requests go over HTTP. `urls`: by signal; a signal without one is not sent."""

    urls: Mapping[Signal, str]
    headers: Mapping[str, str] = field(repr=False)
    timeout_s: float


@dataclass(frozen=True, slots=True)
class DestinationKind:
    """What is particular to a kind of destination."""

    vocabulary: Vocabulary
    sender: Callable[[httpx.AsyncBaseTransport | None], Sender]
    logs: bool = False
    project: str | None = None

"""HTTP request → [protocol] → HTTP response. The interface of a provider's API in the mock model server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from playhead.testing.answers import Failed
from playhead.testing.completion import Completion
from playhead.testing.http_response import Response
from playhead.testing.request import ChatRequest


@dataclass(frozen=True, slots=True)
class Incoming:
    """An HTTP request: `path` without its query, `headers` with lower-case names."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


class ModelProtocol(Protocol):
    """One API of one provider.  Thread-safe; an instance belongs to one server, and may remember its conversations."""

    def takes(self, path: str) -> bool:
        """Whether a POST to this path is for this API."""
        ...

    def api_key(self, incoming: Incoming) -> str | None:
        """Returns the API key of the request, from the place where this API has it."""
        ...

    def read(self, number: int, incoming: Incoming) -> ChatRequest:
        """Parses the request, which is the server's `number`-th. Raises InvalidRequest with a sentence about the first
        error."""
        ...

    def render(self, completion: Completion, request: ChatRequest, piece_characters: int) -> Response:
        """Returns the answer, streamed if the request asks for that."""
        ...

    def fail(self, failed: Failed, param: str | None = None) -> Response:
        """Returns the error in this API's form; `param` is the request's field at fault."""
        ...


@runtime_checkable
class KeepsResponses(ModelProtocol, Protocol):
    """A protocol whose answers can be fetched again by a GET."""

    def fetch(self, incoming: Incoming) -> Response | None:
        """Returns the answer that this path names; None if this is not a path of the protocol."""
        ...

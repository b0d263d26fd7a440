"""HTTP request → [protocols] → rules → answers → [protocols] → HTTP response.  How each provider's API says it.

One folder or file a protocol, all of one shape (`ModelProtocol`), listed in `made`.  A protocol reads a request as the
chat completion request that would ask the same, so that rules and answers are the same for all of them.
"""

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
        """The API key that the request carries, where this API has it."""
        ...

    def read(self, number: int, incoming: Incoming) -> ChatRequest:
        """The request, the server's `number`-th.  Raises InvalidRequest with a sentence about the first thing wrong."""
        ...

    def render(self, completion: Completion, request: ChatRequest, piece_characters: int) -> Response:
        """The answer, streamed if the request asks for that."""
        ...

    def fail(self, failed: Failed, param: str | None = None) -> Response:
        """The error in this API's form; `param` is the request's field at fault."""
        ...


@runtime_checkable
class KeepsResponses(ModelProtocol, Protocol):
    """A protocol whose answers can be fetched again by a GET."""

    def fetch(self, incoming: Incoming) -> Response | None:
        """The answer that this path names; None where it is not a path of this protocol."""
        ...


def made() -> tuple[ModelProtocol, ...]:
    """An instance of each protocol, for one server."""
    from playhead.testing.protocols.anthropic_messages import AnthropicMessages  # noqa: PLC0415 - they import this file
    from playhead.testing.protocols.bedrock import BedrockConverse  # noqa: PLC0415
    from playhead.testing.protocols.bedrock.invoke import BedrockInvoke  # noqa: PLC0415
    from playhead.testing.protocols.google_embeddings import GoogleEmbeddings  # noqa: PLC0415
    from playhead.testing.protocols.google_genai import Gemini  # noqa: PLC0415
    from playhead.testing.protocols.openai_chat import OpenAIChat  # noqa: PLC0415
    from playhead.testing.protocols.openai_embeddings import OpenAIEmbeddings  # noqa: PLC0415
    from playhead.testing.protocols.openai_responses import OpenAIResponses  # noqa: PLC0415

    return (
        OpenAIChat(),
        OpenAIResponses(),
        OpenAIEmbeddings(),
        AnthropicMessages(),
        Gemini(),
        GoogleEmbeddings(),
        BedrockConverse(),
        BedrockInvoke(),
    )

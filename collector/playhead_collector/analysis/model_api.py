"""[analysis] → a model.  Asks an OpenAI-compatible API; the only place where the collector talks to a model.

Whatever goes wrong there becomes a refusal that says what the other side said, and which setting to look at.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

import httpx

from playhead.model.canonical import parse_json
from playhead.settings.table import without_password
from playhead_collector.errors import Refused

# Until the first word of an answer, and between two pieces of it: models think for a while.
_SILENCE_SECONDS = 120.0
_MAX_ERROR_LENGTH = 300
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True, slots=True)
class ModelApi:
    """The model named `model` at `url`, which ends where `/chat/completions` begins."""

    url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    transport: httpx.AsyncBaseTransport | None = None

    async def ask(self, messages: Sequence[dict[str, str]]) -> AsyncGenerator[str]:
        """Yields the answer piece by piece. Raises Refused."""
        try:
            async with self._client() as http, http.stream("POST", self._path, json=self._body(messages)) as response:
                if not response.is_success:
                    raise self._refused(response.status_code, await response.aread())
                async with aclosing(_pieces(response)) as pieces:
                    async for piece in pieces:
                        yield piece
        except httpx.HTTPError as error:
            why = str(error) or type(error).__name__
            raise self._bad_gateway("explainer_unreachable", f"does not answer ({why})") from error
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise self._bad_gateway("explainer_failed", "answered something that is no chat completion") from error

    @property
    def _path(self) -> str:
        return self.url.rstrip("/") + "/chat/completions"

    def _client(self) -> httpx.AsyncClient:
        headers = {"authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        # A proxy that is set for the Internet does not reach a model on this machine.
        outside = urlsplit(self.url).hostname not in _LOOPBACK
        return httpx.AsyncClient(headers=headers, timeout=_SILENCE_SECONDS, trust_env=outside, transport=self.transport)

    def _body(self, messages: Sequence[dict[str, str]]) -> dict[str, Any]:
        return {"model": self.model, "messages": list(messages), "stream": True}

    def _refused(self, status: int, body: bytes) -> Refused:
        return self._bad_gateway("explainer_failed", f"answered {status}: {_reason(body)}")

    def _bad_gateway(self, code: str, what: str) -> Refused:
        where = f"the model {self.model!r} at {without_password(self.url)}"
        message = f"{where} {what}: see PLAYHEAD_EXPLAIN_URL, _MODEL and _API_KEY"
        return Refused(502, code, message)


async def _pieces(response: httpx.Response) -> AsyncGenerator[str]:
    """Pieces of the answer's text, from a stream of events or from a complete response."""
    if "text/event-stream" not in response.headers.get("content-type", ""):
        answer = parse_json(await response.aread())
        yield str(answer["choices"][0]["message"]["content"] or "")
        return
    async for line in response.aiter_lines():
        event = line.removeprefix("data:").strip()
        if not line.startswith("data:") or event == "[DONE]":
            continue
        chunk = cast(dict[str, Any], parse_json(event))
        if chunk.get("error"):
            raise Refused(502, "explainer_failed", f"the model stopped amid its answer: {_message(chunk['error'])}")
        for choice in cast(list[dict[str, Any]], chunk.get("choices") or []):
            piece = cast(dict[str, Any], choice.get("delta") or {}).get("content")
            if piece:
                yield str(piece)


def _reason(body: bytes) -> str:
    try:
        return _message(parse_json(body)["error"])
    except (ValueError, LookupError, TypeError):
        return body[:_MAX_ERROR_LENGTH].decode("utf-8", "replace") or "nothing"


def _message(error: Any) -> str:
    said = cast(dict[str, Any], error).get("message") if isinstance(error, dict) else error
    return str(said)[:_MAX_ERROR_LENGTH]

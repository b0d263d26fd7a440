"""[analysis] → a model.  Asks an OpenAI-compatible API; the only place where the collector talks to a model.

Every error of the API becomes Refused, with its message and the names of the settings to check.
"""

from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import httpx

from playhead.model.canonical import parse_json
from playhead.model.json_value import object_at, objects_at
from playhead.settings.table import MIB, without_password
from playhead.wire.loopback import is_loopback
from playhead_collector.errors import Refused

# Longest time until the first word of an answer, and between two pieces of it.
_SILENCE_SECONDS = 120.0
_MAX_ERROR_LENGTH = 300
# Enough for a streamed answer of 60,000 tokens of 250 bytes each; explanations have a few thousand tokens.
_MAX_ANSWER_BYTES = 16 * MIB


@dataclass(frozen=True, slots=True)
class ModelApi:
    """The model named `model` of the API at `url` (without `/chat/completions`)."""

    url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    transport: httpx.AsyncBaseTransport | None = None
    others: tuple[str, ...] = ()
    """Further models at `url`, for asking recorded calls again."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all models; the first one explains."""
        return tuple(dict.fromkeys((self.model, *self.others)))

    async def complete(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Sends a request body, and returns the chat completion. Raises Refused."""
        with self._refusing():
            async with self._client() as http, http.stream("POST", self._path, json=dict(body)) as response:
                whole = await _whole(response)
                if not response.is_success:
                    raise self._refused(response.status_code, whole)
                value = parse_json(whole)
                if not isinstance(value, dict):
                    raise TypeError("no object")
                return cast(dict[str, Any], value)

    async def ask(self, messages: Sequence[dict[str, str]]) -> AsyncGenerator[str]:
        """Yields the answer piece by piece. Raises Refused."""
        with self._refusing():
            async with self._client() as http, http.stream("POST", self._path, json=self._body(messages)) as response:
                if not response.is_success:
                    raise self._refused(response.status_code, await _whole(response))
                async with aclosing(_pieces(response)) as pieces:
                    async for piece in pieces:
                        yield piece

    @contextmanager
    def _refusing(self) -> Generator[None]:
        """Turns errors of the block into Refused (502)."""
        try:
            yield
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
        # Proxies from the environment are not used for a model on this machine.
        outside = not is_loopback(self.url)
        return httpx.AsyncClient(headers=headers, timeout=_SILENCE_SECONDS, trust_env=outside, transport=self.transport)

    def _body(self, messages: Sequence[dict[str, str]]) -> dict[str, Any]:
        return {"model": self.model, "messages": list(messages), "stream": True}

    def _refused(self, status: int, body: bytes) -> Refused:
        return self._bad_gateway("explainer_failed", f"answered {status}: {_reason(body)}")

    def _bad_gateway(self, code: str, problem: str) -> Refused:
        where = f"the model {self.model!r} at {without_password(self.url)}"
        message = f"{where} {problem}: see PLAYHEAD_EXPLAIN_URL, _MODEL and _API_KEY"
        return Refused(502, code, message)


async def _pieces(response: httpx.Response) -> AsyncGenerator[str]:
    """Pieces of the answer's text, from a stream of events or from a complete response."""
    if "text/event-stream" not in response.headers.get("content-type", ""):
        answer = parse_json(await _whole(response))
        yield str(answer["choices"][0]["message"]["content"] or "")
        return
    async for line in _lines(response):
        event = line.removeprefix(b"data:").strip()
        if not line.startswith(b"data:") or event == b"[DONE]":
            continue
        chunk = cast(dict[str, Any], parse_json(event))
        if chunk.get("error"):
            raise Refused(502, "explainer_failed", f"the model stopped amid its answer: {_message(chunk['error'])}")
        for choice in objects_at(chunk, "choices"):
            piece = object_at(choice, "delta").get("content")
            if piece:
                yield str(piece)


async def _bounded(response: httpx.Response) -> AsyncGenerator[bytes]:
    """Yields the answer as it arrives.  Raises Refused above 16 MiB: an endless answer would fill the memory."""
    size = 0
    async for data in response.aiter_bytes():
        size += len(data)
        if size > _MAX_ANSWER_BYTES:
            limit = f"{_MAX_ANSWER_BYTES // MIB} MiB"
            message = f"the model answered more than {limit}, and was not heard out: ask again, or set another model"
            raise Refused(502, "explainer_failed", f"{message} (PLAYHEAD_EXPLAIN_MODEL)")
        yield data


async def _whole(response: httpx.Response) -> bytes:
    return b"".join([data async for data in _bounded(response)])


async def _lines(response: httpx.Response) -> AsyncGenerator[bytes]:
    unfinished = list[bytes]()
    async for data in _bounded(response):
        first, *others = data.split(b"\n")
        unfinished.append(first)
        for other in others:
            yield b"".join(unfinished)
            unfinished = [other]
    yield b"".join(unfinished)


def _reason(body: bytes) -> str:
    try:
        return _message(parse_json(body)["error"])
    except (ValueError, LookupError, TypeError):
        return body[:_MAX_ERROR_LENGTH].decode("utf-8", "replace") or "nothing"


def _message(error: Any) -> str:
    text = cast(dict[str, Any], error).get("message") if isinstance(error, dict) else error
    return str(text)[:_MAX_ERROR_LENGTH]

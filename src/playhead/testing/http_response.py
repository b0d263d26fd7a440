"""protocols → [http_response] → listener. HTTP responses as values, for all protocols. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import orjson

from playhead.testing.request import JsonObject

JSON_TYPE = "application/json"
EVENTS_TYPE = "text/event-stream; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP response as a value: what to send, when to start, and where to break off.

    `parts` are sent one by one. With `cut_after` the connection ends after that many of them: 0 sends nothing at all.
    """

    status: int
    parts: Sequence[bytes]
    content_type: str = JSON_TYPE
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    wait_seconds: float = 0
    cut_after: int | None = None

    @property
    def streamed(self) -> bool:
        return self.content_type != JSON_TYPE


def json_response(
    value: JsonObject | Sequence[object], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON body, sent at once."""
    return Response(status, [orjson.dumps(value)], headers=headers or {})


def cut(response: Response, after_chunks: int) -> Response:
    """Returns the response, cut off after so many chunks, and always before its end. 0: before its beginning."""
    if response.streamed:
        return replace(response, cut_after=min(after_chunks, len(response.parts) - 1))
    text = b"".join(response.parts)
    halves = [text[: len(text) // 2], text[len(text) // 2 :]]
    return replace(response, parts=halves, cut_after=min(after_chunks, 1))


def server_sent_event(value: JsonObject, name: str | None = None) -> bytes:
    """One server-sent event whose data is this JSON."""
    return (b"event: " + name.encode() + b"\n" if name else b"") + b"data: " + orjson.dumps(value) + b"\n\n"


def in_pieces(text: object, characters: int) -> Iterator[str]:
    """Yields a text in pieces of so many characters, as a stream sends it; nothing if `text` is not a text."""
    if isinstance(text, str):
        for start in range(0, len(text), characters):
            yield text[start : start + characters]

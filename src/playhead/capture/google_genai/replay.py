"""Gives the client recorded answers in the place of the server's.

The wrapped methods receive the answer to a request, so the client makes its own objects from recorded answers as from
live ones: chunk by chunk, parsed to the requested schema, in chats and in automatic function calling. Nothing leaves
the process.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from sys import modules
from typing import Any, cast

from playhead.capture.client_methods import MethodCall
from playhead.capture.google_genai.requests import model_of
from playhead.errors import CannotRestore

_HEADERS = {"content-type": "application/json"}
# True of the recorded answer only, so not copied.
_RECORDED_KEYS_REPLACED = frozenset({"candidates", "usageMetadata", "promptFeedback", "stream"})


def is_streamed(call: MethodCall) -> bool:
    """Whether the client reads the answer in chunks."""
    return "streamed" in call.method


def restore(raw: Any, call: MethodCall, ending: BaseException | None) -> Any:
    """Rebuilds what the client's method returned from `raw`; see `ClientApi.restore`.  Raises CannotRestore."""
    recorded = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}
    if isinstance(recorded.get("$playhead"), str):  # a marker in the place of content that was not kept
        raise CannotRestore(f"the model's answer was not kept ({recorded['$playhead']}); fork the run before this call")
    make = _maker()
    if is_streamed(call):
        if not isinstance(recorded.get("stream"), list):
            raise CannotRestore("a stream is asked for, and none was recorded")
        chunks = cast("list[Any]", recorded["stream"])
        return _awaited(_chunks_later(chunks, make, ending)) if call.is_async else _chunks(chunks, make, ending)
    if "stream" in recorded or not isinstance(raw, dict):
        raise CannotRestore("an unstreamed answer is asked for, and none was recorded")
    answer = make(recorded)
    return _awaited(answer) if call.is_async else answer


def with_message(recorded: Any, message: str | Mapping[str, Any], call: MethodCall) -> dict[str, Any]:
    """Returns the recorded response with this answer: a text, or a content as the API writes it."""
    content: dict[str, Any] = {"parts": [{"text": message}]} if isinstance(message, str) else dict(message)
    response = {"modelVersion": model_of(call.kwargs), **_recorded_metadata(recorded)}
    candidate = {"content": {"role": "model", **content}, "finishReason": "STOP", "index": 0}
    whole = {**response, "candidates": [candidate]}
    return {"stream": [whole]} if is_streamed(call) else whole


def _recorded_metadata(recorded: Any) -> dict[str, Any]:
    answer = cast("dict[str, Any]", recorded) if isinstance(recorded, dict) else {}
    if answer.get("stream"):
        answer = cast("dict[str, Any]", answer["stream"][0])
    return {key: value for key, value in answer.items() if key not in _RECORDED_KEYS_REPLACED}


def _maker() -> Callable[[Any], Any]:
    """Returns a function that makes the return value of the client's methods from JSON: an HTTP response, or in older
    versions the JSON itself."""
    kind = getattr(modules["google.genai._api_client"], "SdkHttpResponse", None)
    if kind is None:
        return lambda value: value
    return lambda value: kind(headers=dict(_HEADERS), body=json.dumps(value))


def _chunks(chunks: Sequence[Any], make: Callable[[Any], Any], ending: BaseException | None) -> Iterator[Any]:
    for chunk in chunks:
        yield make(chunk)
    if ending is not None:
        raise ending


async def _chunks_later(
    chunks: Sequence[Any], make: Callable[[Any], Any], ending: BaseException | None
) -> AsyncIterator[Any]:
    for chunk in _chunks(chunks, make, ending):
        yield chunk


async def _awaited(value: Any) -> Any:
    return value

"""Builds a Chat Completion with another message from the recorded one."""

from collections.abc import Mapping
from typing import Any, cast

# Defaults for a call without a recorded answer: one that was in doubt.
_UNKNOWN = {"id": "chatcmpl-playhead", "created": 0}
# True of the recorded answer only, so not copied.
_RECORDED_KEYS_REPLACED = {"choices", "usage", "stream"}


def with_message(recorded: Any, message: str | Mapping[str, Any], *, model: str, streamed: bool) -> dict[str, Any]:
    """Returns the recorded response with this message: a text, or a message in OpenAI's form."""
    fields = {"content": message} if isinstance(message, str) else message
    native: dict[str, Any] = {"role": "assistant", "content": None, **fields}
    ending = "tool_calls" if native.get("tool_calls") else "stop"
    about = _recorded_metadata(recorded) | {"object": "chat.completion.chunk" if streamed else "chat.completion"}
    about = {**_UNKNOWN, "model": model, **about}
    if not streamed:
        choice = {"index": 0, "finish_reason": ending, "logprobs": None, "message": native}
        return {**about, "choices": [choice]}
    if native.get("tool_calls"):
        native["tool_calls"] = [{"index": index, **call} for index, call in enumerate(native["tool_calls"])]
    pieces: list[dict[str, Any]] = [
        {"index": 0, "delta": native, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": ending},
    ]
    return {"stream": [{**about, "choices": [piece]} for piece in pieces]}


def _recorded_metadata(recorded: Any) -> dict[str, Any]:
    answer = cast("dict[str, Any]", recorded) if isinstance(recorded, dict) else {}
    if answer.get("stream"):
        answer = cast("dict[str, Any]", answer["stream"][0])
    return {key: value for key, value in answer.items() if key not in _RECORDED_KEYS_REPLACED}

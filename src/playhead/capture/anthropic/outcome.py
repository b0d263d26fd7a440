"""Builds an answer with another message from the recorded answer."""

from collections.abc import Mapping
from typing import Any, cast

from playhead.capture.anthropic.events import events_of, whole_message

# Defaults for a call without a recorded answer: one that was in doubt.
_UNKNOWN = {"id": "msg_playhead", "type": "message", "role": "assistant"}
# True of the recorded answer only, so not copied.
_RECORDED_KEYS_REPLACED = {"content", "usage", "stop_reason", "stop_sequence", "stop_details", "stream"}


def with_message(recorded: Any, message: Any, *, model: str, streamed: bool) -> dict[str, Any]:
    """Returns the recorded answer with this message: a text, a list of blocks, or a message in Anthropic's form."""
    fields = cast("Mapping[str, Any]", message) if isinstance(message, Mapping) else {"content": message}
    content = fields.get("content")
    blocks: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
    calls = any(isinstance(block, dict) and cast("dict[str, Any]", block).get("type") == "tool_use" for block in blocks)
    answer: dict[str, Any] = {**_UNKNOWN, "model": model, **_recorded_metadata(recorded)}
    answer |= {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    answer["usage"] = {"input_tokens": 0, "output_tokens": 0}
    answer |= {**fields, "content": blocks}
    return {"stream": events_of(answer)} if streamed else answer


def _recorded_metadata(recorded: Any) -> dict[str, Any]:
    answer = cast("dict[str, Any]", recorded) if isinstance(recorded, dict) else {}
    if isinstance(answer.get("stream"), list):
        answer = whole_message(answer["stream"])
    return {key: value for key, value in answer.items() if key not in _RECORDED_KEYS_REPLACED}

"""Builds the Responses answer that would have contained a given output, from the recorded one."""

from collections.abc import Mapping
from typing import Any, cast

from playhead.capture.openai.responses_events import events_of, whole_response

# Defaults for a call without a recorded answer: one that was in doubt.
_UNKNOWN: dict[str, Any] = {
    "id": "resp_playhead",
    "object": "response",
    "created_at": 0,
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}
# True of the recorded answer only, so not copied.
_RECORDED_KEYS_REPLACED = {"output", "usage", "stream", "incomplete_details", "error", "status"}


def with_message(recorded: Any, message: str | Mapping[str, Any], *, model: str, streamed: bool) -> dict[str, Any]:
    """The recorded response with this output: a text, a message or another item in OpenAI's form, or
    `{"output": [...]}`."""
    response = {**_UNKNOWN, "model": model, **_recorded_metadata(recorded)}
    response |= {"status": "completed", "error": None, "incomplete_details": None, "usage": None}
    response["output"] = [_item(item, at) for at, item in enumerate(_items(message))]
    return {"stream": events_of(response)} if streamed else response


def _items(message: str | Mapping[str, Any]) -> list[Any]:
    if isinstance(message, Mapping) and isinstance(message.get("output"), list) and "type" not in message:
        return cast(list[Any], message["output"])
    return [message]


def _item(said: Any, at: int) -> Any:
    if isinstance(said, Mapping) and cast(Mapping[str, Any], said).get("type", "message") != "message":
        return {"id": f"item_playhead_{at}", **cast(Mapping[str, Any], said)}
    item: dict[str, Any] = {"content": said} if isinstance(said, str) else dict(cast(Mapping[str, Any], said))
    if isinstance(item.get("content"), str):
        item["content"] = [{"type": "output_text", "text": item["content"], "annotations": []}]
    return {"id": f"msg_playhead_{at}", "type": "message", "role": "assistant", "status": "completed", **item}


def _recorded_metadata(recorded: Any) -> dict[str, Any]:
    known = cast("dict[str, Any]", recorded) if isinstance(recorded, dict) else {}
    if isinstance(known.get("stream"), list):
        known = whole_response(known["stream"])
    return {key: value for key, value in known.items() if key not in _RECORDED_KEYS_REPLACED}

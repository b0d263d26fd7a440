"""Builds a Responses answer with another output from the recorded one."""

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
    """Returns the recorded response with this output: a text, a message or another item in OpenAI's form, or
    `{"output": [...]}`."""
    response = {**_UNKNOWN, "model": model, **_recorded_metadata(recorded)}
    response |= {"status": "completed", "error": None, "incomplete_details": None, "usage": None}
    response["output"] = [_item(item, index) for index, item in enumerate(_items(message))]
    return {"stream": events_of(response)} if streamed else response


def _items(message: str | Mapping[str, Any]) -> list[Any]:
    if isinstance(message, Mapping) and isinstance(message.get("output"), list) and "type" not in message:
        return cast(list[Any], message["output"])
    return [message]


def _item(value: Any, index: int) -> Any:
    if isinstance(value, Mapping) and cast(Mapping[str, Any], value).get("type", "message") != "message":
        return {"id": f"item_playhead_{index}", **cast(Mapping[str, Any], value)}
    item: dict[str, Any] = {"content": value} if isinstance(value, str) else dict(cast(Mapping[str, Any], value))
    if isinstance(item.get("content"), str):
        item["content"] = [{"type": "output_text", "text": item["content"], "annotations": []}]
    return {"id": f"msg_playhead_{index}", "type": "message", "role": "assistant", "status": "completed", **item}


def _recorded_metadata(recorded: Any) -> dict[str, Any]:
    response = cast("dict[str, Any]", recorded) if isinstance(recorded, dict) else {}
    if isinstance(response.get("stream"), list):
        response = whole_response(response["stream"])
    return {key: value for key, value in response.items() if key not in _RECORDED_KEYS_REPLACED}

"""Converts messages of the Claude Agent SDK to the form of Anthropic's API."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

_TYPES = {
    "TextBlock": "text",
    "ThinkingBlock": "thinking",
    "ToolUseBlock": "tool_use",
    "ToolResultBlock": "tool_result",
    "ServerToolUseBlock": "server_tool_use",
    "ServerToolResultBlock": "advisor_tool_result",
}
ELSEWHERE = {"type": "playhead.elsewhere"}
"""Stands for the unknown parts that Claude Code adds to a context: instructions, environment, reminders."""


def native_block(block: Any) -> dict[str, Any]:
    """Converts one block of content."""
    attributes = cast("dict[str, Any]", vars(block))
    fields = {name: value for name, value in attributes.items() if value is not None}
    return {"type": _TYPES.get(type(block).__name__, type(block).__name__), **fields}


def native_content(content: Any) -> Any:
    """Converts content: a text, or blocks."""
    return content if isinstance(content, str) else [native_block(block) for block in cast("Sequence[Any]", content)]


def native_answer(message: Any, blocks: Sequence[Any], usage: Mapping[str, Any]) -> dict[str, Any]:
    """Builds the model's answer from `blocks`, which came in one message or several; `message` is the last of them."""
    return {
        "id": message.message_id,
        "type": "message",
        "role": "assistant",
        "model": message.model,
        "content": native_content(blocks),
        "stop_reason": message.stop_reason,
        "usage": dict(usage),
    }


def system_message(system_prompt: Any) -> dict[str, Any]:
    """Returns the known part of the system prompt.  `system_prompt`: the program's option, a text or another value."""
    blocks = [{"type": "text", "text": system_prompt}] if isinstance(system_prompt, str) else []
    return {"role": "system", "content": [*blocks, ELSEWHERE]}

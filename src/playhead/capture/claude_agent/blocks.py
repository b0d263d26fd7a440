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
    """One block of content."""
    given = cast("dict[str, Any]", vars(block))
    fields = {name: value for name, value in given.items() if value is not None}
    return {"type": _TYPES.get(type(block).__name__, type(block).__name__), **fields}


def native_content(content: Any) -> Any:
    """A text, or blocks."""
    return content if isinstance(content, str) else [native_block(block) for block in cast("Sequence[Any]", content)]


def native_answer(message: Any, blocks: Sequence[Any], usage: Mapping[str, Any]) -> dict[str, Any]:
    """The model's answer, which came as one message or several, each with some of its blocks."""
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
    """The known part of the system prompt.  `system_prompt`: the program's option, a text or another value."""
    known = [{"type": "text", "text": system_prompt}] if isinstance(system_prompt, str) else []
    return {"role": "system", "content": [*known, ELSEWHERE]}

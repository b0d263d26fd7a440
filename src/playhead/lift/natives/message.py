"""Reads one message in any form of a provider or framework.

A form is recognised by keys that only it has; an ambiguous message is read as Chat Completions, which most frameworks
write.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from playhead.dialect import anthropic, google_genai, openai_chat, openai_responses, otel_genai
from playhead.lift.natives import langchain, vercel
from playhead.lift.natives.canonical import canonical_messages
from playhead.model.message import Message

_ITEMS: Final = frozenset({
    "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning", "compaction",
})  # fmt: skip
_BLOCKS: Final = frozenset({
    "tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "web_search_tool_result",
    "mcp_tool_use", "mcp_tool_result", "compaction", "container_upload",
})  # fmt: skip
_ITEM_TEXTS: Final = frozenset({"input_text", "output_text", "input_image", "input_file"})
# Telemetry that does not know whether a message has tool calls writes an empty list or null for them.
_CHAT: Final = frozenset({"content", "tool_calls", "function_call", "refusal"})


def to_messages(natives: Any) -> list[Message] | None:
    """Returns the messages of a list; None if an element is not a message."""
    if not isinstance(natives, list | tuple):
        return None
    listed = cast(Sequence[Any], natives)
    if listed and all(isinstance(native, dict) for native in listed):
        if any(is_anthropic(native) for native in listed):
            return canonical_messages(anthropic.to_messages(listed))
        if any(vercel.is_vercel(native) for native in listed):
            return canonical_messages(
                openai_chat.to_message(chat) for native in listed for chat in vercel.to_chat(native)
            )
    messages: list[Message] = []
    for native in listed:
        message = to_message(native)
        if message is None:
            return None
        messages.append(message)
    return canonical_messages(messages)


def to_message(native: Any) -> Message | None:
    """Returns the message in canonical form; None if it is not a message."""
    if not isinstance(native, dict):
        return None
    return _read(cast(dict[str, Any], native), answer=False)[0]


def to_answer(native: Any) -> tuple[Message | None, Any]:
    """Returns a model's answer without its reasoning (None: it is not a message), and the reasoning (None: there is
    none)."""
    if not isinstance(native, dict):
        return None, None
    return _read(cast(dict[str, Any], native), answer=True)


def _read(native: dict[str, Any], *, answer: bool) -> tuple[Message | None, Any]:
    message = langchain.to_message(native)
    if message is not None:
        return message, None
    dialect = _dialect(native, answer=answer)
    if dialect is None:
        return None, None
    return dialect.output_message(native) if answer else (dialect.to_message(native), None)


def is_anthropic(native: Mapping[str, Any]) -> bool:
    """Whether a message has blocks, or a `stop_reason`, that only Anthropic's messages have."""
    content = native.get("content")
    return "stop_reason" in native or (isinstance(content, list) and any(map(_is_block, cast(list[Any], content))))


def _is_block(native: Any) -> bool:
    if not isinstance(native, dict):
        return False
    block = cast(dict[str, Any], native)
    kind = block.get("type")
    return (
        (isinstance(kind, str) and kind in _BLOCKS) or "cache_control" in block or isinstance(block.get("source"), dict)
    )


def _dialect(native: Mapping[str, Any], *, answer: bool) -> Any:
    parts = native.get("parts")
    if isinstance(parts, list):
        typed = any(isinstance(part, dict) and "type" in part for part in cast(list[Any], parts))
        return otel_genai if typed or not parts or native.get("role") in ("assistant", "system") else google_genai
    if is_anthropic(native):
        return anthropic
    kind = native.get("type")
    if isinstance(kind, str) and (kind in _ITEMS or (kind == "message" and _has_items(native.get("content")))):
        return openai_responses
    if _has_items(native.get("content")):
        return openai_responses
    if isinstance(native.get("role"), str) or (answer and not _CHAT.isdisjoint(native)):
        return openai_chat
    return None


def _has_items(content: Any) -> bool:
    if not isinstance(content, list):
        return False
    kinds = [cast(dict[str, Any], part).get("type") for part in cast(list[Any], content) if isinstance(part, dict)]
    return any(isinstance(kind, str) and kind in _ITEM_TEXTS for kind in kinds)

"""One message, in any form that a provider or framework writes → ours.

The forms are told apart by the keys that only they have; what could be several is read as Chat Completions, which most
frameworks write.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from playhead.dialect import openai, openai_responses, otel_genai
from playhead.lift.natives import langchain
from playhead.lift.natives.canonical import canonical_messages
from playhead.model.message import Message

_ITEMS: Final = frozenset({
    "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning", "compaction",
})  # fmt: skip
_ITEM_TEXTS: Final = frozenset({"input_text", "output_text", "input_image", "input_file"})
# Telemetry that does not know whether a message has calls writes an empty list or null for them.
_CHAT: Final = frozenset({"content", "tool_calls", "function_call", "refusal"})


def to_messages(natives: Any) -> list[Message] | None:
    """The messages of a list; None when something in it is no message."""
    if not isinstance(natives, list | tuple):
        return None
    found: list[Message] = []
    for native in cast(Sequence[Any], natives):
        message = to_message(native)
        if message is None:
            return None
        found.append(message)
    return canonical_messages(found)


def to_message(native: Any) -> Message | None:
    """The message; None for what is none."""
    if not isinstance(native, dict):
        return None
    return _read(cast(dict[str, Any], native), answer=False)[0]


def to_answer(native: Any) -> tuple[Message | None, Any]:
    """A model's answer without its reasoning, and the reasoning (None: there was none)."""
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


def _dialect(native: Mapping[str, Any], *, answer: bool) -> Any:
    if isinstance(native.get("parts"), list):
        return otel_genai
    kind = native.get("type")
    if isinstance(kind, str) and (kind in _ITEMS or (kind == "message" and _has_items(native.get("content")))):
        return openai_responses
    if _has_items(native.get("content")):
        return openai_responses
    if isinstance(native.get("role"), str) or (answer and not _CHAT.isdisjoint(native)):
        return openai
    return None


def _has_items(content: Any) -> bool:
    return isinstance(content, list) and any(
        isinstance(part, dict) and cast(dict[str, Any], part).get("type") in _ITEM_TEXTS
        for part in cast(list[Any], content)
    )

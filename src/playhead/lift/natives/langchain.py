"""Messages as LangChain writes them: serialised objects (`lc`), their dumps (`type`, `data`), and plain fields.

They are read as the Chat Completions message that LangChain sends for them.  LangChain's own ids and response metadata
are left out: they are not in the conversation.
"""

from collections.abc import Mapping
from typing import Any, cast

from playhead.dialect import openai_chat
from playhead.model.canonical import canonical_json
from playhead.model.message import Message

_ROLES = {
    "human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "function",
    "HumanMessageChunk": "user", "AIMessageChunk": "assistant",
}  # fmt: skip
_CLASSES = {
    "HumanMessage": "human", "HumanMessageChunk": "human", "AIMessage": "ai", "AIMessageChunk": "ai",
    "SystemMessage": "system", "SystemMessageChunk": "system", "ToolMessage": "tool", "ToolMessageChunk": "tool",
    "FunctionMessage": "function",
}  # fmt: skip


def fields_of(native: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """Returns the type of a message and its fields; None for any other object."""
    kwargs, data, kind = native.get("kwargs"), native.get("data"), native.get("type")
    if native.get("lc") == 1 and isinstance(kwargs, dict) and isinstance(native.get("id"), list):
        path = cast(list[Any], native["id"])
        named = _CLASSES.get(path[-1]) if path and isinstance(path[-1], str) else None
        return None if named is None else (named, cast(dict[str, Any], kwargs))
    if not isinstance(kind, str) or kind not in _ROLES:
        return None
    if isinstance(data, dict):
        return kind, cast(dict[str, Any], data)
    return (kind, native) if "content" in native else None


def to_message(native: Mapping[str, Any]) -> Message | None:
    """Returns the message in canonical form; None if it is not a LangChain message."""
    read = fields_of(native)
    if read is None:
        return None
    kind, fields = read
    role = _ROLES[kind]
    chat: dict[str, Any] = {"role": role}
    content = fields.get("content")
    calls = fields.get("tool_calls")
    if content or not calls:
        chat["content"] = content
    if role == "tool":
        chat["tool_call_id"] = fields.get("tool_call_id")
    elif isinstance(fields.get("name"), str):
        chat["name"] = fields["name"]
    if isinstance(calls, list) and calls:
        chat["tool_calls"] = [_call(call) for call in cast(list[Any], calls)]
    return openai_chat.to_message(chat)


def _call(call: Any) -> Any:
    if not isinstance(call, dict):
        return call
    call = cast(dict[str, Any], call)
    arguments = canonical_json(call.get("args")).decode("utf-8", "replace")
    return {"id": call.get("id"), "type": "function", "function": {"name": call.get("name"), "arguments": arguments}}

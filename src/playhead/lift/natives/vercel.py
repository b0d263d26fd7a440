"""Messages of the Vercel AI SDK (`tool-call` and `tool-result` parts) → Chat Completions messages."""

from collections.abc import Mapping
from typing import Any, Final, cast

from playhead.model.canonical import canonical_json

_TOOL_PARTS: Final = frozenset({"tool-call", "tool-result"})


def is_vercel(native: Mapping[str, Any]) -> bool:
    """Whether a message has parts that only this SDK writes."""
    content = native.get("content")
    return isinstance(content, list) and any(_kind(part) in _TOOL_PARTS for part in cast(list[Any], content))


def to_chat(native: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the messages that the SDK sends to the provider: one per tool result, and one for the other parts, in
    which a single text becomes a plain string."""
    role, content = native.get("role"), native.get("content")
    if not isinstance(content, list):
        return [{"role": role, "content": content}]
    parts = [cast(dict[str, Any], part) for part in cast(list[Any], content) if isinstance(part, dict)]
    results = [_result(part) for part in parts if _kind(part) == "tool-result"]
    calls = [tool_call(part) for part in parts if _kind(part) == "tool-call"]
    texts = [part for part in parts if _kind(part) not in _TOOL_PARTS]
    chat: dict[str, Any] = {"role": role}
    if len(texts) == 1 and _kind(texts[0]) == "text":
        chat["content"] = texts[0].get("text")
    elif texts:
        chat["content"] = texts
    if calls:
        chat["tool_calls"] = calls
    return [*results, chat] if texts or calls else results


def tool_call(part: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a tool call in the form of Chat Completions."""
    value = part.get("input", part.get("args"))
    arguments = value if isinstance(value, str) else canonical_json(value).decode("utf-8", "replace")
    function = {"name": part.get("toolName"), "arguments": arguments}
    return {"id": part.get("toolCallId"), "type": "function", "function": function}


def _result(part: Mapping[str, Any]) -> dict[str, Any]:
    output: Any = part.get("output", part.get("result"))
    if isinstance(output, dict) and "value" in output:  # {"type": "text", "value": ...}
        output = cast(dict[str, Any], output)["value"]
    if not isinstance(output, str):
        output = canonical_json(output).decode("utf-8", "replace")
    return {"role": "tool", "tool_call_id": part.get("toolCallId"), "content": output}


def _kind(part: Any) -> str | None:
    kind = cast(dict[str, Any], part).get("type") if isinstance(part, dict) else None
    return kind if isinstance(kind, str) else None

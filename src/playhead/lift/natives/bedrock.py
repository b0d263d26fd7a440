"""Bedrock's content blocks (`{"text": ...}`, `{"toolUse": ...}`, `{"toolResult": ...}`) → Chat Completions messages.

Strands writes them for every model.  A block is recognised by its single key."""

from typing import Any, cast

from playhead.model.canonical import canonical_json

_BLOCKS = frozenset({"text", "toolUse", "toolResult", "reasoningContent", "image", "document", "cachePoint"})


def to_chat(role: str, blocks: Any) -> list[dict[str, Any]] | None:
    """Returns the messages for a list of blocks; None for any other value. Each tool result becomes a message of its
    own."""
    if not isinstance(blocks, list) or not blocks:
        return None
    items = cast(list[Any], blocks)
    if not all(isinstance(block, dict) and len(cast(dict[str, Any], block)) == 1 for block in items):
        return None
    listed = cast(list[dict[str, Any]], items)
    if not all(_BLOCKS.issuperset(block) for block in listed):
        return None
    results = [_result(block["toolResult"]) for block in listed if "toolResult" in block]
    native: dict[str, Any] = {"role": "assistant" if role == "assistant" else "user" if role == "tool" else role}
    content = [_content(block) for block in listed if "toolUse" not in block and "toolResult" not in block]
    calls = [_call(block["toolUse"]) for block in listed if "toolUse" in block]
    if len(content) == 1 and content[0].get("type") == "text" and len(content[0]) == 2:
        native["content"] = content[0]["text"]
    elif content:
        native["content"] = content
    if calls:
        native["tool_calls"] = calls
    return [*results, native] if content or calls else results


def _content(block: dict[str, Any]) -> dict[str, Any]:
    return (
        {"type": "text", "text": block["text"]} if isinstance(block.get("text"), str) else {"type": "bedrock", **block}
    )


def _call(use: Any) -> dict[str, Any]:
    fields = cast(dict[str, Any], use) if isinstance(use, dict) else {}
    arguments = canonical_json(fields.get("input")).decode("utf-8", "replace")
    function = {"name": fields.get("name"), "arguments": arguments}
    return {"id": fields.get("toolUseId"), "type": "function", "function": function}


def _result(result: Any) -> dict[str, Any]:
    fields = cast(dict[str, Any], result) if isinstance(result, dict) else {}
    return {"role": "tool", "tool_call_id": fields.get("toolUseId"), "content": only_text(fields.get("content"))}


def only_text(content: Any) -> Any:
    """Returns the text of a list with a single text block; any other value unchanged."""
    if isinstance(content, list) and len(cast(list[Any], content)) == 1:
        only: Any = cast(list[Any], content)[0]
        if isinstance(only, dict) and cast(dict[str, Any], only).keys() == {"text"}:
            return cast(dict[str, Any], only)["text"]
    return cast(Any, content)

"""Joins the events of a streamed message to one message, and splits a message into events. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from playhead.model.canonical import canonical_json, parse_json

# Type of a delta with a piece of a text → the block's key for that text.
_PIECES = {"text_delta": "text", "thinking_delta": "thinking"}
_NO_TOKENS = {"input_tokens": 0, "output_tokens": 0}


def whole_message(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the message in its unstreamed form, as far as it was received."""
    message: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    inputs: dict[int, str] = {}
    for event in events:
        match event.get("type"):
            case "message_start":
                message |= cast("dict[str, Any]", event.get("message") or {})
            case "content_block_start":
                blocks[event.get("index", 0)] = dict(event.get("content_block") or {})
            case "content_block_delta":
                index = event.get("index", 0)
                _add(blocks.setdefault(index, {}), event.get("delta") or {}, inputs, index)
            case "message_delta":
                _end(message, event)
            case _:
                pass  # the end of a block or of the message, and unknown events
    for index, text in inputs.items():
        blocks[index]["input"] = _parsed(text)
    message["content"] = [blocks[index] for index in sorted(blocks)]
    return message


def _add(block: dict[str, Any], delta: Mapping[str, Any], inputs: dict[int, str], index: int) -> None:
    kind = str(delta.get("type"))
    if kind in _PIECES:
        key = _PIECES[kind]
        block[key] = (block.get(key) or "") + delta.get(key, "")
    elif kind == "input_json_delta":
        inputs[index] = inputs.get(index, "") + delta.get("partial_json", "")
    elif kind == "citations_delta":
        block["citations"] = [*(block.get("citations") or ()), delta.get("citation")]
    else:  # not in pieces: a signature, a compaction
        block |= {key: value for key, value in delta.items() if key != "type"}


def _end(message: dict[str, Any], event: Mapping[str, Any]) -> None:
    """Applies a `message_delta` event to the message.  Its token counts are totals; counts that it does not have are
    kept."""
    message |= cast("dict[str, Any]", event.get("delta") or {})
    usage: Mapping[str, Any] = event.get("usage") or {}
    counted = {key: value for key, value in usage.items() if value is not None}
    message["usage"] = {**(message.get("usage") or {}), **counted}
    for key, value in event.items():
        if key not in ("type", "delta", "usage") and value is not None:
            message[key] = value


def _parsed(text: str) -> Any:
    """Parses a tool's input; returns the text itself if the stream broke off in the middle of it."""
    try:
        return parse_json(text) if text else {}
    except ValueError:
        return text


def events_of(message: Mapping[str, Any], characters: int | None = None) -> list[dict[str, Any]]:
    """Returns the events of a stream of this message; texts in pieces of `characters` (None: whole)."""
    usage: dict[str, Any] = {**_NO_TOKENS, **(message.get("usage") or {})}
    ending = {"stop_reason": message.get("stop_reason"), "stop_sequence": message.get("stop_sequence")}
    begun: dict[str, Any] = {**message, "content": [], **dict.fromkeys(ending), "usage": {**usage, "output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
    content: Sequence[Any] = message.get("content") or ()
    for index, block in enumerate(content):
        started, deltas = _deltas(block, characters)
        events.append({"type": "content_block_start", "index": index, "content_block": started})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": ending, "usage": usage})
    events.append({"type": "message_stop"})
    return events


def _deltas(block: Mapping[str, Any], characters: int | None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns the block of a `content_block_start`, and the deltas that complete it."""
    match block.get("type"):
        case "text":
            deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"], characters)]
            return {**block, "text": ""}, deltas
        case "thinking":
            texts = _pieces(block["thinking"], characters)
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in texts]
            if "signature" in block:
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return {**block, "thinking": "", "signature": ""}, deltas
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            texts = _pieces(_input_text(block.get("input")), characters)
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in texts]
        case _:
            return dict(block), []


def _input_text(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json(value).decode()


def _pieces(text: str, characters: int | None) -> Iterator[str]:
    size = characters or max(len(text), 1)
    for start in range(0, len(text), size):
        yield text[start : start + size]

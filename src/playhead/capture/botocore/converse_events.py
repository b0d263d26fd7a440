"""Joins the events of a streamed Converse answer to one answer, and splits an answer into events.  Pure."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, cast

from playhead.model.canonical import canonical_json, parse_json

_ABOUT = ("usage", "metrics", "trace", "performanceConfig", "serviceTier")


def whole_answer(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the answer in its unstreamed form, as far as it was received."""
    answer: dict[str, Any] = {}
    role = "assistant"
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        for kind, body in event.items():
            match kind:
                case "messageStart":
                    role = body.get("role", role)
                case "contentBlockStart":
                    blocks[body.get("contentBlockIndex", 0)] = _started(body.get("start") or {})
                case "contentBlockDelta":
                    _add(blocks.setdefault(body.get("contentBlockIndex", 0), {}), body.get("delta") or {})
                case "messageStop":
                    answer |= body
                case "metadata":
                    answer |= {name: body[name] for name in _ABOUT if name in body}
                case _:
                    pass
    content = [_finished(blocks[index]) for index in sorted(blocks)]
    return {"output": {"message": {"role": role, "content": content}}, **answer}


def events_of(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the events of a stream of this answer, as few as possible."""
    message = answer["output"]["message"]
    events: list[dict[str, Any]] = [{"messageStart": {"role": message["role"]}}]
    for index, block in enumerate(message["content"]):
        block_index = {"contentBlockIndex": index}
        if "toolUse" in block:
            use = block["toolUse"]
            start = {name: use[name] for name in ("toolUseId", "name", "type") if name in use}
            events.append({"contentBlockStart": {"start": {"toolUse": start}, **block_index}})
        events += [{"contentBlockDelta": {"delta": delta, **block_index}} for delta in _deltas(block)]
        events.append({"contentBlockStop": block_index})
    events.append({"messageStop": {"stopReason": answer["stopReason"]}})
    return [*events, {"metadata": {name: answer[name] for name in _ABOUT if name in answer}}]


def _started(start: Mapping[str, Any]) -> dict[str, Any]:
    return {kind: dict(cast("Mapping[str, Any]", body)) for kind, body in start.items() if isinstance(body, Mapping)}


def _add(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    for kind, more in delta.items():
        match kind:
            case "text":
                block["text"] = block.get("text", "") + more
            case "toolUse":
                use = block.setdefault("toolUse", {})
                use["input"] = use.get("input", "") + more.get("input", "")
            case "reasoningContent":
                _add_reasoning(block.setdefault("reasoningContent", {}), more)
            case "citation":
                block.setdefault("citations", []).append(more)
            case _ if isinstance(more, list):
                block.setdefault(kind, {}).setdefault("content", []).extend(cast("list[Any]", more))
            case _ if isinstance(more, dict):
                block.setdefault(kind, {}).update(more)
            case _:
                block[kind] = more


def _add_reasoning(block: dict[str, Any], more: Mapping[str, Any]) -> None:
    if "redactedContent" in more:
        pieces = (block.get("redactedContent", ""), more["redactedContent"])
        block["redactedContent"] = base64.b64encode(b"".join(map(base64.b64decode, pieces))).decode()
        return
    reasoning = block.setdefault("reasoningText", {"text": ""})
    for name, text in more.items():
        reasoning[name] = reasoning.get(name, "") + text


def _finished(block: dict[str, Any]) -> dict[str, Any]:
    use = block.get("toolUse")
    if isinstance(use, dict):
        return {**block, "toolUse": {**use, "input": _input(cast("dict[str, Any]", use).get("input"))}}
    if "citations" in block:
        content = [{"text": block["text"]}] if "text" in block else []
        return {"citationsContent": {"content": content, "citations": block["citations"]}}
    return block


def _input(text: Any) -> Any:
    """Parses a tool's input; returns the text itself if it is not JSON, e.g. because the stream broke off in it."""
    if not text:
        return {}
    try:
        return parse_json(text)
    except ValueError:
        return text


def _deltas(block: Mapping[str, Any]) -> list[Any]:
    match block:
        case {"toolUse": {"input": tool_input}}:
            return [{"toolUse": {"input": canonical_json(tool_input).decode()}}]
        case {"reasoningContent": {"reasoningText": reasoning}}:
            return [{"reasoningContent": {name: text}} for name, text in cast("dict[str, Any]", reasoning).items()]
        case {"citationsContent": {"content": content, "citations": citations}}:
            return [*content, *({"citation": citation} for citation in cast("list[Any]", citations))]
        case _:
            return [dict(block)]

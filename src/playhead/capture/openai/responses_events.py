"""Joins the typed events of a streamed response to one response, and splits a response into events. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

_OVER = frozenset({"completed", "incomplete", "failed", "cancelled"})
# Event with a piece of a text → where the piece belongs in its item: list, key of the index, empty part, key.
_PIECES = {
    "response.output_text.delta": ("content", "content_index", {"type": "output_text"}, "text"),
    "response.refusal.delta": ("content", "content_index", {"type": "refusal"}, "refusal"),
    "response.reasoning_text.delta": ("content", "content_index", {"type": "reasoning_text"}, "text"),
    "response.reasoning_summary_text.delta": ("summary", "summary_index", {"type": "summary_text"}, "text"),
}
_ARGUMENTS = {
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
}


def whole_response(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the response in its unstreamed form, as far as it was received."""
    response: dict[str, Any] = {}
    items: dict[int, dict[str, Any]] = {}
    for event in events:
        if isinstance(event.get("response"), dict):
            response = cast(dict[str, Any], event["response"])
        _add(items, event)
    if response.get("status") in _OVER and (response.get("output") or not items):
        return response
    return {**response, "output": [items[index] for index in sorted(items)]}


def _add(items: dict[int, dict[str, Any]], event: Mapping[str, Any]) -> None:
    index, kind = event.get("output_index"), str(event.get("type"))
    if not isinstance(index, int):
        return
    if isinstance(event.get("item"), dict):
        # A copy: pieces are added to it, and the event must not change.
        items[index] = {**event["item"]}
    elif kind in _ARGUMENTS:
        item, key = items.setdefault(index, {}), _ARGUMENTS[kind]
        item[key] = f"{item.get(key) or ''}{event.get('delta', '')}"
    elif kind in _PIECES:
        key, place, empty, text = _PIECES[kind]
        item = items.setdefault(index, {})
        part_index = event.get(place) or 0
        parts = [dict(part) for part in item.get(key) or ()]
        parts += [dict(empty) for _ in range(part_index + 1 - len(parts))]
        parts[part_index][text] = f"{parts[part_index].get(text) or ''}{event.get('delta', '')}"
        item[key] = parts


def events_of(response: Mapping[str, Any], piece_characters: int | None = None) -> list[dict[str, Any]]:
    """Returns the events of a stream of this response; texts and arguments in pieces of `piece_characters` (None:
    whole)."""
    begun: dict[str, Any] = {
        **response,
        "status": "in_progress",
        "incomplete_details": None,
        "output": [],
        "usage": None,
    }
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for index, item in enumerate(response["output"]):
        events += _item(item, index, piece_characters)
    events.append({"type": f"response.{response.get('status', 'completed')}", "response": dict(response)})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _item(item: Mapping[str, Any], index: int, characters: int | None) -> Iterator[dict[str, Any]]:
    kind, where = item.get("type"), {"item_id": item.get("id"), "output_index": index}
    writer = _WRITERS.get(str(kind))
    key, empty, write = writer if writer else (None, None, None)
    begun = {**item, **({} if kind == "reasoning" else {"status": "in_progress"}), **({key: empty} if key else {})}
    yield {"type": "response.output_item.added", "output_index": index, "item": begun}
    if write is not None and key is not None:
        yield from write(item[key], item, where, characters)
    yield {"type": "response.output_item.done", "output_index": index, "item": dict(item)}


def _content(parts: Any, item: Any, where: dict[str, Any], characters: int | None) -> Iterator[dict[str, Any]]:
    for index, part in enumerate(parts):
        refused = part["type"] == "refusal"
        name, key = ("refusal", "refusal") if refused else ("output_text", "text")
        more: dict[str, Any] = {} if refused else {"logprobs": []}
        here = {**where, "content_index": index}
        yield {"type": "response.content_part.added", **here, "part": {**part, key: ""}}
        for piece in _pieces(part[key], characters):
            yield {"type": f"response.{name}.delta", **here, "delta": piece, **more}
        yield {"type": f"response.{name}.done", **here, key: part[key], **more}
        yield {"type": "response.content_part.done", **here, "part": part}


def _summary(parts: Any, item: Any, where: dict[str, Any], characters: int | None) -> Iterator[dict[str, Any]]:
    for index, part in enumerate(parts):
        here = {**where, "summary_index": index}
        yield {"type": "response.reasoning_summary_part.added", **here, "part": {**part, "text": ""}}
        for piece in _pieces(part["text"], characters):
            yield {"type": "response.reasoning_summary_text.delta", **here, "delta": piece}
        yield {"type": "response.reasoning_summary_text.done", **here, "text": part["text"]}
        yield {"type": "response.reasoning_summary_part.done", **here, "part": part}


def _arguments(text: Any, item: Any, where: dict[str, Any], characters: int | None) -> Iterator[dict[str, Any]]:
    for piece in _pieces(text, characters):
        yield {"type": "response.function_call_arguments.delta", **where, "delta": piece}
    yield {"type": "response.function_call_arguments.done", **where, "name": item.get("name"), "arguments": text}


_WRITERS: dict[str, tuple[str, Any, Any]] = {
    "message": ("content", [], _content),
    "reasoning": ("summary", [], _summary),
    "function_call": ("arguments", "", _arguments),
}


def _pieces(text: str, characters: int | None) -> list[str]:
    if not characters:
        return [text] if text else []
    return [text[start : start + characters] for start in range(0, len(text), characters)]

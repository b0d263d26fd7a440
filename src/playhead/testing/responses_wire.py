"""answers → [responses_wire] → listener.  OpenAI's Responses API on the wire: JSON bodies and typed events.  Pure."""

from __future__ import annotations

import orjson

from playhead.capture.openai.responses_events import events_of
from playhead.testing.request import JsonObject, calls_of, text_of
from playhead.testing.responses_request import ResponsesRequest
from playhead.testing.wire import EVENTS_TYPE, Completion, Response

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
# What the API repeats of the request; the others are null, or what it takes for them.
_NULL = ("instructions", "previous_response_id", "max_output_tokens", "reasoning")
_REPEATED: JsonObject = dict.fromkeys(_NULL) | {
    "tool_choice": "auto",
    "tools": [],
    "parallel_tool_calls": True,
    "metadata": {},
    "truncation": "disabled",
    "temperature": 1.0,
    "top_p": 1.0,
    "text": {"format": {"type": "text"}},
    "store": True,
}


def response_object(completion: Completion, request: ResponsesRequest) -> JsonObject:
    """The completion as a `response`, whole."""
    reason = _INCOMPLETE.get(completion.finish_reasons[0])
    asked = {name: request.body.get(name, usual) for name, usual in _REPEATED.items()}
    return {
        **asked,
        "id": "resp_" + completion.id.removeprefix("chatcmpl-"),
        "object": "response",
        "created_at": completion.created,
        "model": completion.model,
        "status": "incomplete" if reason else "completed",
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "output": output_items(completion),
        "usage": _usage(completion.usage),
    }


def output_items(completion: Completion) -> list[JsonObject]:
    """The message as items: reasoning, text, calls."""
    message, number = completion.messages[0], completion.id.removeprefix("chatcmpl-")
    items: list[JsonObject] = []
    if thought := message.get("reasoning_content"):
        items.append({"type": "reasoning", "id": f"rs_{number}", "summary": [_summary(thought)]})
    if (said := text_of(message)) or not calls_of(message):
        about = {"type": "message", "id": f"msg_{number}", "status": "completed", "role": "assistant"}
        items.append({**about, "content": [_text(said)]})
    for place, call in enumerate(calls_of(message)):
        function = call["function"]
        said = {"call_id": call.get("id"), "name": function["name"], "arguments": function["arguments"]}
        items.append({"type": "function_call", "id": f"fc_{number}_{place}", "status": "completed", **said})
    return items


def whole(response: JsonObject) -> Response:
    """The response as one JSON body."""
    return Response(200, [orjson.dumps(response)])


def streamed(response: JsonObject, piece_characters: int) -> Response:
    """The response as typed, numbered events; the last one has it whole."""
    return Response(200, [_event(event) for event in events_of(response, piece_characters)], EVENTS_TYPE)


def _text(text: str) -> JsonObject:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _summary(text: str) -> JsonObject:
    return {"type": "summary_text", "text": text}


def _usage(usage: JsonObject) -> JsonObject:
    return {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": {**usage["prompt_tokens_details"], "cache_write_tokens": 0},
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": usage["completion_tokens_details"],
        "total_tokens": usage["total_tokens"],
    }


def _event(event: JsonObject) -> bytes:
    return b"event: " + event["type"].encode() + b"\ndata: " + orjson.dumps(event) + b"\n\n"

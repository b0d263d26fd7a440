"""completion → [wire] → http_response.  OpenAI's Responses API on the wire: JSON bodies and typed events.  Pure."""

from __future__ import annotations

from playhead.capture.openai.responses import events_of
from playhead.testing.completion import Completion, EstimatedUsage
from playhead.testing.http_response import EVENTS_TYPE, Response, json_response, server_sent_event
from playhead.testing.protocols.openai_responses.request import ResponsesRequest
from playhead.testing.request import JsonObject, calls_of, text_of

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
# Fields of the request that the API repeats in its answer, with their values if the request does not have them.
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
    """Returns the completion as a `response` object."""
    reason = _INCOMPLETE.get(completion.finish_reasons[0])
    repeated = {name: request.body.get(name, usual) for name, usual in _REPEATED.items()}
    return {
        **repeated,
        "id": f"resp_{completion.number}",
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
    """Returns the message as items: reasoning, text, tool calls."""
    message, number = completion.messages[0], completion.number
    items: list[JsonObject] = []
    if thought := message.get("reasoning_content"):
        items.append({"type": "reasoning", "id": f"rs_{number}", "summary": [_summary(thought)]})
    if (content := text_of(message)) or not calls_of(message):
        about = {"type": "message", "id": f"msg_{number}", "status": "completed", "role": "assistant"}
        items.append({**about, "content": [_text(content)]})
    for index, call in enumerate(calls_of(message)):
        function = call["function"]
        content = {"call_id": call.get("id"), "name": function["name"], "arguments": function["arguments"]}
        items.append({"type": "function_call", "id": f"fc_{number}_{index}", "status": "completed", **content})
    return items


def whole(response: JsonObject) -> Response:
    """The response as one JSON body."""
    return json_response(response)


def streamed(response: JsonObject, piece_characters: int) -> Response:
    """Returns the response as typed, numbered events; the last one has the whole response."""
    events = [server_sent_event(event, event["type"]) for event in events_of(response, piece_characters)]
    return Response(200, events, EVENTS_TYPE)


def _text(text: str) -> JsonObject:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _summary(text: str) -> JsonObject:
    return {"type": "summary_text", "text": text}


def _usage(usage: EstimatedUsage) -> JsonObject:
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    }

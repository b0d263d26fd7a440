"""completion → [wire] → http_response.  Converse on the wire: JSON bodies and binary event streams.  Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import orjson

from playhead.capture.botocore.streams import event_frame
from playhead.testing.answers import Failed
from playhead.testing.completion import Completion, EstimatedUsage
from playhead.testing.http_response import Response, in_pieces, json_response
from playhead.testing.request import JsonObject, calls_of, text_of

EVENT_STREAM = "application/vnd.amazon.eventstream"
_STOP_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}
_STOP_REASONS["content_filter"] = "content_filtered"
_ERRORS = {
    400: "ValidationException",
    401: "UnrecognizedClientException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    429: "ThrottlingException",
    503: "ServiceUnavailableException",
}
_LATENCY_MS = 1


def whole(completion: Completion) -> Response:
    """The answer as one JSON body."""
    return json_response(answer_body(completion), headers=request_id(completion))


def answer_body(completion: Completion) -> JsonObject:
    """Returns the body of Converse's answer."""
    return {
        "output": {"message": {"role": "assistant", "content": list(blocks_of(completion))}},
        "stopReason": stop_reason(completion),
        "usage": usage_object(completion.usage),
        "metrics": {"latencyMs": _LATENCY_MS},
    }


def streamed(completion: Completion, piece_characters: int) -> Response:
    """The answer as an event stream."""
    frames = [event_frame(name, body) for name, body in events_of(completion, piece_characters)]
    return Response(200, frames, EVENT_STREAM, request_id(completion))


def events_of(completion: Completion, piece_characters: int) -> Iterator[tuple[str, JsonObject]]:
    """Yields the events of a streamed answer: texts, thinking and tool inputs in pieces; the last event has the
    usage."""
    yield "messageStart", {"role": "assistant"}
    for index, block in enumerate(blocks_of(completion)):
        if "toolUse" in block:
            start = {"toolUseId": block["toolUse"]["toolUseId"], "name": block["toolUse"]["name"]}
            yield "contentBlockStart", {"start": {"toolUse": start}, "contentBlockIndex": index}
        for delta in _deltas(block, piece_characters):
            yield "contentBlockDelta", {"delta": delta, "contentBlockIndex": index}
        yield "contentBlockStop", {"contentBlockIndex": index}
    yield "messageStop", {"stopReason": stop_reason(completion)}
    yield "metadata", {"usage": usage_object(completion.usage), "metrics": {"latencyMs": _LATENCY_MS}}


def blocks_of(completion: Completion) -> Iterator[JsonObject]:
    """Yields the message as blocks: thinking with its signature, text, tool uses."""
    message = completion.messages[0]
    if thought := message.get("reasoning_content"):
        yield {"reasoningContent": {"reasoningText": {"text": thought, "signature": signature(thought)}}}
    if text := text_of(message):
        yield {"text": text}
    for call in calls_of(message):
        function: JsonObject = call["function"]
        yield {"toolUse": {"toolUseId": call.get("id"), "name": function.get("name"), "input": tool_input(function)}}


def tool_input(function: JsonObject) -> object:
    """Returns a call's arguments as an object; arguments that are not JSON as an object with the key `arguments`, since
    this API has objects only."""
    try:
        return orjson.loads(function.get("arguments") or "{}")
    except orjson.JSONDecodeError:
        return {"arguments": function.get("arguments")}


def signature(thought: str) -> str:
    """Returns a signature that depends on the thinking only."""
    return hashlib.blake2b(thought.encode("utf-8", "surrogatepass"), digest_size=24).hexdigest()


def stop_reason(completion: Completion) -> str:
    """Returns the finish reason, as this API names it."""
    return _STOP_REASONS.get(completion.finish_reasons[0], completion.finish_reasons[0])


def usage_object(usage: EstimatedUsage) -> JsonObject:
    """Returns the usage, as this API names it: `inputTokens` are those that were not cached."""
    return {
        "inputTokens": usage.input - usage.cached,
        "outputTokens": usage.output,
        "totalTokens": usage.input + usage.output,
        "cacheReadInputTokens": usage.cached,
        "cacheWriteInputTokens": 0,
    }


def request_id(completion: Completion) -> dict[str, str]:
    """The header with the id of the answer."""
    return {"x-amzn-requestid": completion.number}


def error_response(failed: Failed) -> Response:
    """Returns the failure in the form of AWS's REST APIs."""
    kind = _ERRORS.get(failed.status, "InternalServerException" if failed.status >= 500 else "ValidationException")
    return json_response({"message": failed.message}, failed.status, {**failed.headers, "x-amzn-errortype": kind})


def _deltas(block: JsonObject, characters: int) -> Iterator[JsonObject]:
    if "toolUse" in block:
        for piece in in_pieces(orjson.dumps(block["toolUse"]["input"]).decode(), characters):
            yield {"toolUse": {"input": piece}}
    elif "text" in block:
        yield from ({"text": piece} for piece in in_pieces(block["text"], characters))
    else:
        reasoning: JsonObject = block["reasoningContent"]["reasoningText"]
        yield from ({"reasoningContent": {"text": piece}} for piece in in_pieces(reasoning["text"], characters))
        yield {"reasoningContent": {"signature": reasoning["signature"]}}

"""HTTP body → [bedrock_converse] → HTTP response.  `Converse` and `ConverseStream` of Amazon Bedrock.

The paths are `POST /model/MODEL/converse` and `.../converse-stream`; answers are JSON bodies or binary event streams.
Rules see the equivalent chat completion request: the system's blocks are the first message, and each tool result is a
message of role `tool`. Requests are signed for AWS: the access key in the signature counts as their API key. Pure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote

import orjson

from playhead.capture.botocore.streams import event_frame
from playhead.dialect import bedrock, openai_chat
from playhead.model.json_value import is_list, is_object, objects_of
from playhead.testing.answers import Failed
from playhead.testing.completion import Completion, EstimatedUsage
from playhead.testing.http_response import Response, in_pieces, json_response
from playhead.testing.protocols.openai_http import bearer_token
from playhead.testing.protocols.protocol import Incoming
from playhead.testing.request import ChatRequest, InvalidRequest, JsonObject, calls_of, json_object, text_of

# --- the request ------------------------------------------------------------------------------------------------------

_ROLES = ("user", "assistant")


@dataclass(frozen=True)
class ConverseRequest(ChatRequest):
    """A request of Converse. The path names the model, and says whether the answer is streamed."""

    path_model: str = ""
    is_streamed: bool = False

    @property
    def model(self) -> str:
        return self.path_model

    @property
    def stream(self) -> bool:
        return self.is_streamed

    @property
    def choices(self) -> int:
        return 1

    @property
    def wants_thinking(self) -> bool:
        more: JsonObject = self.body.get("additionalModelRequestFields") or self.body
        return any(more.get(name) for name in ("thinking", "reasoning_config", "reasoningConfig"))

    @property
    def messages(self) -> list[JsonObject]:
        return self._messages

    @property
    def tools(self) -> list[JsonObject]:
        config: JsonObject = self.body.get("toolConfig") or {}
        return [_chat_tool(tool) for tool in config.get("tools") or ()]

    @property
    def trajectory(self) -> str | None:
        return None

    @cached_property
    def _messages(self) -> list[JsonObject]:
        cut = bedrock.split_turns(self.body["messages"], self.body.get("system"))
        return openai_chat.from_messages(map(bedrock.to_message, cut))


def path_parts(path: str) -> tuple[str, str]:
    """Returns the model and the operation of a path `/model/MODEL/OPERATION`; two empty texts for other paths."""
    before, _, operation = path.rpartition("/")
    return (unquote(before.removeprefix("/model/")), operation) if before.startswith("/model/") else ("", "")


def read_converse_body(body: bytes) -> JsonObject:
    """Parses the body of a request. Raises InvalidRequest with a sentence about the first error."""
    fields = json_object(body)
    check_converse_messages(fields)
    config: object = fields.get("toolConfig", {})
    if not is_object(config) or not isinstance(config.get("tools", []), list):
        raise InvalidRequest("The value at toolConfig.tools must be a list.", "toolConfig.tools")
    return fields


def check_converse_messages(body: JsonObject) -> None:
    """Checks that all messages have a role and a list of blocks, and that the first is the user's. Raises
    InvalidRequest."""
    messages: object = body.get("messages")
    if not is_list(messages) or not messages:
        raise InvalidRequest("The value at messages must be a list of at least one message.", "messages")
    for index, message in enumerate(messages):
        if not is_object(message) or message.get("role") not in _ROLES:
            raise InvalidRequest(f"Value at 'messages.{index}.role' must be one of [user, assistant].", "messages")
        content: object = message.get("content")
        if not is_list(content) or not all(is_object(block) for block in content):
            raise InvalidRequest(f"Value at 'messages.{index}.content' must be a list of objects.", "messages")
    if objects_of(messages)[0]["role"] != "user":
        raise InvalidRequest("A conversation must start with a user message.", "messages")


def _chat_tool(native: JsonObject) -> JsonObject:
    specification: JsonObject | None = native.get("toolSpec")
    if specification is None:
        return {"type": next(iter(native), "")}
    schema: JsonObject = specification.get("inputSchema") or {}
    about: JsonObject = {
        "name": specification.get("name"),
        "description": specification.get("description"),
        "parameters": schema.get("json"),
    }
    return {"type": "function", "function": about}


# --- the answer -------------------------------------------------------------------------------------------------------

EVENT_STREAM = "application/vnd.amazon.eventstream"
_STOP_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}
_STOP_REASONS["content_filter"] = "content_filtered"
_ERROR_TYPES = {
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
        for delta in _block_deltas(block, piece_characters):
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
    kind = _ERROR_TYPES.get(failed.status, "InternalServerException" if failed.status >= 500 else "ValidationException")
    return json_response({"message": failed.message}, failed.status, {**failed.headers, "x-amzn-errortype": kind})


def _block_deltas(block: JsonObject, characters: int) -> Iterator[JsonObject]:
    if "toolUse" in block:
        for piece in in_pieces(orjson.dumps(block["toolUse"]["input"]).decode(), characters):
            yield {"toolUse": {"input": piece}}
    elif "text" in block:
        yield from ({"text": piece} for piece in in_pieces(block["text"], characters))
    else:
        reasoning: JsonObject = block["reasoningContent"]["reasoningText"]
        yield from ({"reasoningContent": {"text": piece}} for piece in in_pieces(reasoning["text"], characters))
        yield {"reasoningContent": {"signature": reasoning["signature"]}}


# --- the protocol -----------------------------------------------------------------------------------------------------

_OPERATIONS = {"converse": False, "converse-stream": True}
_CREDENTIAL = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/]+)/")


class BedrockConverse:
    """Implements `ModelProtocol`."""

    def takes(self, path: str) -> bool:
        return path_parts(path)[1] in _OPERATIONS

    def api_key(self, incoming: Incoming) -> str | None:
        return access_key(incoming)

    def read(self, number: int, incoming: Incoming) -> ConverseRequest:
        model, operation = path_parts(incoming.path)
        body = read_converse_body(incoming.body)
        return ConverseRequest(number, body, incoming.headers, model, _OPERATIONS[operation])

    def render(self, completion: Completion, request: ChatRequest, piece_characters: int) -> Response:
        return streamed(completion, piece_characters) if request.stream else whole(completion)

    def fail(self, failed: Failed, param: str | None = None) -> Response:
        return error_response(failed)


def access_key(incoming: Incoming) -> str | None:
    """Returns the access key that signed the request or, for a request with an API key of Bedrock, its token."""
    match = _CREDENTIAL.match(incoming.headers.get("authorization", ""))
    return match[1] if match else bearer_token(incoming.headers)

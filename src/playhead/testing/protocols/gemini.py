"""HTTP body → [gemini] → HTTP response.  `generateContent` and `streamGenerateContent` of Gemini's API and Vertex AI.

The path names the model: `/v1beta/models/NAME:generateContent`, `/v1/projects/.../models/NAME:generateContent`. Rules
see the equivalent chat completion request: contents are messages, `systemInstruction` is the first one, and each
function response is a message of role `tool`. Pure.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from playhead.model.json_value import is_list, is_object
from playhead.testing.answers import Failed
from playhead.testing.completion import Completion, EstimatedUsage
from playhead.testing.http_response import EVENTS_TYPE, Response, in_pieces, json_response, server_sent_event
from playhead.testing.protocols.openai_http import bearer_token
from playhead.testing.protocols.protocol import Incoming
from playhead.testing.request import ChatRequest, InvalidRequest, JsonObject, calls_of, json_object, text_of

# --- the request ------------------------------------------------------------------------------------------------------

_ROLES = ("user", "model", "function")
_MAX_CANDIDATES = 8
_MODELS_FOLDER = "/models/"


@dataclass(frozen=True)
class GeminiRequest(ChatRequest):
    """A request of Gemini. The path names the model, and says whether the answer is streamed; `as_events`: as
    server-sent events, instead of one JSON array."""

    path_model: str = ""
    is_streamed: bool = False
    as_events: bool = True

    @property
    def model(self) -> str:
        return self.path_model

    @property
    def stream(self) -> bool:
        return self.is_streamed

    @property
    def choices(self) -> int:
        return self._generation.get("candidateCount") or 1

    @property
    def wants_thinking(self) -> bool:
        thinking: JsonObject = self._generation.get("thinkingConfig") or {}
        # Google's client sends nested fields in snake case, other clients in camel case; the API accepts both.
        return (thinking.get("includeThoughts") or thinking.get("include_thoughts")) is True

    @property
    def asks_for_thinking(self) -> bool:
        return self.wants_thinking

    @property
    def messages(self) -> list[JsonObject]:
        return self._messages

    @property
    def tools(self) -> list[JsonObject]:
        return self._tools

    @property
    def _generation(self) -> JsonObject:
        return self.body.get("generationConfig") or {}

    @cached_property
    def _messages(self) -> list[JsonObject]:
        system: Any = self.body.get("systemInstruction")
        first = [{"role": "system", "content": text_in(system)}] if system else []
        return [*first, *(message for content in self.body["contents"] for message in _messages_of(content))]

    @cached_property
    def _tools(self) -> list[JsonObject]:
        tools: list[JsonObject] = self.body.get("tools") or []
        functions = [declaration for tool in tools for declaration in tool.get("functionDeclarations") or ()]
        other = [{"type": name} for tool in tools for name in tool if name != "functionDeclarations"]
        return [*({"type": "function", "function": declaration} for declaration in functions), *other]


def method_of(path: str) -> str:
    """Returns the method in a path: `generateContent`, or another; empty if there is none."""
    return path.rpartition(":")[2] if "/" not in path.rpartition(":")[2] else ""


def model_of(path: str) -> str:
    """Returns the model in a path; a tuned model or an endpoint with its collection (`tunedModels/NAME`)."""
    resource = path.rpartition(":")[0]
    before, published, name = resource.rpartition(_MODELS_FOLDER)
    if published:
        return name
    return "/".join(resource.split("/")[-2:]) if before or "/" in resource else resource


def read_gemini_body(body: bytes) -> JsonObject:
    """Parses the body of a request. Raises InvalidRequest with a sentence about the first error."""
    fields = json_object(body)
    contents: object = fields.get("contents")
    if not is_list(contents) or not contents:
        raise InvalidRequest("* GenerateContentRequest.contents: contents is not specified", "contents")
    for index, content in enumerate(contents):
        check_content(content, f"contents[{index}]")
    if "systemInstruction" in fields:
        check_content(fields["systemInstruction"], "systemInstruction", roles=None)
    _check_objects(fields.get("tools"), "tools")
    generation: object = fields.get("generationConfig", {})
    if not is_object(generation):
        raise InvalidRequest("Invalid value at 'generation_config': it is an object.", "generationConfig")
    candidates: object = generation.get("candidateCount", 1)
    if not isinstance(candidates, int) or not 1 <= candidates <= _MAX_CANDIDATES:
        sentence = f"Invalid value at 'generation_config.candidate_count': it is from 1 to {_MAX_CANDIDATES}."
        raise InvalidRequest(sentence, "generationConfig.candidateCount")
    return fields


def check_content(content: object, name: str, roles: tuple[str, ...] | None = _ROLES) -> None:
    """Checks that a content's parts are a list of objects and, unless `roles` is None, that its role is one of these.
    Raises InvalidRequest."""
    if not is_object(content):
        raise InvalidRequest(f"Invalid value at '{name}': it is an object.", name)
    fields = content
    if roles is not None and fields.get("role", roles[0]) not in roles:
        raise InvalidRequest("Please use a valid role: user, model.", f"{name}.role")
    _check_objects(fields.get("parts"), f"{name}.parts")


def text_in(content: JsonObject) -> str:
    """Returns the texts of a content, without thinking."""
    parts: list[JsonObject] = content.get("parts") or []
    return "".join(part.get("text") or "" for part in parts if not part.get("thought"))


def _check_objects(values: object, name: str) -> None:
    if values is None:
        return
    listed = values if is_list(values) else [None]
    if not all(is_object(value) for value in listed):
        raise InvalidRequest(f"Invalid value at '{name}': it is a list of objects.", name)


def _messages_of(content: JsonObject) -> Iterator[JsonObject]:
    """Yields the chat messages that are equivalent to a content."""
    parts: list[JsonObject] = content.get("parts") or []
    for response in [part["functionResponse"] for part in parts if part.get("functionResponse")]:
        yield {
            "role": "tool",
            "name": response.get("name"),
            "tool_call_id": response.get("id"),
            "content": _result_text(response.get("response")),
        }
    spoken = [part for part in parts if not part.get("functionResponse")]
    if not spoken and parts:
        return
    if content.get("role") != "model":
        yield {"role": "user", "content": text_in(content)}
        return
    message: JsonObject = {"role": "assistant", "content": text_in(content)}
    if thought := "".join(part.get("text") or "" for part in parts if part.get("thought")):
        message["reasoning_content"] = thought
    if calls := [part["functionCall"] for part in parts if part.get("functionCall")]:
        message["tool_calls"] = [_tool_call(call) for call in calls]
    yield message


def _tool_call(call: JsonObject) -> JsonObject:
    function = {"name": call.get("name"), "arguments": orjson.dumps(call.get("args") or {}).decode()}
    return {"id": call.get("id"), "type": "function", "function": function}


def _result_text(response: object) -> str:
    """Returns a function's result as text: JSON, or a text that stands alone under `result` or `output`, as clients
    send texts."""
    if is_object(response) and len(response) == 1:
        key, value = next(iter(response.items()))
        if key in ("result", "output") and isinstance(value, str):
            return value
    return orjson.dumps(response).decode()


# --- the answer -------------------------------------------------------------------------------------------------------

_FINISH_REASONS = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
_MALFORMED = "MALFORMED_FUNCTION_CALL"


def whole(completion: Completion) -> Response:
    """The answer as one JSON body."""
    candidates = [_candidate(completion, choice, parts_of(completion, choice)) for choice in _choices(completion)]
    return json_response({"candidates": candidates, **_answer_fields(completion)})


def streamed(completion: Completion, piece_characters: int, *, as_events: bool) -> Response:
    """The answer in chunks: texts in pieces, each function call in one; the last chunk says why the model stopped."""
    chunks: list[JsonObject] = []
    for choice in _choices(completion):
        pieces = [piece for part in parts_of(completion, choice) for piece in _part_in_pieces(part, piece_characters)]
        for piece in pieces[:-1]:
            content = {"parts": [piece], "role": "model"}
            chunks.append({"candidates": [{"content": content, "index": choice}], **_answer_fields(completion)})
        last = _candidate(completion, choice, pieces[-1:])
        chunks.append({"candidates": [last], **_answer_fields(completion)})
    if not as_events:
        return Response(200, [orjson.dumps(chunks)])
    return Response(200, [server_sent_event(chunk) for chunk in chunks], EVENTS_TYPE)


def parts_of(completion: Completion, choice: int) -> list[JsonObject]:
    """Returns the message as parts: thinking, text, function calls. The part after the thinking has its signature.
    Empty if a call's arguments are not a JSON object."""
    message = completion.messages[choice]
    parts: list[JsonObject] = []
    if text := text_of(message):
        parts.append({"text": text})
    for call in calls_of(message):
        arguments = _json_arguments(call)
        if arguments is None:
            return []
        about = {"id": call["id"]} if call.get("id") else {}
        parts.append({"functionCall": {**about, "name": call["function"].get("name"), "args": arguments}})
    if thought := message.get("reasoning_content"):
        if parts:
            parts[0]["thoughtSignature"] = signature(thought)
        parts.insert(0, {"text": thought, "thought": True})
    return parts


def signature(thought: str) -> str:
    """Returns bytes that depend on the thinking only, in standard base64, as the API does."""
    return base64.b64encode(hashlib.shake_128(thought.encode("utf-8", "surrogatepass")).digest(48)).decode()


def _choices(completion: Completion) -> range:
    return range(len(completion.messages))


def _candidate(completion: Completion, choice: int, parts: Sequence[JsonObject]) -> JsonObject:
    reason = completion.finish_reasons[choice]
    malformed = next((call for call in calls_of(completion.messages[choice]) if _json_arguments(call) is None), None)
    candidate: JsonObject = {
        "content": {"parts": list(parts), "role": "model"} if parts else {"role": "model"},
        "finishReason": _MALFORMED if malformed else _FINISH_REASONS.get(reason, reason.upper()),
        "index": choice,
    }
    if malformed:
        candidate["finishMessage"] = f"Malformed function call: {malformed['function'].get('arguments')}"
    return candidate


def _json_arguments(call: JsonObject) -> JsonObject | None:
    """Returns the call's arguments; None if they are not a JSON object, since this API can send nothing else."""
    try:
        value: object = orjson.loads(call["function"].get("arguments") or "{}")
    except orjson.JSONDecodeError:
        return None
    return value if is_object(value) else None


def _part_in_pieces(part: JsonObject, characters: int) -> list[JsonObject]:
    """Splits a text part into pieces; its signature comes in a last, empty piece. Returns other parts whole."""
    if not isinstance(part.get("text"), str):
        return [part]
    about = {key: value for key, value in part.items() if key not in ("text", "thoughtSignature")}
    pieces: list[JsonObject] = [{"text": piece, **about} for piece in in_pieces(part["text"], characters)]
    if "thoughtSignature" in part:
        pieces.append({"text": "", "thoughtSignature": part["thoughtSignature"]})
    return pieces


def _answer_fields(completion: Completion) -> JsonObject:
    return {
        "usageMetadata": _usage_metadata(completion.usage),
        "modelVersion": completion.model,
        "responseId": completion.number,
    }


def _usage_metadata(usage: EstimatedUsage) -> JsonObject:
    counts: JsonObject = {
        "promptTokenCount": usage.input,
        "candidatesTokenCount": usage.output - usage.reasoning,
        "totalTokenCount": usage.input + usage.output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": usage.input}],
    }
    if usage.cached:
        counts |= {
            "cachedContentTokenCount": usage.cached,
            "cacheTokensDetails": [{"modality": "TEXT", "tokenCount": usage.cached}],
        }
    return counts | ({"thoughtsTokenCount": usage.reasoning} if usage.reasoning else {})


# --- errors, and the API key ------------------------------------------------------------------------------------------

_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_TYPE_PREFIX = "type.googleapis.com/google.rpc."


def error_response(failed: Failed, param: str | None = None) -> Response:
    """The failure as a `google.rpc.Status`; `param` is the request's field at fault."""
    details: list[JsonObject] = []
    if failed.code is not None:
        info = {"@type": f"{_TYPE_PREFIX}ErrorInfo", "reason": failed.code.upper(), "domain": "googleapis.com"}
        details.append(info)
    if param is not None:
        violation = {"field": param, "description": failed.message}
        details.append({"@type": f"{_TYPE_PREFIX}BadRequest", "fieldViolations": [violation]})
    if (milliseconds := failed.headers.get("retry-after-ms")) is not None:
        details.append({"@type": f"{_TYPE_PREFIX}RetryInfo", "retryDelay": f"{int(milliseconds) / 1000:g}s"})
    error: JsonObject = {
        "code": failed.status,
        "message": failed.message,
        "status": _STATUSES.get(failed.status, "INTERNAL" if failed.status >= 500 else "UNKNOWN"),
    }
    return json_response({"error": {**error, "details": details} if details else error}, failed.status, failed.headers)


def api_key(incoming: Incoming) -> str | None:
    """Returns the API key in a request's header or query; for Vertex AI, the bearer token."""
    key = incoming.headers.get("x-goog-api-key") or incoming.query.get("key")
    return key or bearer_token(incoming.headers)


# --- the protocol -----------------------------------------------------------------------------------------------------

_METHODS = {"generateContent": False, "streamGenerateContent": True}


class Gemini:
    """Implements `ModelProtocol`."""

    def takes(self, path: str) -> bool:
        return method_of(path) in _METHODS

    def api_key(self, incoming: Incoming) -> str | None:
        return api_key(incoming)

    def read(self, number: int, incoming: Incoming) -> GeminiRequest:
        body = read_gemini_body(incoming.body)
        is_streamed = _METHODS[method_of(incoming.path)]
        as_events = incoming.query.get("alt") == "sse"
        return GeminiRequest(number, body, incoming.headers, model_of(incoming.path), is_streamed, as_events)

    def render(self, completion: Completion, request: ChatRequest, piece_characters: int) -> Response:
        assert isinstance(request, GeminiRequest)  # noqa: S101 - made by `read`
        if not request.stream:
            return whole(completion)
        return streamed(completion, piece_characters, as_events=request.as_events)

    def fail(self, failed: Failed, param: str | None = None) -> Response:
        return error_response(failed, param)

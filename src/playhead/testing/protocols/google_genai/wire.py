"""completion → [wire] → http_response.  Gemini's answers on the wire: JSON bodies and server-sent events.  Pure."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

import orjson

from playhead.testing.completion import Completion, EstimatedUsage
from playhead.testing.http_response import EVENTS_TYPE, Response, in_pieces, json_response, server_sent_event
from playhead.testing.request import JsonObject, calls_of, text_of

_FINISH_REASONS = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
_MALFORMED = "MALFORMED_FUNCTION_CALL"


def whole(completion: Completion) -> Response:
    """The answer as one JSON body."""
    candidates = [_candidate(completion, choice, parts_of(completion, choice)) for choice in _choices(completion)]
    return json_response({"candidates": candidates, **_about(completion)})


def streamed(completion: Completion, piece_characters: int, *, as_events: bool) -> Response:
    """The answer in chunks: texts in pieces, each function call in one; the last chunk says why the model stopped."""
    chunks: list[JsonObject] = []
    for choice in _choices(completion):
        pieces = [piece for part in parts_of(completion, choice) for piece in _cut(part, piece_characters)]
        for piece in pieces[:-1]:
            content = {"parts": [piece], "role": "model"}
            chunks.append({"candidates": [{"content": content, "index": choice}], **_about(completion)})
        last = _candidate(completion, choice, pieces[-1:])
        chunks.append({"candidates": [last], **_about(completion)})
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
        arguments = _arguments(call)
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
    malformed = next((call for call in calls_of(completion.messages[choice]) if _arguments(call) is None), None)
    candidate: JsonObject = {
        "content": {"parts": list(parts), "role": "model"} if parts else {"role": "model"},
        "finishReason": _MALFORMED if malformed else _FINISH_REASONS.get(reason, reason.upper()),
        "index": choice,
    }
    if malformed:
        candidate["finishMessage"] = f"Malformed function call: {malformed['function'].get('arguments')}"
    return candidate


def _arguments(call: JsonObject) -> JsonObject | None:
    """Returns the call's arguments; None if they are not a JSON object, since this API can send nothing else."""
    try:
        value: object = orjson.loads(call["function"].get("arguments") or "{}")
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType] - JSON it is


def _cut(part: JsonObject, characters: int) -> list[JsonObject]:
    """Splits a text part into pieces; its signature comes in a last, empty piece. Returns other parts whole."""
    if not isinstance(part.get("text"), str):
        return [part]
    about = {key: value for key, value in part.items() if key not in ("text", "thoughtSignature")}
    pieces: list[JsonObject] = [{"text": piece, **about} for piece in in_pieces(part["text"], characters)]
    if "thoughtSignature" in part:
        pieces.append({"text": "", "thoughtSignature": part["thoughtSignature"]})
    return pieces


def _about(completion: Completion) -> JsonObject:
    return {
        "usageMetadata": _usage(completion.usage),
        "modelVersion": completion.model,
        "responseId": completion.number,
    }


def _usage(usage: EstimatedUsage) -> JsonObject:
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

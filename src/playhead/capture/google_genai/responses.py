"""Reads answers of Gemini's API, streamed or not. Changes nothing."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from playhead.capture.model_values import ModelResponse
from playhead.dialect import google_genai as dialect
from playhead.model import names
from playhead.model.canonical import parse_json

# Gemini's reason → the reason's name in Chat Completions; others are kept.
_FINISH_REASONS = {"STOP": "stop", "MAX_TOKENS": "length"}
_FILTERED = frozenset({
    "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY", "IMAGE_RECITATION",
    "IMAGE_PROHIBITED_CONTENT",
})  # fmt: skip
_AUDIO = {
    names.AUDIO_INPUT_TOKENS: "promptTokensDetails",
    names.AUDIO_OUTPUT_TOKENS: "candidatesTokensDetails",
}
_TOOL_CALLS = "tool_calls"
_CONTENT_FILTER = "content_filter"


def json_of(answer: Any) -> dict[str, Any] | None:
    """Returns the JSON that the client received: the body of an HTTP response, or in older versions the JSON itself;
    None for any other value."""
    value: Any = answer
    if not isinstance(answer, dict):
        body = getattr(answer, "body", None)
        value = parse_json(body) if isinstance(body, str | bytes) and body else None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def read_response(answer: Any) -> ModelResponse | None:
    """Reads an answer that is not streamed; None for anything else."""
    raw = json_of(answer)
    return None if raw is None else _response(raw, raw)


def asks_for_functions(chunk: Any) -> bool:
    """Whether a chunk may request a function call."""
    body: Any = getattr(chunk, "body", None)
    return "functionCall" in (body if isinstance(body, str) else repr(chunk))


def assemble(chunks: Sequence[Any]) -> ModelResponse | None:
    """Reads the chunks of a stream; None if there are none."""
    read = [raw for chunk in chunks if (raw := json_of(chunk)) is not None]
    return _response(whole_response(read), {"stream": read}) if read else None


def read_recorded(raw: dict[str, Any]) -> ModelResponse:
    """Reads a recorded response, streamed or not."""
    return _response(whole_response(raw["stream"]) if "stream" in raw else raw, raw)


def whole_response(chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the response in its unstreamed form, as far as it was received."""
    whole: dict[str, Any] = {}
    candidates: dict[int, dict[str, Any]] = {}
    contents: dict[int, list[Any]] = {}
    for chunk in chunks:
        whole |= {key: value for key, value in chunk.items() if key not in ("candidates", "usageMetadata")}
        if isinstance(chunk.get("usageMetadata"), dict):
            whole["usageMetadata"] = {**whole.get("usageMetadata", {}), **chunk["usageMetadata"]}
        for candidate in _objects(chunk.get("candidates")):
            index = candidate.get("index") or 0
            about = {key: value for key, value in candidate.items() if key != "content"}
            candidates[index] = {**candidates.get(index, {}), **about}
            if _parts(candidate):
                contents.setdefault(index, []).append({"role": "model", "parts": _parts(candidate)})
    for index, turns in contents.items():
        candidates[index]["content"] = dialect.joined_turn(turns)
    return {**whole, "candidates": [candidates[index] for index in sorted(candidates)]}


def _response(response: Mapping[str, Any], raw: dict[str, Any]) -> ModelResponse:
    candidates = _objects(response.get("candidates"))
    read = [dialect.output_message(candidate["content"]) for candidate in candidates if _parts(candidate)]
    reasonings = [reasoning for _, reasoning in read if reasoning is not None]
    attributes: dict[str, Any] = usage_of(response.get("usageMetadata"))
    attributes[names.FINISH_REASONS] = _finish_reasons(response, candidates)
    for key, name in (("responseId", names.RESPONSE_ID), ("modelVersion", names.RESPONSE_MODEL)):
        if response.get(key):
            attributes[name] = response[key]
    reasoning = reasonings[0] if len(reasonings) == 1 else reasonings or None
    arguments = [_called(part).get("args") for candidate in candidates for part in _parts(candidate)]
    return ModelResponse(
        [message for message, _ in read], raw, reasoning, attributes, ordered=[value for value in arguments if value]
    )


def usage_of(usage: Any) -> dict[str, Any]:
    """Returns attributes with the token counts.  In the conventions, input includes cached tokens, and output includes
    reasoning; Gemini counts reasoning, and the tokens that its own tools add to the prompt, separately."""
    counts = cast("dict[str, Any]", usage) if isinstance(usage, dict) else {}
    sums = {
        names.INPUT_TOKENS: ("promptTokenCount", "toolUsePromptTokenCount"),
        names.OUTPUT_TOKENS: ("candidatesTokenCount", "thoughtsTokenCount"),
        names.CACHE_READ_TOKENS: ("cachedContentTokenCount",),
        names.REASONING_TOKENS: ("thoughtsTokenCount",),
    }
    attributes: dict[str, Any] = {}
    for name, keys in sums.items():
        numbers = [counts[key] for key in keys if isinstance(counts.get(key), int)]
        if numbers:  # absent is not zero
            attributes[name] = sum(numbers)
    for name, key in _AUDIO.items():
        for detail in _objects(counts.get(key)):
            if detail.get("modality") == "AUDIO" and isinstance(detail.get("tokenCount"), int):
                attributes[name] = attributes.get(name, 0) + detail["tokenCount"]
    return attributes


def _finish_reasons(response: Mapping[str, Any], candidates: Sequence[Mapping[str, Any]]) -> list[str]:
    feedback = response.get("promptFeedback")
    if not candidates and isinstance(feedback, dict) and cast("dict[str, Any]", feedback).get("blockReason"):
        return [_CONTENT_FILTER]
    return [_finish_reason(candidate) for candidate in candidates]


def _finish_reason(candidate: Mapping[str, Any]) -> str:
    reason = str(candidate.get("finishReason") or "")
    if reason in _FILTERED:
        return _CONTENT_FILTER
    if reason == "STOP" and any(_called(part) for part in _parts(candidate)):
        return _TOOL_CALLS
    return _FINISH_REASONS.get(reason, reason.lower())


def _parts(candidate: Mapping[str, Any]) -> list[Any]:
    content = candidate.get("content")
    parts = cast("dict[str, Any]", content).get("parts") if isinstance(content, dict) else None
    return cast("list[Any]", parts) if isinstance(parts, list) else []


def _called(part: Any) -> dict[str, Any]:
    call = cast("dict[str, Any]", part).get("functionCall") if isinstance(part, dict) else None
    return cast("dict[str, Any]", call) if isinstance(call, dict) else {}


def _objects(values: Any) -> list[dict[str, Any]]:
    listed = cast("list[Any]", values) if isinstance(values, list) else []
    return [cast("dict[str, Any]", value) for value in listed if isinstance(value, dict)]

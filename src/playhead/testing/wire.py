"""answers → [wire] → listener.  OpenAI Chat Completions on the wire: JSON bodies and server-sent events.  Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from playhead.testing.answers import Failed, Recorded, Said
from playhead.testing.request import ChatRequest, JsonObject, calls_of, text_of, tokens_in

JSON_TYPE = "application/json"
EVENTS_TYPE = "text/event-stream; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP response as a value: what to send, when to start, and where to break off.

    `parts` are sent one by one. With `cut_after` the connection ends after that many of them: 0 sends nothing at all.
    """

    status: int
    parts: Sequence[bytes]
    content_type: str = JSON_TYPE
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    wait_seconds: float = 0
    cut_after: int | None = None

    @property
    def streamed(self) -> bool:
        return self.content_type == EVENTS_TYPE


@dataclass(frozen=True, slots=True)
class Completion:
    """Everything a response says. There is one message for each choice that the request asked for (`n`)."""

    id: str
    created: int
    model: str
    messages: Sequence[JsonObject]
    finish_reasons: Sequence[str]
    usage: JsonObject

    @classmethod
    def of(cls, answer: Said | Recorded, request: ChatRequest, *, created: int, cached_tokens: int) -> Completion:
        # The number tells equal requests apart; the digest tells requests of different servers apart.
        id_ = f"chatcmpl-{request.number:06d}{request.prefixes[-1][0].hex()[:20]}"
        messages = [message_of(answer, f"{id_}/{choice}") for choice in range(request.choices)]
        said = answer.finish_reason if isinstance(answer, Said) else None
        reasons = [said or finish_reason_of(message) for message in messages]
        return cls(id_, created, request.model, messages, reasons, usage_of(request, messages, cached_tokens))


def message_of(answer: Said | Recorded, seed: str) -> JsonObject:
    """The assistant message. Calls that were given no id get one from `seed` and their place."""
    if isinstance(answer, Recorded):
        return answer.message
    message: JsonObject = {"role": "assistant", "content": answer.text}
    if answer.thinking is not None:
        message["reasoning_content"] = answer.thinking
    if answer.tool_calls:
        message["tool_calls"] = [
            {
                "id": call.id or f"call_{hashlib.blake2b(f'{seed}/{place}'.encode(), digest_size=12).hexdigest()}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for place, call in enumerate(answer.tool_calls)
        ]
    return message


def finish_reason_of(message: JsonObject) -> str:
    """Why the model stopped, as far as the message itself tells."""
    if message.get("tool_calls"):
        return "tool_calls"
    return "function_call" if message.get("function_call") else "stop"


def usage_of(request: ChatRequest, messages: Sequence[JsonObject], cached_tokens: int) -> JsonObject:
    """Estimates, four UTF-8 bytes a token. The answer's are its text, reasoning, and tool names and arguments."""
    reasoning = sum(tokens_in(_bytes_in(message.get("reasoning_content"))) for message in messages)
    spoken = sum(tokens_in(_bytes_in(text_of(message)) + _bytes_in_calls(message)) for message in messages)
    return {
        "prompt_tokens": request.prompt_tokens,
        "completion_tokens": reasoning + spoken,
        "total_tokens": request.prompt_tokens + reasoning + spoken,
        "prompt_tokens_details": {"cached_tokens": cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }


def whole(completion: Completion) -> Response:
    """The completion as one JSON body."""
    choices = [
        {"index": index, "message": message, "logprobs": None, "finish_reason": reason}
        for index, (message, reason) in enumerate(zip(completion.messages, completion.finish_reasons, strict=True))
    ]
    head = _head(completion, "chat.completion")
    return Response(200, [orjson.dumps({**head, "choices": choices, "usage": completion.usage})])


def streamed(completion: Completion, *, include_usage: bool, piece_characters: int) -> Response:
    """The completion as server-sent events: a role, pieces, a finish reason, usage if wanted, and `[DONE]`."""
    # OpenAI sends `usage: null` on every chunk before the one that has it, and no key at all when nobody asked.
    head = _head(completion, "chat.completion.chunk") | ({"usage": None} if include_usage else {})
    events: list[bytes] = []
    for index, (message, reason) in enumerate(zip(completion.messages, completion.finish_reasons, strict=True)):
        pieces = deltas(message, piece_characters)
        events += [_event({**head, "choices": [_chunk_choice(index, piece, None)]}) for piece in pieces]
        events.append(_event({**head, "choices": [_chunk_choice(index, {}, reason)]}))
    if include_usage:
        events.append(_event({**head, "choices": [], "usage": completion.usage}))
    return Response(200, [*events, b"data: [DONE]\n\n"], EVENTS_TYPE)


def deltas(message: JsonObject, piece_characters: int) -> Iterator[JsonObject]:
    """What a client that adds up the deltas gets is the message, null content and unknown keys included."""
    text, thinking, call = text_of(message), message.get("reasoning_content"), message.get("function_call")
    first = {key: value for key, value in message.items() if key not in _IN_PIECES}
    if "content" in message:
        first["content"] = None if message["content"] is None else ""
    yield first
    for piece in _pieces(thinking, piece_characters):
        yield {"reasoning_content": piece}
    for piece in _pieces(text, piece_characters):
        yield {"content": piece}
    calls: list[JsonObject] = message.get("tool_calls") or []
    for index, made in enumerate(calls):
        for place, function in enumerate(_call_deltas(made.get("function"), piece_characters)):
            rest = made if place == 0 else {}
            yield {"tool_calls": [{**rest, "index": index, **({"function": function} if function else {})}]}
    if call:
        yield from ({"function_call": function} for function in _call_deltas(call, piece_characters))


def cut(response: Response, after_chunks: int) -> Response:
    """The response, broken off after so many chunks, and always before its end. 0 is before its beginning."""
    if response.streamed:
        return replace(response, cut_after=min(after_chunks, len(response.parts) - 1))
    text = b"".join(response.parts)
    halves = [text[: len(text) // 2], text[len(text) // 2 :]]
    return replace(response, parts=halves, cut_after=min(after_chunks, 1))


def error(failed: Failed, param: str | None = None) -> Response:
    """The failure as OpenAI's error object; `param` is the request's field at fault."""
    body = {"message": failed.message, "type": failed.type, "param": param, "code": failed.code}
    return Response(failed.status, [orjson.dumps({"error": body})], headers=failed.headers)


def refusal(status: int, sentence: str, code: str, param: str | None = None) -> Response:
    """An error of the request or of the test itself. Says so that no client tries it again, whatever the status."""
    return error(Failed(status, sentence, "invalid_request_error", code, {"x-should-retry": "false"}), param)


def body(value: JsonObject) -> Response:
    """A plain JSON answer, for whatever is not a completion."""
    return Response(200, [orjson.dumps(value)])


_IN_PIECES = {"content", "reasoning_content", "tool_calls", "function_call"}


def _head(completion: Completion, kind: str) -> JsonObject:
    head = {"id": completion.id, "object": kind, "created": completion.created, "model": completion.model}
    return {**head, "system_fingerprint": "fp_playhead_mock"}


def _chunk_choice(index: int, delta: JsonObject, finish_reason: str | None) -> JsonObject:
    return {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _call_deltas(function: JsonObject | None, piece_characters: int) -> Iterator[JsonObject]:
    """The call without its arguments, then the arguments in pieces; arguments that are no text go out whole."""
    arguments: Any = (function or {}).get("arguments")
    if not function or not isinstance(arguments, str):
        yield function or {}
        return
    yield {**function, "arguments": ""}
    for piece in _pieces(arguments, piece_characters):
        yield {"arguments": piece}


def _event(chunk: JsonObject) -> bytes:
    return b"data: " + orjson.dumps(chunk) + b"\n\n"


def _pieces(text: object, characters: int) -> Iterator[str]:
    if isinstance(text, str):
        for start in range(0, len(text), characters):
            yield text[start : start + characters]


def _bytes_in(text: object) -> int:
    return len(text.encode()) if isinstance(text, str) else 0


def _bytes_in_calls(message: JsonObject) -> int:
    functions: list[JsonObject] = [call.get("function") or {} for call in calls_of(message)]
    return sum(_bytes_in(function.get("name")) + _bytes_in(function.get("arguments")) for function in functions)

"""answers → [completion] → protocols. The model's answer to one request, before a provider's protocol formats it.

Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from playhead.testing.answers import AssistantMessage, Recorded
from playhead.testing.request import ChatRequest, JsonObject, calls_of, text_of, tokens_in


@dataclass(frozen=True, slots=True)
class EstimatedUsage:
    """Estimated tokens, four UTF-8 bytes each. `output` counts the answer's text, its tool calls and its `reasoning`;
    `input` includes the `cached` tokens."""

    input: int
    cached: int
    output: int
    reasoning: int


@dataclass(frozen=True, slots=True)
class Completion:
    """The content of a response, with one message for each choice that the request asked for.

    `number` is unique and hexadecimal: ids are made from it. `created` is in Unix seconds. The messages and finish
    reasons are in the form of Chat Completions, which other protocols translate.
    """

    number: str
    created: int
    model: str
    messages: Sequence[JsonObject]
    finish_reasons: Sequence[str]
    usage: EstimatedUsage

    @classmethod
    def of(
        cls,
        answer: AssistantMessage | Recorded,
        request: ChatRequest,
        *,
        created: int,
        cached_tokens: int,
        thinks: bool,
    ) -> Completion:
        """Makes the completion for a request from a scripted answer. `thinks` False: without its thinking."""
        # The number tells equal requests apart; the digest tells requests of different servers apart.
        number = f"{request.number:06d}{request.prefixes[-1][0].hex()[:20]}"
        messages = [message_of(answer, f"chatcmpl-{number}/{choice}") for choice in range(request.choices)]
        if not thinks:
            messages = [_without_thinking(message) for message in messages]
        finish_reason = answer.finish_reason if isinstance(answer, AssistantMessage) else None
        reasons = [finish_reason or finish_reason_of(message) for message in messages]
        return cls(number, created, request.model, messages, reasons, usage_of(request, messages, cached_tokens))


def message_of(answer: AssistantMessage | Recorded, seed: str) -> JsonObject:
    """Returns the assistant message. Calls without an id get one that is made from `seed` and their position."""
    if isinstance(answer, Recorded):
        return answer.message
    message: JsonObject = {"role": "assistant", "content": answer.text}
    if answer.thinking is not None:
        message["reasoning_content"] = answer.thinking
    if answer.tool_calls:
        message["tool_calls"] = [
            {
                "id": call.id or f"call_{hashlib.blake2b(f'{seed}/{position}'.encode(), digest_size=12).hexdigest()}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for position, call in enumerate(answer.tool_calls)
        ]
    return message


def finish_reason_of(message: JsonObject) -> str:
    """Derives the finish reason from the message."""
    if message.get("tool_calls"):
        return "tool_calls"
    return "function_call" if message.get("function_call") else "stop"


def usage_of(request: ChatRequest, messages: Sequence[JsonObject], cached_tokens: int) -> EstimatedUsage:
    """Estimates the tokens of the request, and of the answer's text, reasoning, tool names and arguments."""
    reasoning = sum(tokens_in(_bytes_in(message.get("reasoning_content"))) for message in messages)
    spoken = sum(tokens_in(_bytes_in(text_of(message)) + _bytes_in_calls(message)) for message in messages)
    return EstimatedUsage(request.prompt_tokens, cached_tokens, reasoning + spoken, reasoning)


def _without_thinking(message: JsonObject) -> JsonObject:
    return {key: value for key, value in message.items() if key != "reasoning_content"}


def _bytes_in(text: object) -> int:
    return len(text.encode()) if isinstance(text, str) else 0


def _bytes_in_calls(message: JsonObject) -> int:
    functions: list[JsonObject] = [call.get("function") or {} for call in calls_of(message)]
    return sum(_bytes_in(function.get("name")) + _bytes_in(function.get("arguments")) for function in functions)

"""rules → [answers] → wire. Answers of the mock model, and its failures. Values only.

Parts of a message are joined with `+`: `thinking("...") + text("...") + tool_call("lookup", {...})` is one message. In
whatever order they are joined, they are sent in a model's order: thinking, then text, then tool calls.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import orjson

from playhead.testing.request import ChatRequest, JsonObject


@dataclass(frozen=True, slots=True)
class RequestedToolCall:
    """A tool call that the model requests. `arguments` is a text, since a model may write arguments that are not
    JSON."""

    name: str
    arguments: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """An assistant message. A part that it does not have is None."""

    text: str | None = None
    thinking: str | None = None
    tool_calls: tuple[RequestedToolCall, ...] = ()
    finish_reason: str | None = None

    def __add__(self, other: AssistantMessage) -> AssistantMessage:
        return AssistantMessage(
            _joined(self.text, other.text),
            _joined(self.thinking, other.thinking),
            self.tool_calls + other.tool_calls,
            other.finish_reason or self.finish_reason,
        )


@dataclass(frozen=True, slots=True)
class Recorded:
    """An assistant message exactly as it was recorded, including unknown keys."""

    message: JsonObject


@dataclass(frozen=True, slots=True)
class Failed:
    """An HTTP error in OpenAI's form."""

    status: int
    message: str
    type: str
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Delayed:
    """An answer that is sent after a delay. Closing the server ends the wait and the connection."""

    seconds: float
    answer: Answer


@dataclass(frozen=True, slots=True)
class Dropped:
    """A connection that breaks: at once without an answer, else after `after_chunks` chunks of the answer."""

    answer: AssistantMessage | None = None
    after_chunks: int = 0


Answer = AssistantMessage | Recorded | Failed | Delayed | Dropped

# An answer, or a function that makes it from the request.
Answering = Answer | Callable[[ChatRequest], Answer]


def text(content: str, *, finish_reason: str | None = None) -> AssistantMessage:
    """Makes an answer with this text. `finish_reason` replaces "stop", for example by "length" or "content_filter"."""
    return AssistantMessage(text=content, finish_reason=finish_reason)


def thinking(content: str) -> AssistantMessage:
    """Makes an answer with this reasoning; Chat Completions has it as `reasoning_content`, as OpenAI-compatible servers
    do."""
    return AssistantMessage(thinking=content)


def tool_call(
    name: str, arguments: Mapping[str, object] | None = None, *, call_id: str | None = None
) -> AssistantMessage:
    """Makes an answer that requests a tool. Without a `call_id`, the id is made from the request, its number and the
    position of the call."""
    return AssistantMessage(tool_calls=(RequestedToolCall(name, _as_json(dict(arguments or {})), call_id),))


def tool_calls(*calls: AssistantMessage) -> AssistantMessage:
    """Makes an answer that requests several tools at once: `tool_calls(tool_call("a"), tool_call("b"))`."""
    return sum(calls, AssistantMessage())


def malformed_tool_call(
    name: str, arguments: str = '{"order": "A1", ', *, call_id: str | None = None
) -> AssistantMessage:
    """Makes an answer that requests a tool with arguments that are not JSON."""
    return AssistantMessage(tool_calls=(RequestedToolCall(name, arguments, call_id),))


def rate_limit(retry_after: float = 1, *, message: str = "Rate limit reached for requests.") -> Failed:
    """Makes an error 429. `Retry-After` is in whole seconds, `retry-after-ms` is exact; OpenAI sends both.

    With `retry_after=0` the milliseconds are 1, because clients take 0 for "absent" and wait for their own default
    time.
    """
    headers = {"retry-after": str(math.ceil(retry_after)), "retry-after-ms": str(max(1, round(retry_after * 1000)))}
    return Failed(429, message, "requests", "rate_limit_exceeded", headers)


def context_too_long(max_tokens: int = 128_000, *, message: str | None = None) -> Failed:
    """Makes an error 400 with code `context_length_exceeded`."""
    sentence = message or (
        f"This model's maximum context length is {max_tokens} tokens. However, your messages resulted in more. "
        "Please reduce the length of the messages."
    )
    return Failed(400, sentence, "invalid_request_error", "context_length_exceeded")


def server_error(status: int = 500, *, message: str = "The server had an error while processing it.") -> Failed:
    """Makes an error 500, 503 or another 5xx; clients retry these. Raises ValueError for another status."""
    if not 500 <= status <= 599:
        raise ValueError(f"server_error({status}): a server error has a status from 500 to 599")
    return Failed(status, message, "server_error")


def delay(seconds: float, then: Answer) -> Delayed:
    """Makes an answer that is sent after this delay. Delays in delays add up."""
    return Delayed(seconds, then)


def dropped_connection(answer: AssistantMessage | None = None, *, after_chunks: int = 0) -> Dropped:
    """Makes an answer that breaks the connection: before the response, or after so many chunks of a streamed answer.

    An answer that is not streamed breaks in the middle of its body. Raises ValueError for chunks without an answer.
    """
    if after_chunks < 0 or (after_chunks > 0 and answer is None):
        raise ValueError("dropped_connection: to break after some chunks, say which answer they are chunks of")
    return Dropped(answer, after_chunks)


def _as_json(arguments: dict[str, object]) -> str:
    try:
        return orjson.dumps(arguments).decode()
    except TypeError:  # integers of more than 64 bits, lone surrogates
        return json.dumps(arguments, separators=(",", ":"))


def _joined(first: str | None, second: str | None) -> str | None:
    return second if first is None else first if second is None else first + second

"""The protocol of a model, its request and its response. Messages are in canonical form (`playhead.model.message`)."""

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from playhead.api.scope import propagate_to_thread
from playhead.errors import PlayheadError
from playhead.model.event import TokenUsage
from playhead.model.json_value import Json, JsonMapping, JsonValue
from playhead.model.message import Message, message_text, text_message

StopReason = Literal["end_turn", "tool_use", "max_tokens", "stop_sequence"]
"""Why an answer ended: the model was done, it asks for tools, it reached `max_tokens`, or it wrote a stop sequence."""


class ModelUnavailable(PlayheadError):
    """A model cannot be asked: its client is not installed, or no client is known for its name."""


@dataclass(frozen=True, slots=True)
class ModelTool:
    """A tool that a model may ask for. `parameters`: JSON schema of its arguments, an object."""

    name: str
    description: str
    parameters: JsonMapping


@dataclass(frozen=True, slots=True)
class ToolCallRequest:
    """A tool call that a model asks for. `arguments`: the object that the model gave; where it gave none, its text or
    another value."""

    id: str
    name: str
    arguments: JsonValue


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a model is asked.

    `messages` may begin with messages of the system; `system` stands before these. `model`: another model of the same
    provider than the object's own. `tools`: those that it may ask for. `output`: JSON schema of the answer; models
    that cannot be held to one get it as an instruction. `thinking`: whether it shall think first, where it can.
    `max_tokens`: of the answer; None: the provider's default (Anthropic's API needs a number: 4,096, with thinking
    16,384)."""

    messages: Sequence[Message]
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    system: str | None = None
    model: str | None = None
    tools: Sequence[ModelTool] = ()
    output: JsonMapping | None = None
    thinking: bool = False

    @property
    def thread(self) -> list[Message]:
        """The messages with the system prompt in front, if there is one."""
        first = [] if self.system is None else [text_message("system", self.system)]
        return [*first, *self.messages]


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """A model's answer. `usage`: tokens as the provider reported them; None in it: not reported. `stop_reason`: None
    where the provider's word (`provider_stop_reason`) is none of the four, e.g. `content_filter`, or unknown.
    `provider`: whose form thoughts in `message` have: they are sent back to no other. `thoughts`: reasoning that the
    provider gives beside the message and does not want back."""

    message: Message
    model: str
    usage: TokenUsage = field(default_factory=TokenUsage)
    stop_reason: StopReason | None = None
    provider_stop_reason: str | None = None
    provider: str = ""
    thoughts: str = ""

    @property
    def text(self) -> str:
        """The text of the answer, without reasoning."""
        return self._texts("text")

    @property
    def reasoning(self) -> str:
        """The readable reasoning; an empty text if there is none."""
        return self._texts("reasoning") or self.thoughts

    @property
    def done(self) -> bool:
        """Whether the model asks for no tools."""
        return not self.tool_calls

    @property
    def tool_calls(self) -> list[ToolCallRequest]:
        """The tool calls that the model asks for, in its order."""
        parts = [part for part in self.message["parts"] if part.get("type") == "tool_call" and part.get("name")]
        return [ToolCallRequest(str(part.get("id") or ""), str(part["name"]), part.get("arguments")) for part in parts]

    def _texts(self, kind: str) -> str:
        parts = [part for part in self.message["parts"] if part.get("type") == kind and part.get("content")]
        return message_text({"role": self.message["role"], "parts": parts})


@dataclass(frozen=True, slots=True)
class ModelChunk:
    """A piece of a streamed answer: a text, a text of reasoning, or as the last chunk of all the whole `response`."""

    text: str = ""
    reasoning: str = ""
    response: ModelResponse | None = None


class Model(Protocol):
    """A model that can be asked. Classes that inherit from it need `name` and `complete`; the rest follows from these.

    All methods raise what the client raises; `failure_of` says what an error means. Called from any thread.
    """

    @property
    def name(self) -> str:
        """Its name, as the provider has it."""
        ...

    @property
    def provider(self) -> str:
        """Whose form thoughts in its answers have; see `ModelResponse.provider`. An empty text: nobody's."""
        return ""

    @property
    def supports_thinking(self) -> bool:
        """Whether `ModelRequest.thinking` has an effect."""
        return False

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Returns the answer."""
        ...

    def stream(self, request: ModelRequest) -> Iterator[ModelChunk]:
        """Yields the answer in pieces; the last chunk has the whole response."""
        yield from chunks_of(self.complete(request))

    async def complete_async(self, request: ModelRequest) -> ModelResponse:
        """Returns the answer without blocking the event loop. Here: `complete` in a thread."""
        return await asyncio.to_thread(propagate_to_thread(self.complete), request)

    async def stream_async(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Yields the answer in pieces without blocking the event loop: `stream` in threads."""
        chunks = self.stream(request)
        try:
            while (chunk := await asyncio.to_thread(propagate_to_thread(_next), chunks)) is not None:
                yield chunk
        finally:
            if isinstance(chunks, Generator):  # the reader stopped early
                chunks.close()


def _next(chunks: Iterator[ModelChunk]) -> ModelChunk | None:
    return next(chunks, None)


def chunks_of(response: ModelResponse) -> Iterator[ModelChunk]:
    """Yields a whole answer as chunks."""
    if response.reasoning:
        yield ModelChunk(reasoning=response.reasoning)
    if response.text:
        yield ModelChunk(text=response.text)
    yield ModelChunk(response=response)


def portable(message: Message) -> Message:
    """Returns an answer as any provider takes it: without thoughts, and without what only its own provider knows."""
    parts = [
        {key: value for key, value in part.items() if key != "extra"}
        for part in message["parts"]
        if part.get("type") in _PORTABLE
    ]
    return {"role": message["role"], "parts": parts}


_PORTABLE = frozenset({"text", "tool_call", "tool_call_response", "blob", "uri"})

# What providers call the end of an answer → ours. Where tools are asked for, it is always `tool_use`.
_STOP_REASONS: dict[str, StopReason] = {
    "stop": "end_turn",
    "end_turn": "end_turn",
    "completed": "end_turn",
    "tool_calls": "tool_use",
    "tool_use": "tool_use",
    "function_call": "tool_use",
    "tool_call": "tool_use",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "stop_sequence": "stop_sequence",
}


def stop_reason_of(provider_reason: str | None, message: Message) -> StopReason | None:
    """Returns our word for the end of an answer; None: unknown, or another reason."""
    if any(part.get("type") == "tool_call" for part in message["parts"]):
        return "max_tokens" if _plain(provider_reason) == "max_tokens" else "tool_use"
    return _plain(provider_reason)


def _plain(provider_reason: str | None) -> StopReason | None:
    return None if provider_reason is None else _STOP_REASONS.get(provider_reason.lower())


def tool_json(tool: ModelTool) -> Json:
    """Returns a tool as Chat Completions takes it."""
    function: Json = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}

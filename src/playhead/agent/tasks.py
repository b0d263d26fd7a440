"""A task: one question to a model, with a typed answer.

extract = playhead.LlmTask("extract", model="gpt-4o-mini", system="Read the invoice.", output=Invoice)
extract(text).parsed
"""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from playhead.agent.agent_context import OUTPUT_RETRIES, model_object
from playhead.agent.conversing import RunConversation, messages_at_start, save_added
from playhead.agent.outputs import output_type
from playhead.agent.tools import Tool, as_tool
from playhead.api.scope import run as recorded_run
from playhead.calls.labels import labelled
from playhead.calls.lifecycle import current_span
from playhead.context.context import in_thread
from playhead.dialect import openai_chat
from playhead.errors import OutputInvalid
from playhead.model import names
from playhead.model.event import TokenUsage
from playhead.model.json_value import JsonMapping
from playhead.model.message import Message, text_message
from playhead.models.choosing import CallSituation, ModelLike, complete, complete_async
from playhead.models.model import ModelRequest, ModelResponse, StopReason, ToolCallRequest, portable


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The answer to a task. `parsed`: as the task's output type; without one, the text; None with a type where the
    model asks for tools instead. `reasoning`: an empty text if
    the model gave none. `tool_calls`: tools that the model asks for, not executed. `usage`: of all its calls, None
    where it was not reported. `stop_reason` and `provider_stop_reason`: see `ModelResponse`. `latency_ms`: of all its
    calls together. `calls`: how many there were; more than 1 where an answer was not of the output type."""

    parsed: Any
    content: str
    reasoning: str
    tool_calls: list[ToolCallRequest]
    usage: TokenUsage
    stop_reason: StopReason | None
    provider_stop_reason: str | None
    model: str
    latency_ms: float
    calls: int


class LlmTask:
    """One question to a model, as a function: `task(text)` or `task(messages=[...])`.

    `model`: a name, a model or a chooser. `system`: the system prompt. `tools`: what the model may ask for; the task
    executes none. `output`: the type of the answer; `str`: any text. An answer of another type is asked for again, with
    the error, at most `retries` times. `capture_reasoning`: asks for thinking, where the model supports it.

    Its model calls are recorded with `task=name`, in the current run, or else in a run of its own.
    """

    def __init__(
        self,
        name: str,
        *,
        model: ModelLike,
        system: str | None = None,
        tools: "Sequence[Tool[..., Any] | Callable[..., Any]]" = (),
        output: Any = str,
        capture_reasoning: bool = True,
        temperature: float | None = None,
        max_tokens: int | None = None,
        top_p: float | None = None,
        retries: int = OUTPUT_RETRIES,
    ) -> None:
        self.name = name
        self.model = model_object(model)
        self.retries = retries
        self.output_type = output_type(output)
        self.request = ModelRequest(
            [],
            max_tokens=max_tokens,
            temperature=temperature,
            top_p=top_p,
            system=system,
            tools=[as_tool(each).definition for each in tools],
            output=None if self.output_type is None else self.output_type.schema,
            thinking=capture_reasoning,
        )

    def __call__(
        self,
        text: str | None = None,
        *,
        messages: Sequence[JsonMapping] | None = None,
        conversation: RunConversation | None = None,
    ) -> TaskResult:
        """Asks the model. `messages`: as in Chat Completions, instead of the text. `conversation`: its messages come
        before these, and the question and the last answer are saved in it; see `Agent.run`. Raises OutputInvalid, what
        the model's client raises, and what the conversation raises."""
        asked = _asked(text, messages)
        conflict: Exception | None = None
        with self._recorded(conversation), labelled({names.TASK: self.name}):
            before = [] if conversation is None else messages_at_start(conversation)
            steps = self._steps([*before, *asked])
            try:
                request, situation = next(steps)
                while True:
                    request, situation = steps.send(complete(self.model, request, situation))
            except StopIteration as stop:
                result, answer = stop.value
            if conversation is not None:
                conflict = save_added(conversation, [*asked, answer], result)
        if conflict is not None:
            raise conflict
        return result

    async def run(
        self,
        text: str | None = None,
        *,
        messages: Sequence[JsonMapping] | None = None,
        conversation: RunConversation | None = None,
    ) -> TaskResult:
        """The same, without blocking the event loop."""
        asked = _asked(text, messages)
        conflict: Exception | None = None
        with self._recorded(conversation), labelled({names.TASK: self.name}):
            before = [] if conversation is None else await in_thread(lambda: messages_at_start(conversation))
            steps = self._steps([*before, *asked])
            try:
                request, situation = next(steps)
                while True:
                    request, situation = steps.send(await complete_async(self.model, request, situation))
            except StopIteration as stop:
                result, answer = stop.value
            if conversation is not None:
                conflict = await in_thread(lambda: save_added(conversation, [*asked, answer], result))
        if conflict is not None:
            raise conflict
        return result

    def _recorded(self, conversation: RunConversation | None) -> AbstractContextManager[object]:
        if current_span() is not None:
            return nullcontext()
        return recorded_run(self.name, conversation=conversation)

    def _asking(self, messages: list[Message], *, is_correction: bool) -> tuple[ModelRequest, CallSituation]:
        request = replace(self.request, messages=messages)
        situation = CallSituation.of_request(request)
        return request, replace(situation, task=self.name, default=self.model.name, is_correction=is_correction)

    def _steps(
        self, messages: list[Message]
    ) -> Generator[tuple[ModelRequest, CallSituation], ModelResponse, tuple[TaskResult, Message]]:
        """Yields each request with its situation, and is sent its response; returns the result, and the message of the
        answer."""
        began, usage, calls = time.perf_counter(), TokenUsage(0, 0), 0
        while True:
            response = yield self._asking(messages, is_correction=calls > 0)
            usage, calls = usage + response.usage, calls + 1
            try:
                parsed = self._parsed(response)
            except OutputInvalid as error:
                if calls > self.retries:
                    raise OutputInvalid(f"{self.name}: {error}") from error
                messages = [*messages, portable(response.message), text_message("user", f"{error}\nAnswer again.")]
                continue
            result = TaskResult(
                parsed=parsed,
                content=response.text,
                reasoning=response.reasoning,
                tool_calls=response.tool_calls,
                usage=usage,
                stop_reason=response.stop_reason,
                provider_stop_reason=response.provider_stop_reason,
                model=response.model,
                latency_ms=(time.perf_counter() - began) * 1_000,
                calls=calls,
            )
            return result, response.message

    def _parsed(self, response: ModelResponse) -> Any:
        if self.output_type is None:
            return response.text
        return self.output_type.read(response.text) if response.done else None


def _asked(text: str | None, messages: Sequence[JsonMapping] | None) -> list[Message]:
    if (text is None) == (messages is None):
        raise TypeError("a task is asked with a text, or with messages=[...]")
    return openai_chat.to_messages(messages) if messages is not None else [text_message("user", text or "")]

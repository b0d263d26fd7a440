"""The events of an agent's run while it goes on, and the stream that has them."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from playhead.agent.results import AgentResult
from playhead.models.model import ModelResponse, ToolCallRequest


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the model's answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class AnswerArrived:
    """A whole answer of the model, of this turn."""

    turn: int
    response: ModelResponse


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool is about to be called, before its approval."""

    call: ToolCallRequest


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A tool's result as the model is given it. `is_error`: it raised, was refused, or is unknown."""

    call: ToolCallRequest
    result: str
    is_error: bool


AgentEvent = TextDelta | ReasoningDelta | AnswerArrived | ToolStarted | ToolEnded
Emit = Callable[[AgentEvent], None]

_END = object()


class AgentStream:
    """A run of an agent that goes on while its events are read.

        async with agent.run_stream("...") as events:
            async for event in events: ...
        events.result

    Leaving the block early cancels the run. The run's error is raised where the events end.
    """

    def __init__(self, run: Callable[[Emit], Coroutine[Any, Any, AgentResult]]) -> None:
        self._run = run
        self._queue: asyncio.Queue[Any] = asyncio.Queue()
        self._task: asyncio.Task[AgentResult] | None = None

    async def __aenter__(self) -> Self:
        """Begins the run."""
        self._begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancels the run if it has not ended."""
        await self.aclose()

    async def aclose(self) -> None:
        """Cancels the run if it has not ended, and waits until it has."""
        task = self._task
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task])

    async def __aiter__(self) -> AsyncGenerator[AgentEvent]:
        """Yields the events. Begins the run, if no block did."""
        task = self._begin()
        while (event := await self._queue.get()) is not _END:
            yield event
        self._queue.put_nowait(_END)  # for those who read on
        task.result()

    @property
    def result(self) -> AgentResult:
        """The result of the run, when the events have ended. Raises the run's error; RuntimeError before its end."""
        if self._task is None or not self._task.done():
            raise RuntimeError("the run has not ended: read its events to their end before its result")
        return self._task.result()

    def _begin(self) -> "asyncio.Task[AgentResult]":
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(self._queue.put_nowait))
            self._task.add_done_callback(lambda _: self._queue.put_nowait(_END))
        return self._task

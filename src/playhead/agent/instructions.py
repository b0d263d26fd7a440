"""The system prompt of an agent: a text, a function of the `AgentContext`, or a prompt with sections."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from playhead.model.message import Message, message_text

if TYPE_CHECKING:
    from playhead.agent.agent_context import AgentContext


@runtime_checkable
class RenderedPrompt(Protocol):
    """A prompt whose text depends on the newest message and on the tools that were used last."""

    def render(self, *, message: str, tools: Sequence[str]) -> str:
        """Returns the text."""
        ...


Instructions = str | Callable[["AgentContext[Any]"], str | Awaitable[str]] | RenderedPrompt | None
# Of the tools that were used, those that a prompt is told.
_RECENT_TOOLS = 5


async def instructions_of(given: Instructions, context: "AgentContext[Any]") -> str | None:
    """Returns the system prompt for the next call; None: there is none. Asked before each call: it must say the same
    in a resumed run."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, RenderedPrompt):
        recent = [call.name for call in context.tool_calls[-_RECENT_TOOLS:]]
        return given.render(message=_newest(context.messages), tools=recent)
    text = given(context)
    return await text if inspect.isawaitable(text) else text


def _newest(messages: Sequence[Message]) -> str:
    return next((message_text(message) for message in reversed(messages) if message["role"] == "user"), "")

"""What an agent was made with, as its runs use it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from playhead.agent.outputs import OutputType
from playhead.agent.tools import Tool
from playhead.api.promises.asking import ToolRule
from playhead.context.policy import AnyCompression
from playhead.models.choosing import ModelChooser, ModelLike
from playhead.models.model import Model, ModelRequest


@runtime_checkable
class RenderedPrompt(Protocol):
    """A prompt whose text depends on the newest message and on the tools that were used last."""

    def render(self, *, message: str, tools: Sequence[str]) -> str:
        """Returns the text."""
        ...


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """See `Agent`. `request`: tools, schema of the answer and thinking of its model calls."""

    name: str
    model: Model | ModelChooser
    instructions: str | Callable[[Any], str | Awaitable[str]] | RenderedPrompt | None
    tools: Mapping[str, Tool[..., Any]]
    max_turns: int
    approval: ToolRule | None
    compression: AnyCompression | None
    output_type: OutputType[Any] | None
    tool_models: Mapping[str, ModelLike]
    request: ModelRequest

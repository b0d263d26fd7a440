"""OpenAI Agents: an input filter that keeps what the model sees within its window.

    from playhead.context.openai_agents import input_filter

    shorter = input_filter(Compression())
    Runner.run(agent, ..., hooks=shorter.hooks, run_config=RunConfig(call_model_input_filter=shorter))

The framework keeps its own list of items, whole; the filter decides which of them, and which summary, a model call
gets.
"""

import threading
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, Final

try:
    from agents import Agent, ModelResponse, RunContextWrapper, RunHooks
    from agents.run import CallModelData, ModelInputData
except ImportError as error:
    raise ImportError("playhead.context.openai_agents needs OpenAI Agents: pip install openai-agents") from error

from playhead.context.context import Context
from playhead.context.policy import AnyCompression, check_compression
from playhead.kernel.guard import guarded
from playhead.model.json_value import Json
from playhead.models.apis import as_json
from playhead.models.model import Model

# Conversations that a filter knows. Agents that are the tools of others have conversations of their own.
_MOST_CONVERSATIONS: Final = 32


class InputFilter:
    """A filter for `RunConfig(call_model_input_filter=...)`; see `input_filter`. `hooks`: for `Runner.run(hooks=)`."""

    def __init__(self, compression: AnyCompression | None, model: Model | str | None) -> None:
        check_compression(compression)
        self._compression = compression
        self._model = model
        self._lock = threading.Lock()
        self._contexts: list[Context] = []  # in the order in which they were used
        self._current: ContextVar[Context | None] = ContextVar("playhead: the context of a model call", default=None)
        self.hooks: RunHooks[Any] = _UsageHooks(self)

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """Returns the items that the model is to get. Raises only RunStopped, in resumed runs."""
        given = data.model_data
        items: list[Any] = [*given.input]
        self._current.set(None)
        with guarded("compress the input of an agent"):
            natives = [as_json(item) for item in items]
            context = self._context_of(natives, self._model or _name_of(data.agent))
            items = [*await context.follow_async(natives)]
            self._remember(context)
            self._current.set(context)
        return ModelInputData(input=items, instructions=given.instructions)

    def answered(self, response: ModelResponse) -> None:
        """Learns from a model's answer how many tokens the provider counted. `hooks` calls it; a program with hooks of
        its own calls it in their `on_llm_end`."""
        context = self._current.get()
        if context is not None:
            with guarded("read the usage of a model call"):
                context.reported(response.usage.input_tokens or None)

    def _context_of(self, natives: Sequence[Json], model: Model | str | None) -> Context:
        """Returns the context of the conversation that these items continue, or a new one. Until `_remember`, nobody
        else gets it: a context whose items could not be read is given up."""
        with self._lock:
            begun = [context for context in self._contexts if context.is_continued_by(natives)]
            if not begun:
                return Context(compression=self._compression, model=model, api="responses")
            longest = max(begun, key=lambda context: len(context.history))
            self._contexts.remove(longest)
            return longest

    def _remember(self, context: Context) -> None:
        with self._lock:
            self._contexts.append(context)
            del self._contexts[:-_MOST_CONVERSATIONS]


class _UsageHooks(RunHooks[Any]):
    def __init__(self, to: InputFilter) -> None:
        self._to = to

    async def on_llm_end(self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse) -> None:
        self._to.answered(response)


def input_filter(compression: AnyCompression | None = None, *, model: Model | str | None = None) -> InputFilter:
    """Returns the filter for any number of conversations. `compression`: as for a `Context`. `model`: writes summaries
    for which the policy names no model, and its window is the limit where the policy has none; None: the name of the
    agent's model.

    A list of items that continues none of the lists before begins a new context. With `hooks`, the filter learns how
    many tokens the provider counts; without, they are estimated, or counted by the policy's `count`.
    """
    return InputFilter(compression, model)


def _name_of(agent: Agent[Any]) -> str | None:
    """Returns the name of the agent's model, if the agent or its model object says it."""
    name: object = agent.model if isinstance(agent.model, str) else getattr(agent.model, "model", None)
    return name if isinstance(name, str) else None

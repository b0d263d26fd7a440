"""OpenAI Agents: an input filter that keeps what the model sees within its window.

    from playhead.context.openai_agents import input_filter

    Runner.run(agent, ..., run_config=RunConfig(call_model_input_filter=input_filter(Compression())))

The framework keeps its own list of items; the filter decides which of them, and which summary, a model call gets.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from playhead.context.context import Context, in_thread
from playhead.context.policy import Compression

if TYPE_CHECKING:
    from agents.run import CallModelData, ModelInputData


def input_filter(
    compression: Compression | None = None, *, model: str | None = None
) -> "Callable[[CallModelData[Any]], Awaitable[ModelInputData]]":
    """Returns the filter for the runs of one conversation. `model`: for its window, where the policy has no limit.

    A list of items that is not the longer one of the call before begins a new context. Tokens are estimated, or counted
    by the policy's `count`: the filter does not see what the provider reports.
    """
    contexts = [Context(compression=compression, model=model, api="responses")]

    async def filter_input(data: "CallModelData[Any]") -> "ModelInputData":
        given = data.model_data
        items: list[Any] = [*given.input]
        try:
            shorter = await in_thread(lambda: contexts[0].follow(items))
        except ValueError:
            contexts[0] = context = Context(compression=compression, model=model, api="responses")
            shorter = await in_thread(lambda: context.follow(items))
        result: Any = type(given)(input=shorter, instructions=given.instructions)  # pyright: ignore[reportArgumentType]
        return result

    return filter_input

"""An agent of Semantic Kernel with three tools, as users write one; run by `test_semantic_kernel_killed.py`."""

# ruff: noqa: T201 - what it prints is what the test reads

import asyncio
import os
import signal
import sys
from pathlib import Path

from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import kernel_function

VARIANT = sys.argv[1]


def effect(tool: str, order: str) -> None:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(f"{tool} {order}\n")
    if os.environ.get("DIE_IN") == tool:
        os.kill(os.getpid(), signal.SIGKILL)


class Orders:
    """The tools, as a plug-in."""

    @kernel_function
    def look_up(self, order: str) -> dict[str, str]:
        """Look an order up."""
        effect("look_up", order)
        return {"order": order, "status": "delayed"}

    @kernel_function
    async def weigh(self, order: str) -> float:
        """Weigh an order's parcel."""
        effect("weigh", order)
        await asyncio.sleep(0.2)
        return 2.5

    @kernel_function
    def refund(self, order: str) -> str:
        """Pay an order back."""
        effect("refund", order)
        return f"refunded {order}"


async def ask() -> str:
    service = OpenAIChatCompletion(ai_model_id="m")
    clerk = ChatCompletionAgent(service=service, name="clerk", instructions="be kind", plugins=[Orders()])
    if VARIANT == "streamed":
        return "".join([str(item.message) async for item in clerk.invoke_stream("Refund A1, please.")])
    return str((await clerk.get_response("Refund A1, please.")).message)


if __name__ == "__main__":
    if VARIANT == "observed":
        import playhead

        playhead.instrument()
        ask = playhead.observe(ask)
    print(asyncio.run(ask()))

"""An agent on LlamaIndex with two tools, as users write one; run by `test_llama_index.py`."""

# ruff: noqa: T201 - what it prints is what the test reads

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.workflow import Context
from llama_index.llms.openai import OpenAI

import playhead
from playhead import observe

playhead.instrument()
VARIANT = sys.argv[1]


def effect(what: str) -> None:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(what + "\n")


class Orders(BaseRetriever):
    """Finds orders."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        effect(f"retrieve {query_bundle.query_str}")
        return [NodeWithScore(node=TextNode(text="delayed", id_="n1"), score=0.5)]


# A task, not a thread: two look-ups in threads may end in another order than they did when they were recorded, and
# LlamaIndex tells the model of them as they end.
async def look_up(order: str) -> dict[str, str]:
    """Looks an order up."""
    effect(f"look_up {order}")
    return {"order": order, "status": "delayed"}


async def refund(ctx: Context, order: str, amount: float) -> str:
    """Refunds an order."""
    effect(f"refund {order} {float(amount)}")
    if "DIE_INSIDE" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"refunded {amount}"


def support(name: str, **how: Any) -> FunctionAgent:
    model = OpenAI("gpt-4o-mini", api_base=os.environ["OPENAI_BASE_URL"], api_key="none", max_retries=0)
    return FunctionAgent(name=name, description=name, llm=model, streaming=VARIANT == "streamed", **how)


async def main() -> str:
    if VARIANT == "handoff":
        desk = support("desk", can_handoff_to=["clerk"])
        clerk = support("clerk", tools=[look_up], can_handoff_to=["desk"])
        agent: Any = AgentWorkflow(agents=[desk, clerk], root_agent="desk")
    else:
        agent = support("support", tools=[look_up, refund], system_prompt="be kind")
    return str(await agent.run(user_msg="Refund A1, please."))


@observe
async def search() -> str:
    found = await Orders().aretrieve("A1") + Orders().retrieve("B2")
    return " ".join(f"{each.node.text} {each.score}" for each in found)


if __name__ == "__main__":
    print(asyncio.run(search() if VARIANT == "retriever" else main()))

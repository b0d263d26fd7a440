"""An agent on LiteLLM with two tools, as users write one; run by `test_litellm_killed.py`."""

# ruff: noqa: T201 - what it prints is what the test reads

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network when it is imported

import litellm

import playhead
from playhead import observe

playhead.instrument()
VARIANT = sys.argv[1]
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("look_up", "refund")
]


def effect(what: str) -> None:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(what + "\n")


@observe(kind="tool")
def look_up(order: str) -> dict[str, str]:
    effect(f"look_up {order}")
    return {"order": order, "status": "delayed"}


@observe(kind="tool")
def refund(order: str, amount: float) -> str:
    effect(f"refund {order} {float(amount)}")
    if "DIE_INSIDE" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"refunded {amount}"


async def ask(messages: list[Any]) -> Any:
    how: dict[str, Any] = {"model": "openai/m", "messages": messages, "tools": TOOLS, "max_retries": 0}
    if VARIANT == "streamed":
        chunks = [chunk async for chunk in await litellm.acompletion(**how, stream=True)]
        return litellm.stream_chunk_builder(chunks).choices[0].message
    if VARIANT == "router":
        router = litellm.Router(model_list=[{"model_name": "openai/m", "litellm_params": {"model": "openai/m"}}])
        return (await router.acompletion(**how)).choices[0].message
    return litellm.completion(**how).choices[0].message


@observe
async def agent(question: str) -> str:
    messages: list[Any] = [{"role": "system", "content": "be kind"}, {"role": "user", "content": question}]
    while True:
        said = await ask(messages)
        messages.append(said)
        if not said.tool_calls:
            return said.content
        for call in said.tool_calls:
            tool = {"look_up": look_up, "refund": refund}[call.function.name]
            result = tool(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


if __name__ == "__main__":
    print(asyncio.run(agent("Refund A1, please.")))

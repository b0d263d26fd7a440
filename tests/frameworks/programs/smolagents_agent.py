"""An agent on smolagents with two tools, as users write one; run by `test_smolagents.py`."""

# ruff: noqa: T201 - what it prints is what the test reads

import os
import signal
import sys
from pathlib import Path
from typing import Any

from smolagents import CodeAgent, OpenAIModel, ToolCallingAgent, tool

import playhead

playhead.instrument()
VARIANT = sys.argv[1]


def effect(what: str) -> None:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(what + "\n")


@tool
def look_up(order: str) -> dict:  # type: ignore[type-arg]
    """Looks an order up.

    Args:
        order: The order's number.
    """
    effect(f"look_up {order}")
    return {"order": order, "status": "delayed"}


@tool
def refund(order: str, amount: float) -> str:
    """Refunds an order.

    Args:
        order: The order's number.
        amount: How much.
    """
    effect(f"refund {order} {float(amount)}")
    if "DIE_INSIDE" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"refunded {amount}"


def main() -> None:
    model = OpenAIModel("m", api_base=os.environ["OPENAI_BASE_URL"], api_key="none", client_kwargs={"max_retries": 0})
    how: dict[str, Any] = {"tools": [look_up, refund], "model": model, "verbosity_level": 0, "name": "support"}
    if VARIANT == "code":
        agent: Any = CodeAgent(**how)
    else:
        agent = ToolCallingAgent(**how, stream_outputs=VARIANT == "streamed")
    if VARIANT == "streamed":
        *_, last = agent.run("Refund A1, please.", stream=True)
        print("\n" + last.output)  # below what the framework prints meanwhile
    else:
        print(agent.run("Refund A1, please."))


if __name__ == "__main__":
    main()

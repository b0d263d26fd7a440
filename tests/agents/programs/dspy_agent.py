"""A DSPy agent with three tools, as users write one; run by `test_dspy_killed.py`."""

# ruff: noqa: T201 - what it prints is what the test reads

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

VARIANT = sys.argv[1]
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks the network
os.environ["DSPY_CACHEDIR"] = str(Path(os.environ["EFFECTS"]).parent / f"cache-{os.getpid()}")

import dspy  # noqa: E402 - it reads where its cache is when it is imported


def effect(tool: str, order: str) -> None:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(f"{tool} {order}\n")
    if os.environ.get("DIE_IN") == tool:
        os.kill(os.getpid(), signal.SIGKILL)


def look_up(order: str) -> dict[str, str]:
    """Look an order up."""
    effect("look_up", order)
    return {"order": order, "status": "delayed"}


def weigh(order: str) -> float:
    """Weigh an order's parcel."""
    effect("weigh", order)
    time.sleep(0.2)
    return 2.5


def refund(order: str) -> str:
    """Pay an order back."""
    effect("refund", order)
    return f"refunded {order}"


def agent() -> dspy.Module:
    # Before 3.4, all models are called through LiteLLM.
    engine = {} if VARIANT == "oldest" else {"engine": "litellm" if VARIANT == "litellm" else "lm15"}
    base = os.environ["OPENAI_BASE_URL"]
    dspy.configure(lm=dspy.LM("openai/m", api_base=base, api_key="none", num_retries=0, **engine))
    return dspy.ReAct("question -> answer", tools=[look_up, weigh, refund])


def ask() -> str:
    return str(agent()(question="Refund A1, please.").answer)


async def ask_later() -> str:
    return str((await agent().acall(question="Refund A1, please.")).answer)


if __name__ == "__main__":
    if VARIANT == "async":
        print(asyncio.run(ask_later()))
    elif VARIANT == "observed":
        import playhead

        playhead.instrument()
        print(playhead.observe(ask)())
    else:
        print(ask())

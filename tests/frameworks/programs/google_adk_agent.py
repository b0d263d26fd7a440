"""An agent of Google's ADK with two tools, as users write one; run by `test_google_adk_killed.py`."""

# ruff: noqa: T201 - what it prints is what the test reads

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network when it is imported

from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.models.google_llm import Gemini
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.genai import types

import playhead

playhead.instrument()
VARIANT = sys.argv[1]


def effect(what: str) -> None:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(what + "\n")


def look_up(order: str) -> dict[str, str]:
    """Look an order up."""
    effect(f"look_up {order}")
    return {"order": order, "status": "delayed"}


async def refund(order: str, amount: float) -> str:
    """Pay an order back."""
    effect(f"refund {order} {float(amount)}")
    if "DIE_INSIDE" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"refunded {amount}"


def model() -> Any:
    if VARIANT == "litellm":
        return LiteLlm("openai/m", max_retries=0, num_retries=0)
    return Gemini(model="gemini-2.5-flash", base_url=os.environ["OPENAI_BASE_URL"].removesuffix("/v1"))


async def main(question: str) -> str:
    agent = LlmAgent(name="clerk", model=model(), instruction="be kind", tools=[look_up, refund])
    runner = InMemoryRunner(agent, app_name="shop")
    session = await runner.session_service.create_session(app_name="shop", user_id="ann", session_id="s1")
    mode = StreamingMode.SSE if VARIANT == "streamed" else StreamingMode.NONE
    said = ""
    async for event in runner.run_async(
        user_id="ann",
        session_id=session.id,
        new_message=types.UserContent(question),
        run_config=RunConfig(streaming_mode=mode),
    ):
        if event.is_final_response() and event.content:
            said = event.content.parts[0].text
    return said


if __name__ == "__main__":
    os.environ.setdefault("GOOGLE_API_KEY", "none")
    print(asyncio.run(main("Refund A1, please.")))

"""An agent on CrewAI with two tools, as users write one; run by `test_crewai_killed.py`."""

# ruff: noqa: T201 - what it prints is what the test reads

import asyncio
import os
import signal
import sys
from pathlib import Path

from crewai import LLM, Agent, Crew, Task
from crewai.events import crewai_event_bus
from crewai.tools import BaseTool, tool

import playhead

playhead.instrument()
VARIANT = sys.argv[1]


def effect(what: str) -> None:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(what + "\n")


@tool("look_up")
def look_up(order: str) -> dict[str, str]:
    """Looks an order up."""
    effect(f"look_up {order}")
    return {"order": order, "status": "delayed"}


class Refund(BaseTool):
    name: str = "refund"
    description: str = "Refunds an order."

    def _run(self, order: str, amount: float) -> str:
        effect(f"refund {order} {float(amount)}")
        if "DIE_INSIDE" in os.environ:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"refunded {amount}"


def main() -> str:
    how = {"api_key": "none", "max_retries": 0, "stream": VARIANT == "streamed"}
    url = os.environ["ANTHROPIC_BASE_URL" if VARIANT == "anthropic" else "OPENAI_BASE_URL"]
    llm = LLM(
        model="anthropic/claude-sonnet-4-5" if VARIANT == "anthropic" else "openai/gpt-4o-mini", base_url=url, **how
    )
    agent = Agent(role="support", goal="Help.", backstory="You are kind.", tools=[look_up, Refund()], llm=llm)
    if VARIANT == "alone":
        return str(agent.kickoff("Refund A1, please.").raw)
    crew = Crew(agents=[agent], tasks=[Task(description="Refund A1, please.", expected_output="A text", agent=agent)])
    done = asyncio.run(crew.akickoff()) if VARIANT == "streamed" else crew.kickoff()
    return str(done.raw)


if __name__ == "__main__":
    answer = main()
    crewai_event_bus.flush()  # until the framework has printed all that it prints
    print("\n" + answer)

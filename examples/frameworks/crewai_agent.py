"""A crew on CrewAI: one agent looks an order up, another one writes to the customer; all of it is one recorded run.

    python examples/frameworks/crewai_agent.py

Nothing is set up for this: a scripted model answers, and no collector runs.
"""

import os

os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")  # CrewAI's own telemetry goes to its makers

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool

import playhead
from playhead.testing import MockModelServer, text, tool_call, tool_offered, tool_result_received

playhead.instrument()


@tool("look_up")
def look_up(order: str) -> str:
    """Looks an order up."""
    return f"{order} is late by two days"


def main() -> None:
    with MockModelServer() as server:
        server.when(tool_offered("look_up") & ~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
        server.otherwise(text("Your order A1 is late by two days."))
        llm = LLM(model="openai/gpt-4o-mini", base_url=server.base_url, api_key="none")
        clerk = Agent(role="clerk", goal="Find orders.", backstory="You know them.", tools=[look_up], llm=llm)
        writer = Agent(role="writer", goal="Write to customers.", backstory="You are kind.", llm=llm)
        tasks = [
            Task(name="find", description="Where is A1?", expected_output="Its state", agent=clerk),
            Task(name="write", description="Tell the customer.", expected_output="One sentence", agent=writer),
        ]
        print(Crew(name="desk", agents=[clerk, writer], tasks=tasks).kickoff().raw)


if __name__ == "__main__":
    main()

"""A Strands agent: its tools and its model calls are recorded, with no decorator of ours.

    python examples/frameworks/strands_agent.py

Nothing is set up for this: a scripted model answers, and no collector runs.
"""

from strands import Agent, tool
from strands.models.openai import OpenAIModel

import playhead
from playhead.testing import MockModelServer, text, tool_call, tool_result_received

playhead.instrument()


@tool
def look_up(order: str) -> str:
    """Where an order is."""
    return f"{order} is delayed by two days"


def main() -> None:
    with MockModelServer() as server:
        server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
        server.otherwise(text("Your order A1 is delayed by two days."))
        model = OpenAIModel(client_args={"base_url": server.base_url, "api_key": "none"}, model_id="gpt-4o-mini")
        agent = Agent(name="clerk", model=model, tools=[look_up], callback_handler=None)
        print(agent("Where is my order A1?"))


if __name__ == "__main__":
    main()

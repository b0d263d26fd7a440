"""Two agents on smolagents: one asks the other, whose code calls a tool; all of it is one recorded run.

    python examples/frameworks/smolagents_agent.py

Nothing is set up for this: a scripted model answers, and no collector runs.
"""

from smolagents import CodeAgent, OpenAIModel, ToolCallingAgent, tool

import playhead
from playhead.testing import MockModelServer, contains, text, tool_call, tool_offered

playhead.instrument()
CODE = """<code>
final_answer(look_up("A1"))
</code>"""


@tool
def look_up(order: str) -> str:
    """Looks an order up.

    Args:
        order: The order's number.
    """
    return f"{order} is delayed by two days"


def main() -> None:
    with MockModelServer() as model_server:
        model_server.when(~tool_offered("clerk"), text(CODE))
        model_server.when(~contains("delayed by"), tool_call("clerk", {"task": "Where is order A1?"}))
        model_server.otherwise(tool_call("final_answer", {"answer": "Your order A1 is delayed by two days."}))
        model = OpenAIModel("gpt-4o-mini", api_base=model_server.base_url, api_key="none")
        clerk = CodeAgent([look_up], model, name="clerk", description="Knows where orders are.", verbosity_level=0)
        support = ToolCallingAgent([], model, name="support", managed_agents=[clerk], verbosity_level=0)
        print(support.run("Where is my order A1?"))


if __name__ == "__main__":
    main()

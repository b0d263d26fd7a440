"""Two agents on LlamaIndex: the first one hands over to the second one, which uses a tool; it is one recorded run.

    python examples/frameworks/llama_index_agent.py

Nothing is set up for this: a scripted model answers, and no collector runs.
"""

import asyncio

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.llms.openai import OpenAI

import playhead
from playhead.testing import MockModelServer, text, tool_call, tool_offered, tool_result_received

playhead.instrument()


def look_up(order: str) -> str:
    """Looks an order up."""
    return f"{order} is delayed by two days"


async def main() -> None:
    with MockModelServer() as server:
        server.when(~tool_offered("look_up"), tool_call("handoff", {"to_agent": "clerk", "reason": "It knows orders."}))
        server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
        server.otherwise(text("Your order A1 is delayed by two days."))
        model = OpenAI("gpt-4o-mini", api_base=server.base_url, api_key="none")
        desk = FunctionAgent(name="desk", description="Welcomes customers.", llm=model, can_handoff_to=["clerk"])
        clerk = FunctionAgent(name="clerk", description="Knows where orders are.", llm=model, tools=[look_up])
        workflow = AgentWorkflow(agents=[desk, clerk], root_agent="desk")
        print(await workflow.run(user_msg="Where is my order A1?"))


if __name__ == "__main__":
    asyncio.run(main())

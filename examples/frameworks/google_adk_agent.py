"""An agent of Google's ADK: its tools and its model calls are recorded, with no decorator of ours.

    python examples/frameworks/google_adk_agent.py

Nothing is set up for this: a scripted model answers, and no collector runs.
"""

import asyncio
import os

from google.adk.agents import LlmAgent
from google.adk.models.google_llm import Gemini
from google.adk.runners import InMemoryRunner
from google.genai import types

import playhead
from playhead.testing import MockModelServer, text, tool_call, tool_result_received

playhead.instrument()
os.environ.setdefault("GOOGLE_API_KEY", "none")


def look_up(order: str) -> str:
    """Where an order is."""
    return f"{order} is delayed by two days"


async def ask(model: Gemini, question: str) -> None:
    agent = LlmAgent(name="clerk", model=model, instruction="Answer customers.", tools=[look_up])
    runner = InMemoryRunner(agent, app_name="shop")
    session = await runner.session_service.create_session(app_name="shop", user_id="ann")
    message = types.UserContent(question)
    async for event in runner.run_async(user_id="ann", session_id=session.id, new_message=message):
        if event.is_final_response():
            print(event.content.parts[0].text)


def main() -> None:
    with MockModelServer() as server:
        server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
        server.otherwise(text("Your order A1 is delayed by two days."))
        asyncio.run(ask(Gemini(model="gemini-2.5-flash", base_url=server.url), "Where is my order A1?"))


if __name__ == "__main__":
    main()

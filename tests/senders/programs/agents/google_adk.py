"""Google's Agent Development Kit, with a model behind LiteLLM; with SCENE_HANDOFF, another agent has the follow-up."""

import asyncio
import os

from google.adk.agents import LlmAgent
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.genai import types
from scene import FOLLOW_UP, HANDOFF_TO, MODEL, QUESTION, SESSION, SYSTEM, USER, flush, look_up_weather, otlp

providers = otlp()
model = LiteLlm(f"openai/{MODEL}")
alone = {"disallow_transfer_to_parent": True, "disallow_transfer_to_peers": True}
others = (
    [LlmAgent(name=HANDOFF_TO, model=model, instruction=SYSTEM, **alone)] if os.environ.get("SCENE_HANDOFF") else []
)
agent = LlmAgent(name="clerk", model=model, instruction=SYSTEM, tools=[look_up_weather], sub_agents=others)
runner = InMemoryRunner(agent, app_name="clerk")


async def talk():
    await runner.session_service.create_session(app_name="clerk", user_id=USER, session_id=SESSION)
    for question in (QUESTION, FOLLOW_UP):
        content = types.Content(role="user", parts=[types.Part(text=question)])
        async for _ in runner.run_async(user_id=USER, session_id=SESSION, new_message=content):
            pass


asyncio.run(talk())
flush(*providers)

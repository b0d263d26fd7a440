"""Google's Agent Development Kit, with a model behind LiteLLM."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.genai import types
from scene import FOLLOW_UP, MODEL, QUESTION, SESSION, SYSTEM, USER, flush, look_up_weather, otlp

providers = otlp()
agent = LlmAgent(name="clerk", model=LiteLlm(f"openai/{MODEL}"), instruction=SYSTEM, tools=[look_up_weather])
runner = InMemoryRunner(agent, app_name="clerk")


async def talk():
    await runner.session_service.create_session(app_name="clerk", user_id=USER, session_id=SESSION)
    for question in (QUESTION, FOLLOW_UP):
        content = types.Content(role="user", parts=[types.Part(text=question)])
        async for _ in runner.run_async(user_id=USER, session_id=SESSION, new_message=content):
            pass


asyncio.run(talk())
flush(*providers)

"""Microsoft Agent Framework."""

import asyncio

from agent_framework.observability import configure_otel_providers
from agent_framework.openai import OpenAIChatCompletionClient
from opentelemetry import trace
from scene import FOLLOW_UP, MODEL, QUESTION, SYSTEM, look_up_weather

configure_otel_providers(enable_sensitive_data=True)
agent = OpenAIChatCompletionClient(model=MODEL).as_agent(name="clerk", instructions=SYSTEM, tools=[look_up_weather])


async def talk():
    session = agent.create_session()
    for question in (QUESTION, FOLLOW_UP):
        await agent.run(question, session=session)


asyncio.run(talk())
trace.get_tracer_provider().force_flush()

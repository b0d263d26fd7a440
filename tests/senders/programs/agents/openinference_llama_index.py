"""openinference-instrumentation-llama-index with one of LlamaIndex's agents."""

import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.workflow import Context
from llama_index.llms.openai import OpenAI
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from scene import FOLLOW_UP, QUESTION, SYSTEM, flush, look_up_weather, otlp

providers = otlp()
LlamaIndexInstrumentor().instrument()
agent = FunctionAgent(
    name="clerk", description="clerk", tools=[look_up_weather], llm=OpenAI(model="gpt-4o"), system_prompt=SYSTEM,
    streaming=False,
)  # fmt: skip


async def talk():
    context, memory = Context(agent), ChatMemoryBuffer.from_defaults()
    for question in (QUESTION, FOLLOW_UP):
        await agent.run(question, ctx=context, memory=memory)


asyncio.run(talk())
flush(*providers)

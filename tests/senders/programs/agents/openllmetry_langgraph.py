"""opentelemetry-instrumentation-langchain (OpenLLMetry) with a LangGraph agent, two turns of one thread."""

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from opentelemetry.instrumentation.langchain import LangchainInstrumentor
from scene import FOLLOW_UP, MODEL, QUESTION, SESSION, SYSTEM, flush, look_up_weather, otlp

providers = otlp()
LangchainInstrumentor().instrument()
agent = create_agent(
    ChatOpenAI(model=MODEL), [tool(look_up_weather)], system_prompt=SYSTEM, checkpointer=InMemorySaver(), name="clerk"
)
for question in (QUESTION, FOLLOW_UP):
    agent.invoke({"messages": [{"role": "user", "content": question}]}, {"configurable": {"thread_id": SESSION}})
flush(*providers)

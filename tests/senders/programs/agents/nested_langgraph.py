"""A LangGraph agent under OpenInference (LangChain, openai) and OpenLLMetry (openai): each call is told three times."""

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from openinference.instrumentation.langchain import LangChainInstrumentor
from openinference.instrumentation.openai import OpenAIInstrumentor as OpenInferenceOpenAI
from opentelemetry.instrumentation.openai import OpenAIInstrumentor as OpenLLMetryOpenAI
from scene import FOLLOW_UP, MODEL, QUESTION, SESSION, SYSTEM, flush, look_up_weather, otlp

providers = otlp()
for instrumentor in (LangChainInstrumentor(), OpenInferenceOpenAI(), OpenLLMetryOpenAI()):
    instrumentor.instrument()
agent = create_agent(
    ChatOpenAI(model=MODEL), [tool(look_up_weather)], system_prompt=SYSTEM, checkpointer=InMemorySaver(), name="clerk"
)
for question in (QUESTION, FOLLOW_UP):
    # OpenInference does not make LangChain's spans current: this span is what holds all spans of a turn together.
    with providers[0].get_tracer("app").start_as_current_span("turn"):
        agent.invoke({"messages": [{"role": "user", "content": question}]}, {"configurable": {"thread_id": SESSION}})
flush(*providers)

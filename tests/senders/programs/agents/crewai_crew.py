"""CrewAI, by the instrumentation that CREWAI_BY names: a crew of one agent, which is given two tasks in turn."""

import os

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from scene import FOLLOW_UP, MODEL, QUESTION, REPORT, SYSTEM, flush, look_up_weather, otlp

by = os.environ["CREWAI_BY"]
providers = otlp()
if by == "openinference":
    from openinference.instrumentation.crewai import CrewAIInstrumentor
    from openinference.instrumentation.openai import OpenAIInstrumentor
else:
    from opentelemetry.instrumentation.crewai import CrewAIInstrumentor
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor
CrewAIInstrumentor().instrument()
OpenAIInstrumentor().instrument()

llm = LLM(model=f"openai/{MODEL}", base_url=os.environ["OPENAI_BASE_URL"], api_key="none")
clerk = Agent(
    role="clerk", goal=SYSTEM, backstory="A clerk.", llm=llm, tools=[tool("look_up_weather")(look_up_weather)]
)
first = Task(description=QUESTION, expected_output="one sentence", agent=clerk)
Crew(agents=[clerk], tasks=[first]).kickoff()
second = Task(description=f"{REPORT} {FOLLOW_UP}", expected_output="one sentence", agent=clerk)
Crew(agents=[clerk], tasks=[second]).kickoff()
flush(*providers)

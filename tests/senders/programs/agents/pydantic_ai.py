"""pydantic-ai's own telemetry, in the version of its form that PYDANTIC_AI_VERSION names."""

import os
import warnings

from pydantic_ai import Agent
from pydantic_ai.models.instrumented import InstrumentationSettings
from scene import FOLLOW_UP, MODEL, QUESTION, SYSTEM, flush, look_up_weather, otlp

warnings.simplefilter("ignore")  # older forms are deprecated
providers = otlp()
version = int(os.environ["PYDANTIC_AI_VERSION"])
settings = InstrumentationSettings(version=version, tracer_provider=providers[0])
Agent.instrument_all(settings)
agent = Agent(f"openai-chat:{MODEL}", system_prompt=SYSTEM, name="clerk")
agent.tool_plain(look_up_weather)
first = agent.run_sync(QUESTION)
agent.run_sync(FOLLOW_UP, message_history=first.all_messages())
flush(*providers)

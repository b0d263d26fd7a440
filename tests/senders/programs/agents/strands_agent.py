"""Strands Agents."""

from opentelemetry import trace
from scene import FOLLOW_UP, MODEL, QUESTION, SESSION, SYSTEM, look_up_weather
from strands import Agent, tool
from strands.models.openai import OpenAIModel
from strands.telemetry import StrandsTelemetry

StrandsTelemetry().setup_otlp_exporter()
agent = Agent(
    name="clerk",
    model=OpenAIModel(model_id=MODEL),
    system_prompt=SYSTEM,
    tools=[tool(look_up_weather)],
    trace_attributes={"session.id": SESSION},
    callback_handler=None,
)
for question in (QUESTION, FOLLOW_UP):
    agent(question)
trace.get_tracer_provider().force_flush()

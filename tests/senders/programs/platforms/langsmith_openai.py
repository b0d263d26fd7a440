"""LangSmith's SDK exporting by OpenTelemetry only."""

import os

import openai
from langsmith import Client, traceable
from langsmith.wrappers import wrap_openai
from scene import SESSION, USER, look_up_weather, talk_openai

client = Client(api_key="none", tracing_mode="otel")
tool = traceable(run_type="tool", name="look_up_weather", client=client)(look_up_weather)


@traceable(name="clerk", client=client, metadata={"session_id": SESSION, "user_id": USER})
def clerk():
    talk_openai(wrap_openai(openai.OpenAI()), around=lambda name, call: tool(city=os.environ["SCENE_CITY"]))


clerk()
client.flush()
client.cleanup() if hasattr(client, "cleanup") else None
from opentelemetry import trace  # noqa: E402

trace.get_tracer_provider().force_flush()

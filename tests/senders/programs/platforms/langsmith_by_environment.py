"""LangSmith's SDK, set up by environment variables alone."""

import os

import openai
from langsmith import Client, traceable
from langsmith.wrappers import wrap_openai
from opentelemetry import trace
from scene import SESSION, USER, look_up_weather, talk_openai

tool = traceable(run_type="tool", name="look_up_weather")(look_up_weather)


@traceable(name="clerk", metadata={"session_id": SESSION, "user_id": USER})
def clerk():
    talk_openai(wrap_openai(openai.OpenAI()), around=lambda name, call: tool(city=os.environ["SCENE_CITY"]))


clerk()
Client().flush()
trace.get_tracer_provider().force_flush()

"""OpenLIT."""

import openai
import openlit
from opentelemetry import trace
from scene import talk_openai

openlit.init(disable_metrics=True)
with trace.get_tracer("app").start_as_current_span("clerk"):
    talk_openai(openai.OpenAI())
trace.get_tracer_provider().force_flush()

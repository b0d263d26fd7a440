"""opentelemetry-instrumentation-openai (OpenLLMetry)."""

import openai
from opentelemetry.instrumentation.openai import OpenAIInstrumentor
from scene import flush, otlp, talk_openai

providers = otlp()
OpenAIInstrumentor().instrument()
with providers[0].get_tracer("app").start_as_current_span("clerk"):
    talk_openai(openai.OpenAI())
flush(*providers)

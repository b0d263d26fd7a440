"""opentelemetry-instrumentation-openai-v2: events as log records, unless the environment opts in to newer forms."""

import openai
from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor
from scene import flush, otlp, talk_openai

providers = otlp()
OpenAIInstrumentor().instrument()
with providers[0].get_tracer("app").start_as_current_span("clerk"):
    talk_openai(openai.OpenAI())
flush(*providers)

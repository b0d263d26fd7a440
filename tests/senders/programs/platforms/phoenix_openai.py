"""Phoenix's set-up of OpenTelemetry, with OpenInference."""

import os

import openai
from openinference.instrumentation.openai import OpenAIInstrumentor
from phoenix.otel import register
from scene import talk_openai

provider = register(batch=True, verbose=False, protocol=os.environ.get("SENDER_PROTOCOL"))
OpenAIInstrumentor().instrument(tracer_provider=provider)
with provider.get_tracer("app").start_as_current_span("clerk"):
    talk_openai(openai.OpenAI())
provider.shutdown()

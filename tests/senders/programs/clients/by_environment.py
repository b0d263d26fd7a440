"""OpenTelemetry's SDK set up by environment variables alone, as `opentelemetry-instrument` sets it up."""

import openai
from opentelemetry import trace
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
from opentelemetry.sdk._configuration import _OTelSDKConfigurator
from scene import talk_openai

_OTelSDKConfigurator().configure()
OpenAIInstrumentor().instrument()
with trace.get_tracer("app").start_as_current_span("clerk"):
    talk_openai(openai.OpenAI())
trace.get_tracer_provider().shutdown()

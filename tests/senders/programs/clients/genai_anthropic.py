"""opentelemetry-instrumentation-genai-anthropic, current conventions."""

import anthropic
from opentelemetry.instrumentation.genai.anthropic import AnthropicInstrumentor
from scene import flush, otlp, talk_anthropic

providers = otlp()
AnthropicInstrumentor().instrument()
with providers[0].get_tracer("app").start_as_current_span("clerk"):
    talk_anthropic(anthropic.Anthropic())
flush(*providers)

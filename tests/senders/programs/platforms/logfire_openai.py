"""Logfire's own instrumentation of openai, sent by OTLP."""

import logfire
import openai
from scene import talk_openai

logfire.configure(send_to_logfire=False, console=False)
logfire.instrument_openai()
with logfire.span("clerk", attempt=1, details={"note": "Marker-details"}):
    talk_openai(openai.OpenAI())
logfire.force_flush()
logfire.shutdown()

"""AgentOps' SDK, with the exporter of its user."""

import os

import agentops
import openai
from agentops.sdk.decorators import operation, tool
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from scene import look_up_weather, talk_openai

agentops.init(api_key=None, auto_start_session=False, fail_safe=True, log_level="ERROR")
trace.get_tracer_provider().add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))


@tool(name="look_up_weather")
def weather(city):
    return look_up_weather(city)


@operation(name="clerk")
def clerk():
    talk_openai(openai.OpenAI(), around=lambda name, call: weather(os.environ["SCENE_CITY"]))


clerk()
trace.get_tracer_provider().force_flush()

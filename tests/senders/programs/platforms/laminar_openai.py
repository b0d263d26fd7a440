"""Laminar, exporting over HTTP."""

import os

import openai
from lmnr import Laminar, observe
from scene import SESSION, USER, look_up_weather, talk_openai

url, _, port = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"].rpartition(":")
Laminar.initialize(project_api_key="none", base_url=url, http_port=int(port), grpc_port=int(port), force_http=True)
tool = observe(name="look_up_weather", span_type="TOOL")(look_up_weather)


@observe(name="clerk", session_id=SESSION, user_id=USER)
def clerk():
    talk_openai(openai.OpenAI(), around=lambda name, call: tool(city=os.environ["SCENE_CITY"]))


clerk()
Laminar.flush()
Laminar.shutdown()

"""MLflow's autologging of openai, exported by OTLP."""

import os

import mlflow
import openai
from scene import look_up_weather, talk_openai

mlflow.openai.autolog()
tool = mlflow.trace(look_up_weather, name="look_up_weather", span_type="TOOL")


@mlflow.trace(name="clerk", span_type="AGENT")
def clerk():
    mlflow.update_current_trace(metadata={"mlflow.trace.session": "session-7", "mlflow.trace.user": "user-7"})
    talk_openai(openai.OpenAI(), around=lambda name, call: tool(city=os.environ["SCENE_CITY"]))


clerk()
mlflow.flush_trace_async_logging()

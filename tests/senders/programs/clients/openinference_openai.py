"""openinference-instrumentation-openai, with a session and a user."""

import openai
from openinference.instrumentation import using_attributes
from openinference.instrumentation.openai import OpenAIInstrumentor
from scene import SESSION, USER, flush, otlp, talk_openai

providers = otlp()
OpenAIInstrumentor().instrument()
with (
    using_attributes(session_id=SESSION, user_id=USER, metadata={"note": "Marker-metadata"}, tags=["one"]),
    providers[0].get_tracer("app").start_as_current_span("clerk"),
):
    talk_openai(openai.OpenAI())
flush(*providers)

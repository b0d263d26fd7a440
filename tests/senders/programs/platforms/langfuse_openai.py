"""The Langfuse SDK: `@observe` and its wrapper of the openai client, sent to another host only."""

import os

from langfuse import get_client, observe, propagate_attributes
from langfuse.openai import OpenAI
from scene import SESSION, USER, look_up_weather, talk_openai

tool = observe(name="look_up_weather", as_type="tool")(look_up_weather)


@observe(name="clerk", as_type="agent")
def clerk():
    with propagate_attributes(session_id=SESSION, user_id=USER, tags=["one"]):
        talk_openai(OpenAI(), around=lambda name, call: tool(city=os.environ["SCENE_CITY"]))


clerk()
get_client().flush()

"""Two tools at once: the model asks for both, then for one with what they gave, then answers.

    python examples/weather_agent.py

Talks to the model that OPENAI_BASE_URL or OPENAI_API_KEY name, else to a mock model.
"""

import json
import os
from typing import Any

import openai

import playhead
from playhead import observe
from playhead.testing import (
    MockModelServer,
    Script,
    text,
    thinking,
    tool_call,
    tool_calls,
    tool_requested,
)

QUESTION = "Which of Paris and Rome is warmer today? Answer in Fahrenheit."


@observe(kind="tool")
class Tools:
    """What the model may call: each public method is a tool."""

    def get_weather(self, city: str) -> dict[str, Any]:
        return {"city": city, "celsius": {"Paris": 17, "Rome": 24}[city]}

    def convert(self, celsius: float) -> float:
        return round(celsius * 9 / 5 + 32, 1)


def definition(name: str, description: str, **types: str) -> Any:
    properties = {argument: {"type": kind} for argument, kind in types.items()}
    parameters = {"type": "object", "properties": properties, "required": list(types)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


DEFINITIONS = [
    definition("get_weather", "Today's temperature in a city.", city="string"),
    definition("convert", "A temperature in Fahrenheit.", celsius="number"),
]


@observe(kind="agent", name="weather_agent")
def answer(client: openai.OpenAI, question: str) -> str:
    tools = Tools()
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        completion = client.chat.completions.create(model="gpt-4o-mini", messages=messages, tools=DEFINITIONS)
        message: Any = completion.choices[0].message
        if not message.tool_calls:
            return message.content or ""
        messages.append(message.model_dump(exclude_none=True, exclude={"reasoning_content"}))
        for call in message.tool_calls:
            result = getattr(tools, call.function.name)(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


SCRIPT = (
    Script()
    .when(
        ~tool_requested("get_weather"),
        thinking("Both cities.")
        + tool_calls(tool_call("get_weather", {"city": "Paris"}), tool_call("get_weather", {"city": "Rome"})),
    )
    .when(~tool_requested("convert"), thinking("Rome is warmer.") + tool_call("convert", {"celsius": 24}))
    .otherwise(text("Rome is warmer: 24 °C, which is 75.2 °F."))
)


def model_client() -> openai.OpenAI:
    if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
        return openai.OpenAI()
    mock = MockModelServer(script=SCRIPT)
    return openai.OpenAI(api_key="none", http_client=mock.http_client())


def main() -> None:
    playhead.instrument("openai")
    with model_client() as client:
        print(answer(client, QUESTION))


if __name__ == "__main__":
    main()

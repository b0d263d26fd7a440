"""Tool calling: the model asks for two tools at once, then for one with what they gave, then answers.

    python examples/scenarios/tool_calling.py

Talks to the model that OPENAI_BASE_URL or OPENAI_API_KEY name, else to a mock model that plays this scenario.
"""

import json
import os
from typing import Any

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer

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


def model_client() -> openai.OpenAI:
    if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
        return openai.OpenAI()
    mock = MockModelServer(scenario="tool_calling")
    return openai.OpenAI(api_key="none", http_client=mock.http_client())


def main() -> None:
    playhead.instrument("openai")
    with model_client() as client:
        print(answer(client, QUESTION))


if __name__ == "__main__":
    main()

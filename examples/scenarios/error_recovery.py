"""Errors and recovery: a rate limit, a server error, arguments that are not JSON, a tool that fails, and the way out.

    python examples/scenarios/error_recovery.py

Talks to the model that OPENAI_BASE_URL or OPENAI_API_KEY name, else to a mock model that plays this scenario. The
client tries rate limits and server errors again by itself; what a tool says about an error goes to the model.
"""

import json
import os
from typing import Any

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer

REQUEST = "Book room A for Monday, or another one if it is taken."
TAKEN = {("A", "Monday")}
PARAMETERS = {
    "type": "object",
    "properties": {"room": {"type": "string"}, "day": {"type": "string"}},
    "required": ["room", "day"],
}
DEFINITION: Any = {
    "type": "function",
    "function": {"name": "book_room", "description": "Books a meeting room for a day.", "parameters": PARAMETERS},
}


@observe(kind="tool")
def book_room(room: str, day: str) -> str:
    if (room, day) in TAKEN:
        raise LookupError(f"room {room} is taken on {day}")
    return f"booked room {room} for {day}"


def result_of(arguments: str) -> str:
    """What the model is told: the tool's result, or what went wrong, since the model may know what to do."""
    try:
        return book_room(**json.loads(arguments))
    except (ValueError, TypeError, LookupError) as error:
        playhead.annotate(decision="tell the model", reason=type(error).__name__, alternatives=["give up"])
        return f"error: {error}"


@observe(kind="agent", name="booking_agent")
def book(client: openai.OpenAI, request: str) -> str:
    messages: list[Any] = [{"role": "user", "content": request}]
    while True:
        completion = client.chat.completions.create(model="gpt-4o-mini", messages=messages, tools=[DEFINITION])
        message: Any = completion.choices[0].message
        if not message.tool_calls:
            return message.content or ""
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            result = result_of(call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def model_client() -> openai.OpenAI:
    if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
        return openai.OpenAI()
    mock = MockModelServer(scenario="error_recovery")
    return openai.OpenAI(api_key="none", http_client=mock.http_client())


def main() -> None:
    playhead.instrument("openai")
    with model_client() as client:
        print(book(client, REQUEST))


if __name__ == "__main__":
    main()

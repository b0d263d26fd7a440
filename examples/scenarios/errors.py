"""Errors: a rate limit, a context that is too long, arguments that are no object, and an answer that comes too late.

    python examples/scenarios/errors.py

Talks to the model that OPENAI_BASE_URL or OPENAI_API_KEY name, else to a mock model that plays this scenario. The
client tries nothing again by itself here, so that each failed call is seen, and recorded.
"""

import json
import os
import time
from typing import Any

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer

# Much less than the 120 seconds that the mock model takes for a report.
TIMEOUT_SECONDS = 0.5
DEFINITION: Any = {
    "type": "function",
    "function": {
        "name": "look_up_order",
        "description": "The status of an order.",
        "parameters": {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]},
    },
}


@observe(kind="tool")
def look_up_order(order: str) -> dict[str, str]:
    return {"order": order, "status": "on its way"}


class ShopAssistant:
    def __init__(self, client: openai.OpenAI, model: str = "gpt-4o-mini") -> None:
        self.client = client.with_options(max_retries=0)
        self.model = model

    @observe(kind="agent", name="shop_assistant")
    def answer(self, messages: list[Any], timeout: float | None = None) -> str:
        messages = list(messages)
        while True:
            message = self.ask(messages, timeout)
            if message is None:
                return "That takes too long; I shall send it by mail."
            if not message.tool_calls:
                return message.content or ""
            messages.append(message.model_dump(exclude_none=True, exclude={"reasoning_content"}))
            for call in message.tool_calls:
                result = self.call(call.function.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

    def ask(self, messages: list[Any], timeout: float | None) -> Any:
        """The model's message; None if it did not answer in time. Shortens `messages` in place if they are too long."""
        while True:
            try:
                completion = self.client.chat.completions.create(
                    model=self.model, messages=messages, tools=[DEFINITION], timeout=timeout or openai.NOT_GIVEN
                )
                return completion.choices[0].message
            except openai.APITimeoutError:
                playhead.annotate(decision="answer without the model", reason="it took too long")
                return None
            except openai.RateLimitError as error:
                seconds = float(error.response.headers.get("retry-after", "1"))
                playhead.annotate(decision="ask again", reason=f"rate limit, {seconds:g} s to wait")
                time.sleep(seconds)
            except openai.BadRequestError as error:
                if error.code != "context_length_exceeded" or len(messages) == 1:
                    raise
                playhead.annotate(decision="leave out the older half", reason="the context is too long")
                del messages[: len(messages) // 2]

    def call(self, arguments: str) -> str:
        """What the model is told: the tool's result, or what is wrong with the arguments."""
        try:
            read = json.loads(arguments)
            if not isinstance(read, dict):
                raise TypeError(f"the arguments have to be a JSON object, not {arguments}")
            return json.dumps(look_up_order(**read))
        except (ValueError, TypeError) as error:
            playhead.annotate(decision="tell the model", reason=str(error))
            return f"error: {error}"


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def ask_everything(client: openai.OpenAI) -> list[str]:
    """The answers to four requests, of which each meets one error."""
    assistant = ShopAssistant(client)
    long_chat = [user(f"Note {number}: {'all is well. ' * 60}") for number in range(30)]
    return [
        assistant.answer([user("How many were sold today? Mind the rate limit.")]),
        assistant.answer([*long_chat, user("How many were sold today?")]),
        assistant.answer([user("Where is my order A1001?")]),
        assistant.answer([user("Please write a report.")], timeout=TIMEOUT_SECONDS),
    ]


def model_client() -> openai.OpenAI:
    if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
        return openai.OpenAI()
    mock = MockModelServer(scenario="errors")
    return openai.OpenAI(api_key="none", http_client=mock.http_client())


def main() -> None:
    playhead.instrument("openai")
    with model_client() as client, playhead.run("errors"):
        print(*ask_everything(client), sep="\n")


if __name__ == "__main__":
    main()

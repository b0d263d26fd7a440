"""What `resume_fifty_steps.py` asks of a model, by the `openai` client."""

from typing import Any

import openai

import playhead

CLIENTS: list[Any] = []


def start() -> None:
    """Records the client, and makes one of each kind."""
    playhead.instrument("openai")
    CLIENTS[:] = openai.OpenAI(), openai.AsyncOpenAI()


def user(text: str) -> Any:
    """A message of the user's."""
    return {"role": "user", "content": text}


def assistant(text: str) -> Any:
    """A message of the model's."""
    return {"role": "assistant", "content": text}


def ask(messages: list[Any]) -> Any:
    """The model's message."""
    return CLIENTS[0].chat.completions.create(model="m", messages=messages).choices[0].message


async def ask_later(messages: list[Any]) -> str:
    """The model's text."""
    answer = await CLIENTS[1].chat.completions.create(model="m", messages=messages)
    return answer.choices[0].message.content


def pieces(messages: list[Any]) -> list[str]:
    """The model's text, as it is streamed."""
    with CLIENTS[0].chat.completions.create(model="m", messages=messages, stream=True) as stream:
        return [chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices]

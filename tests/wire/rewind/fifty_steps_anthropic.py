"""What `resume_fifty_steps.py` asks of a model, by the `anthropic` client."""

from typing import Any

import anthropic

import playhead

CLIENTS: list[Any] = []
ASKED: Any = {"model": "m", "max_tokens": 1000, "system": "Be kind."}


def start() -> None:
    """Records the client, and makes one of each kind."""
    playhead.instrument("anthropic")
    CLIENTS[:] = anthropic.Anthropic(), anthropic.AsyncAnthropic()


def user(text: str) -> Any:
    """A message of the user's."""
    return {"role": "user", "content": text}


def assistant(text: str) -> Any:
    """A message of the model's."""
    return {"role": "assistant", "content": text}


def ask(messages: list[Any]) -> Any:
    """The model's message, with its signed thoughts."""
    answer = CLIENTS[0].messages.create(**ASKED, messages=messages, thinking={"type": "adaptive"})
    return {"role": "assistant", "content": [block.to_dict() for block in answer.content]}


async def ask_later(messages: list[Any]) -> str:
    """The model's text."""
    return (await CLIENTS[1].messages.create(**ASKED, messages=messages)).content[0].text


def pieces(messages: list[Any]) -> list[str]:
    """The model's text, as it is streamed."""
    with CLIENTS[0].messages.stream(**ASKED, messages=messages) as stream:
        return list(stream.text_stream)

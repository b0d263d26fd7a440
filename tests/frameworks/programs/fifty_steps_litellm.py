"""What `resume_fifty_steps.py` asks of a model, through LiteLLM."""

import os
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network when it is imported

import litellm

import playhead

ASKED: Any = {"model": "openai/m", "max_retries": 0}


def start() -> None:
    """Records LiteLLM, and the clients underneath, which record nothing of their own then."""
    playhead.instrument()


def user(text: str) -> Any:
    """A message of the user's."""
    return {"role": "user", "content": text}


def assistant(text: str) -> Any:
    """A message of the model's."""
    return {"role": "assistant", "content": text}


def ask(messages: list[Any]) -> Any:
    """The model's message."""
    return litellm.completion(**ASKED, messages=messages).choices[0].message


async def ask_later(messages: list[Any]) -> str:
    """The model's text."""
    return (await litellm.acompletion(**ASKED, messages=messages)).choices[0].message.content


def pieces(messages: list[Any]) -> list[str]:
    """The model's text, as it is streamed."""
    return [
        chunk.choices[0].delta.content or "" for chunk in litellm.completion(**ASKED, messages=messages, stream=True)
    ]

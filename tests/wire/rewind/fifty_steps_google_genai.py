"""What `resume_fifty_steps.py` asks of a model, by the `google-genai` client."""

from typing import Any

from google import genai
from google.genai import types

import playhead

CLIENTS: list[genai.Client] = []


def start() -> None:
    """Records the client, and makes one."""
    playhead.instrument("google.genai")
    CLIENTS[:] = [genai.Client()]


def user(text: str) -> types.Content:
    """A message of the user's."""
    return types.Content(role="user", parts=[types.Part(text=text)])


def assistant(text: str) -> types.Content:
    """A message of the model's."""
    return types.Content(role="model", parts=[types.Part(text=text)])


def ask(messages: list[Any]) -> Any:
    """The model's message."""
    answer = CLIENTS[0].models.generate_content(model="m", contents=messages)
    return (answer.candidates or [])[0].content


async def ask_later(messages: list[Any]) -> str | None:
    """The model's text."""
    return (await CLIENTS[0].aio.models.generate_content(model="m", contents=messages)).text


def pieces(messages: list[Any]) -> list[str]:
    """The model's text, as it is streamed."""
    return [chunk.text or "" for chunk in CLIENTS[0].models.generate_content_stream(model="m", contents=messages)]

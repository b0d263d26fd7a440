"""Clients of the real libraries whose calls cost nothing but their being observed: answers come from a list."""

from collections.abc import Generator
from contextlib import contextmanager

import anthropic
import openai
from anthropic.resources import messages
from anthropic.types import Message
from openai.resources.chat import completions
from openai.types.chat import ChatCompletion

import playhead


@contextmanager
def canned_client() -> Generator[tuple[openai.OpenAI, list[ChatCompletion]]]:
    """The client, and the answers that it gives, last first.  Recording has begun, and goes on."""
    answers: list[ChatCompletion] = []
    playhead.uninstrument("openai")
    real = vars(completions.Completions)["create"]
    setattr(completions.Completions, "create", lambda *_, **__: answers.pop())  # noqa: B010 - the type is another
    playhead.instrument("openai")
    try:
        with openai.OpenAI(api_key="none", base_url="http://127.0.0.1:1/") as client:
            yield client, answers
    finally:
        playhead.uninstrument("openai")
        setattr(completions.Completions, "create", real)  # noqa: B010


def answer_saying(text: str, number: int) -> ChatCompletion:
    """A completion with this text."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 5_000, "completion_tokens": 60, "total_tokens": 5_060}
    head = {"id": f"chatcmpl-{number:024}", "object": "chat.completion", "created": 1, "model": "gpt-4o"}
    return ChatCompletion.model_validate({**head, "choices": [choice], "usage": usage})


@contextmanager
def canned_anthropic() -> Generator[tuple[anthropic.Anthropic, list[Message]]]:
    """As `canned_client`, of Anthropic's Messages."""
    answers: list[Message] = []
    playhead.uninstrument("anthropic")
    real = vars(messages.Messages)["create"]
    setattr(messages.Messages, "create", lambda *_, **__: answers.pop())  # noqa: B010 - the type is another
    playhead.instrument("anthropic")
    try:
        with anthropic.Anthropic(api_key="none", base_url="http://127.0.0.1:1/") as client:
            yield client, answers
    finally:
        playhead.uninstrument("anthropic")
        setattr(messages.Messages, "create", real)  # noqa: B010


def message_saying(text: str, number: int) -> Message:
    """A message with this text."""
    usage = {"input_tokens": 1_000, "cache_read_input_tokens": 4_000, "output_tokens": 60}
    head = {"id": f"msg_{number:024}", "type": "message", "role": "assistant", "model": "claude", "usage": usage}
    content = [{"type": "text", "text": text}]
    return Message.model_validate({**head, "content": content, "stop_reason": "end_turn", "stop_sequence": None})

"""A client of the real library whose calls cost nothing but their being observed: answers come from a list."""

from collections.abc import Generator
from contextlib import contextmanager

import openai
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

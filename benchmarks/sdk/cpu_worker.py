"""C4's work, in a process of its own: `cpu_worker.py nothing|playhead|langfuse CALLS.json`; prints CPU seconds.

Imports nothing of this project unless it is what is measured: the peer's environment has none of it.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import openai
from openai.resources.chat import completions
from openai.types.chat import ChatCompletion

# What is imported and compiled at first use is not what a call costs.
_WARM_UP_RUNS = 5


def main(what: str, path: Path) -> float:
    runs: list[dict[str, Any]] = json.loads(path.read_text())
    answers: list[ChatCompletion] = []
    # Before anybody wraps it.
    setattr(completions.Completions, "create", lambda *_, **__: answers.pop())  # noqa: B010
    observe, flush = _SDKS[what]()
    client = openai.OpenAI(api_key="none", base_url="http://127.0.0.1:1/")

    def agent(run: dict[str, Any]) -> None:
        create: Any = client.chat.completions.create
        for place, message in enumerate(run["messages"]):
            if message["role"] == "assistant":
                create(model="gpt-4o", messages=run["messages"][:place], tools=run["tools"])

    observed = observe(agent)
    turns = [_answers(run) for run in runs]
    for run in runs[:_WARM_UP_RUNS]:
        answers[:] = _answers(run)[::-1]
        observed(run)
    flush()
    began = time.process_time()
    for run, said in zip(runs, turns, strict=True):
        answers[:] = said[::-1]
        observed(run)
    flush()
    return time.process_time() - began


def _answers(run: dict[str, Any]) -> list[ChatCompletion]:
    return [_answer(message) for message in run["messages"] if message["role"] == "assistant"]


def _answer(message: dict[str, Any]) -> ChatCompletion:
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    usage = {"prompt_tokens": 5_000, "completion_tokens": 60, "total_tokens": 5_060}
    head = {"id": f"chatcmpl-{id(message):024}", "object": "chat.completion", "created": 1, "model": "gpt-4o"}
    return ChatCompletion.model_validate({**head, "choices": [choice], "usage": usage})


Observe = Callable[[Callable[..., Any]], Callable[..., Any]]


def _nothing() -> tuple[Observe, Callable[[], Any]]:
    return lambda function: function, lambda: None


def _playhead() -> tuple[Observe, Callable[[], Any]]:
    import playhead

    playhead.instrument("openai")
    # What the agent is given is no input that a program would record: a whole run with its future.
    return playhead.observe(capture_input=False), lambda: playhead.flush(60)


def _langfuse() -> tuple[Observe, Callable[[], Any]]:
    langfuse: Any = import_module("langfuse")
    import_module("langfuse.openai")  # wraps the client's methods

    return langfuse.observe(capture_input=False), lambda: langfuse.get_client().flush()


_SDKS = {"nothing": _nothing, "playhead": _playhead, "langfuse": _langfuse}

if __name__ == "__main__":
    print(main(sys.argv[1], Path(sys.argv[2])))

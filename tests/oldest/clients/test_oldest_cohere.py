"""The oldest supported `cohere`."""

import json
from typing import Any

import cohere
import pytest

from playhead.testing import MockModelServer
from tests.oldest.program import assert_calls_are_recorded, look_up, run_resume_and_fork
from tests.support.journal_reader import Recording

MODEL = "command-a"
TOOLS: Any = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]


def messages(said: str) -> list[Any]:
    return [{"role": "user", "content": said}]


def program(client: cohere.ClientV2) -> list[Any]:
    def ask(asked: list[Any]) -> Any:
        return client.chat(model=MODEL, messages=asked, tools=TOOLS, request_options={"max_retries": 0}).message

    said: list[Any] = [ask(messages("hello")).content[0].text]
    said.append([event.dict() for event in client.chat_stream(model=MODEL, messages=messages("streamed"))])
    asked = messages("weather?")
    answer = ask(asked)
    [called] = answer.tool_calls
    result = {"role": "tool", "tool_call_id": called.id, "content": look_up(**json.loads(called.function.arguments))}
    said.append(ask([*asked, answer, result]).content[0].text)
    try:
        ask(messages("fail"))
    except cohere.TooManyRequestsError as error:
        said.append((type(error).__name__, error.status_code))
    vectors: Any = client.embed(model=MODEL, texts=["a"], input_type="search_query", embedding_types=["float"])
    said.append(vectors.embeddings.float)
    return said


@pytest.mark.covers("cohere", "oldest")
def test_it_is_recorded_resumed_and_forked(server: MockModelServer, recording: Recording):
    with cohere.ClientV2("none", base_url=server.url) as client:
        done = run_resume_and_fork(lambda: program(client), recording, server)
    assert_calls_are_recorded(done, provider="cohere", failed=1)
    assert len(done.calls()) == 5
    assert len(done.calls("embedding")) == 1

"""The oldest supported `mistralai`."""

import json
from typing import Any

import pytest
from mistralai.client import Mistral, errors

from playhead.testing import MockModelServer
from tests.oldest.program import assert_calls_are_recorded, look_up, run_resume_and_fork
from tests.support.journal_reader import Recording

MODEL = "mistral-small"
TOOLS: Any = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]


def messages(said: str) -> list[Any]:
    return [{"role": "user", "content": said}]


def program(client: Mistral) -> list[Any]:
    def ask(asked: list[Any]) -> Any:
        answer: Any = client.chat.complete(model=MODEL, messages=asked, tools=TOOLS)
        return answer.choices[0].message

    said: list[Any] = [ask(messages("hello")).content]
    said.append(
        [event.data.choices[0].delta.content for event in client.chat.stream(model=MODEL, messages=messages("x"))]
    )
    asked = messages("weather?")
    answer = ask(asked)
    [called] = answer.tool_calls
    arguments = json.loads(called.function.arguments)
    result = {"role": "tool", "name": "look_up", "tool_call_id": called.id, "content": look_up(**arguments)}
    said.append(ask([*asked, answer, result]).content)
    try:
        ask(messages("fail"))
    except errors.SDKError as error:
        said.append((type(error).__name__, error.status_code))
    vectors: Any = client.embeddings.create(model=MODEL, inputs=["a"])
    said.append(vectors.data[0].embedding)
    return said


@pytest.mark.covers("mistralai", "oldest")
def test_it_is_recorded_resumed_and_forked(server: MockModelServer, recording: Recording):
    with Mistral(api_key="none", server_url=f"{server.url}/mistral") as client:
        done = run_resume_and_fork(lambda: program(client), recording, server)
    assert_calls_are_recorded(done, provider="mistral_ai", failed=1)
    assert len(done.calls()) == 5
    assert len(done.calls("embedding")) == 1

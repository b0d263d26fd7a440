"""The oldest supported `ollama`."""

from typing import Any

import ollama
import pytest

from playhead.model import names
from playhead.model.span import STATUS_ERROR
from playhead.testing import MockModelServer
from tests.oldest.program import look_up, run_resume_and_fork
from tests.support.journal_reader import Recording

MODEL = "qwen3"


def messages(said: str) -> list[Any]:
    return [{"role": "user", "content": said}]


def program(client: ollama.Client) -> list[Any]:
    said: list[Any] = [client.chat(MODEL, messages("hello")).message.content]
    said.append([chunk.message.content for chunk in client.chat(MODEL, messages("streamed"), stream=True)])
    asked = messages("weather?")
    answer = client.chat(MODEL, asked, tools=[look_up])
    [called] = answer.message.tool_calls or ()
    result = {"role": "tool", "name": called.function.name, "content": look_up(**called.function.arguments)}
    said.append(client.chat(MODEL, [*asked, answer.message, result], tools=[look_up]).message.content)
    try:
        client.chat(MODEL, messages("fail"))
    except ollama.ResponseError as error:
        said.append((type(error).__name__, error.status_code))
    said.append(client.embed(MODEL, ["a"]).embeddings)
    return said


@pytest.mark.covers("ollama", "oldest")
def test_it_is_recorded_resumed_and_forked(server: MockModelServer, recording: Recording):
    client = ollama.Client(server.url)
    done = run_resume_and_fork(lambda: program(client), recording, server)
    client._client.close()
    calls = done.calls()
    assert [span.attributes[names.PROVIDER] for span in calls] == ["ollama"] * 5
    assert [span.status for span in calls] == [0, 0, 0, 0, STATUS_ERROR]
    assert all(span.attributes[names.OUTPUT_TOKENS] > 0 for span in calls[:4])
    assert len(done.calls("embedding")) == 1
    assert len(done.calls("tool")) == 1

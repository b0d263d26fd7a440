"""The oldest supported `litellm`, which needs a newer `openai` than the oldest."""

import asyncio
import json
import os
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network when it is imported

import litellm
import pytest

from playhead.model import names
from playhead.testing import MockModelServer
from tests.oldest.clients import conftest
from tests.oldest.program import assert_calls_are_recorded, look_up, run_resume_and_fork
from tests.support.journal_reader import Recording

mock_model_server, server, recording = conftest.mock_model_server, conftest.server, conftest.recording
TOOLS: Any = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]


def messages(text: str) -> list[Any]:
    return [{"role": "system", "content": "be kind"}, {"role": "user", "content": text}]


def program(at: dict[str, Any]) -> list[Any]:
    answers: list[Any] = [litellm.completion(messages=messages("hello"), **at).choices[0].message.content]
    streamed: Any = {"messages": messages("a"), "stream": True, "stream_options": {"include_usage": True}}
    answers.append([chunk.model_dump() for chunk in litellm.completion(**streamed, **at)])
    asked = messages("weather?")
    message = litellm.completion(messages=asked, tools=TOOLS, **at).choices[0].message
    [call] = message.tool_calls
    result = {"role": "tool", "tool_call_id": call.id, "content": look_up(**json.loads(call.function.arguments))}
    asked += [message, result]
    answers.append(asyncio.run(litellm.acompletion(messages=asked, tools=TOOLS, **at)).model_dump())
    try:
        litellm.completion(messages=messages("fail"), **at)
    except litellm.RateLimitError as error:
        answers.append((type(error), error.status_code))
    return answers


@pytest.mark.covers("litellm", "oldest")
def test_it_is_recorded_resumed_and_forked(server: MockModelServer, recording: Recording):
    at = {"model": "openai/m", "api_base": server.base_url, "api_key": "none", "max_retries": 0, "num_retries": 0}
    done = run_resume_and_fork(lambda: program(at), recording, server)
    assert_calls_are_recorded(done, provider="openai", failed=1)
    assert len(done.calls()) == 5
    assert all(names.SENT_REF in call.attributes for call in done.calls())


@pytest.mark.covers("litellm", "oldest")
def test_embeddings_come_back_from_the_record(server: MockModelServer, recording: Recording):
    import playhead

    at = {"model": "openai/e", "api_base": server.base_url, "api_key": "none", "max_retries": 0}
    with playhead.run("r") as run:
        live = litellm.embedding(input=["one", "two"], **at).model_dump()
    asked = len(server.requests)
    with playhead.resume(run.id, completed="rerun"), playhead.run("r"):
        assert litellm.embedding(input=["one", "two"], **at).model_dump() == live
    assert len(server.requests) == asked
    [call] = [span for span in recording.read().spans if span.attributes[names.KIND] == "embedding"]
    assert call.attributes[names.INPUT_TOKENS] > 0

"""The oldest supported `anthropic`."""

from typing import Any

import anthropic
import pytest

from playhead.testing import MockModelServer
from tests.oldest.program import assert_calls_are_recorded, look_up, run_resume_and_fork
from tests.support.journal_reader import Recording

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
REQUEST: Any = {"model": "claude", "max_tokens": 100, "system": "be kind"}
TOOLS: Any = [{"name": "look_up", "input_schema": SCHEMA}]


def messages(said: str) -> Any:
    return [{"role": "user", "content": said}]


def program(client: Any) -> list[Any]:
    said: list[Any] = [client.messages.create(messages=messages("hello"), **REQUEST).content[0].text]
    said.append(
        [event.model_dump() for event in client.messages.create(messages=messages("a"), stream=True, **REQUEST)]
    )
    with client.messages.stream(messages=messages("helper"), **REQUEST) as stream:
        said.append(["".join(stream.text_stream), stream.get_final_message().model_dump()])
    asked = messages("weather?")
    answer = client.messages.create(messages=asked, tools=TOOLS, **REQUEST)
    [use] = [block for block in answer.content if block.type == "tool_use"]
    result = {"type": "tool_result", "tool_use_id": use.id, "content": look_up(**use.input)}
    asked += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": [result]}]
    said.append(client.messages.create(messages=asked, tools=TOOLS, **REQUEST).model_dump())
    try:
        client.messages.create(messages=messages("fail"), **REQUEST)
    except anthropic.RateLimitError as error:
        said.append((type(error), error.status_code))
    return said


@pytest.mark.covers("anthropic", "oldest")
def test_it_is_recorded_resumed_and_forked(server: MockModelServer, recording: Recording):
    with anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0) as client:
        done = run_resume_and_fork(lambda: program(client), recording, server)
    assert_calls_are_recorded(done, provider="anthropic", failed=1)
    assert len(done.calls()) == 6


@pytest.mark.covers("anthropic", "oldest")
async def test_so_is_the_asynchronous_client(server: MockModelServer, recording: Recording):
    import playhead

    async with anthropic.AsyncAnthropic(base_url=server.url, api_key="none", max_retries=0) as client:

        async def ask() -> list[Any]:
            said = [(await client.messages.create(messages=messages("hello"), **REQUEST)).model_dump()]
            async with client.messages.stream(messages=messages("helper"), **REQUEST) as stream:
                said.append((await stream.get_final_message()).model_dump())
            return said

        with playhead.run("r") as run:
            live = await ask()
        with playhead.resume(run.id or "", completed="rerun"), playhead.run("r"):
            assert await ask() == live
    assert len(server.requests) == 2

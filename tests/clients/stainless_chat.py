"""What is tested of the Chat Completions of each client that Stainless generates: `groq`, `together`."""

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import pytest

import playhead
from playhead.model import names
from playhead.model.span import STATUS_ERROR
from playhead.testing import MockModelServer, contains, dropped_connection, rate_limit, sequence, text, tool_call
from tests.clients.recorded_chat import (
    HELLO,
    HISTORY,
    SAID,
    TOOLS,
    again,
    assert_streamed_as_whole,
    calls,
    exact_requests,
    looked_up,
    script,
    sent_requests,
    weather,
)
from tests.support.journal_reader import Recording

ASKED: dict[str, Any] = {"model": "m", "temperature": 0.5, "top_p": 0.9, "max_tokens": 50, "seed": 7, "tools": TOOLS}


def check_record(library: str, provider: str, client: Any, server: MockModelServer, recording: Recording) -> None:
    """One call: its messages, tools, settings, usage and reasoning."""
    server.otherwise(SAID)
    answer = client.chat.completions.create(messages=HELLO, **ASKED)
    assert type(answer).__module__.startswith(f"{library}.")
    seen, [span] = calls(recording)
    said = span.attributes
    assert (said[names.PROVIDER], said[names.OPERATION], said[names.REQUEST_MODEL]) == (provider, "chat", "m")
    assert (said[names.REQUEST_TEMPERATURE], said[names.REQUEST_TOP_P], said[names.REQUEST_MAX_TOKENS]) == (
        0.5,
        0.9,
        50,
    )
    assert (said[names.REQUEST_SEED], said[names.FINISH_REASONS]) == (7, ["tool_calls"])
    assert (said[names.RESPONSE_ID], said[names.RESPONSE_MODEL]) == (answer.id, "m")
    assert said[names.INPUT_TOKENS] == answer.usage.prompt_tokens > 0
    assert said[names.OUTPUT_TOKENS] == answer.usage.completion_tokens > 0
    assert said[names.REASONING_TOKENS] > 0
    assert [message["role"] for message in seen.messages(said[names.INPUT_MESSAGES_REF])] == ["system", "user"]
    [output] = seen.messages(said[names.OUTPUT_MESSAGES_REF])
    assert [part["type"] for part in output["parts"]] == ["text", "tool_call"]
    assert seen.value(span, names.REASONING_REF) == "look it up"
    assert seen.value(span, names.TOOL_DEFINITIONS_REF) == TOOLS
    assert not any("hello" in str(value) for value in said.values())


def check_streams(client: Any, server: MockModelServer, recording: Recording) -> None:
    """A stream is recorded as the unstreamed answer; one that is left early or dropped ends its call."""
    server.otherwise(SAID)
    create = client.chat.completions.create
    create(model="m", messages=HELLO)
    chunks = list(create(model="m", messages=HELLO, stream=True))
    assert len(chunks) > 3
    with create(model="m", messages=HELLO, stream=True) as left:
        next(iter(left))
    dropped = create(model="m", messages=HELLO, stream=True)
    next(iter(dropped))
    del dropped, left
    gc.collect()
    _, [whole, streamed, *others] = calls(recording)
    assert_streamed_as_whole(whole, streamed)
    assert [span.attributes[names.OUTCOME] for span in others] == ["aborted", "aborted"]


def check_errors(module: Any, made: Callable[[int], Any], server: MockModelServer, recording: Recording) -> None:
    """Retries are one call; errors are the client's, live and from the record.  `made`: a client with retries."""
    server.when(contains("once") & sequence(1), rate_limit(0))
    server.when(contains("fail"), rate_limit(0))
    server.when(contains("broken"), dropped_connection(text("one two three four five six"), after_chunks=2))
    server.otherwise(text("now"))

    def program() -> list[Any]:
        said: list[Any] = []
        with made(1) as client:
            create = client.chat.completions.create
            said.append(create(model="m", messages=[{"role": "user", "content": "once"}]))
            for words, more in (("fail", {}), ("broken", {"stream": True})):
                try:
                    said += create(model="m", messages=[{"role": "user", "content": words}], **more)
                except Exception as error:  # noqa: BLE001 - which one it is, is compared
                    said.append((type(error), str(error), getattr(error, "status_code", None)))
        return said

    live, replayed = again(server, program)
    assert replayed == live
    assert live[1][0] is module.RateLimitError
    assert len(live) > 3
    _, [once, failed, broken] = calls(recording)[0], calls(recording)[1][:3]
    assert (once.status, failed.status, broken.status) == (0, STATUS_ERROR, STATUS_ERROR)
    assert failed.attributes[names.ERROR_TYPE].endswith("RateLimitError")
    assert names.OUTPUT_MESSAGES_REF in broken.attributes


def check_resume(client: Any, later: Any, server: MockModelServer) -> None:
    """An agent with a tool gets the client's own objects: plain, streamed, raw, asynchronous."""
    script(server)
    create = client.chat.completions.create

    def program() -> list[Any]:
        said = weather(lambda messages: create(messages=messages, **ASKED).choices[0].message)
        said.append(create(model="m", messages=HELLO))
        said += create(messages=[{"role": "user", "content": "weather"}], stream=True, **ASKED)
        raw = client.chat.completions.with_raw_response
        said.append(raw.create(model="m", messages=HELLO).parse())
        said += raw.create(model="m", messages=HELLO, stream=True).parse()
        with client.chat.completions.with_streaming_response.create(model="m", messages=HELLO) as response:
            said.append(response.parse())
        return said + asyncio.run(ask_later())

    async def ask_later() -> list[Any]:
        async with later() as asynchronous:
            ask = asynchronous.chat.completions.create
            whole = await ask(model="m", messages=HELLO)
            return [whole, *[chunk async for chunk in await ask(model="m", messages=HELLO, stream=True)]]

    live, replayed = again(server, program)
    assert [*map(type, replayed)] == [*map(type, live)]
    assert replayed == live
    assert [value.model_dump(exclude_unset=True) for value in replayed if hasattr(value, "model_dump")] == [
        value.model_dump(exclude_unset=True) for value in live if hasattr(value, "model_dump")
    ]
    assert looked_up == ["Rome"]


def check_tool_ids(client: Any, server: MockModelServer, recording: Recording) -> None:
    """The tool that ran is the one that the model asked for, and its messages are one conversation."""
    script(server)
    weather(lambda messages: client.chat.completions.create(messages=messages, **ASKED).choices[0].message)
    seen, [first, second] = calls(recording)
    assert seen.call("look_up").attributes[names.TOOL_CALL_ID] == "t1"
    [answer] = seen.messages(first.attributes[names.OUTPUT_MESSAGES_REF])
    assert seen.messages(second.attributes[names.INPUT_MESSAGES_REF])[1]["parts"][-1] == answer["parts"][-1]


def check_forks(client: Any, server: MockModelServer) -> None:
    """A fork answers otherwise, plain and streamed, and asks otherwise."""
    server.otherwise(text("as it was"))
    create = client.chat.completions.create

    def program() -> list[str]:
        said = [create(model="m", messages=HELLO).choices[0].message.content]
        stream = create(model="m", messages=HELLO, stream=True)
        return [*said, "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)]

    with playhead.run("r") as run:
        assert program() == ["as it was", "as it was"]
    for at, expected in (("chat#1", ["Otherwise.", "as it was"]), ("chat#2", ["as it was", "Otherwise."])):
        with playhead.fork(run.id or "", at=at, outcome="Otherwise."), playhead.run("r"):
            assert program() == expected
    call = tool_call("look_up", {"city": "Rome"}, call_id="t9")
    message = {"content": None, "tool_calls": [{"id": "t9", "type": "function", "function": {
        "name": call.tool_calls[0].name, "arguments": call.tool_calls[0].arguments}}]}  # fmt: skip
    with playhead.fork(run.id or "", at="chat#1", outcome={"message": message}), playhead.run("r"):
        answer = create(model="m", messages=HELLO).choices[0].message
    assert answer.tool_calls[0].function.arguments == '{"city":"Rome"}'
    asked = len(server.requests)
    with playhead.fork(run.id or "", at="chat#2", outcome={"system": "be terse"}), playhead.run("r"):
        program()
    [request] = server.requests[asked:]
    assert request.body["messages"] == [{"role": "system", "content": "be terse"}, HELLO[1]]


def check_exact_bodies(
    client: Any, later: Callable[[], Any], omit: Any, server: MockModelServer, recording: Recording
) -> None:
    """`context --exact` is the body that the server received: plain, streamed, asynchronous, of a growing conversation,
    with the client's own objects and with keys that it does not know."""
    server.otherwise(text("see") + tool_call("look_up", {"n": 1.0}))
    create = client.chat.completions.create

    async def ask_later() -> None:
        async with later() as asynchronous:
            ask = asynchronous.chat.completions.create
            await asyncio.gather(*(ask(model="m", messages=HISTORY[:upto], tools=TOOLS) for upto in (2, 4, 6)))
            async for _ in await ask(model="m", messages=HISTORY, stream=True):
                pass

    with playhead.run("r"):
        for upto in range(1, len(HISTORY) + 1):
            create(model="m", messages=HISTORY[:upto], tools=TOOLS)
        messages = [*HELLO]
        messages.append(create(model="m", messages=messages).choices[0].message)
        create(model="m", messages=messages, stop=None, temperature=1, seed=omit, response_format={"type": "text"})
        list(create(model="m", messages=iter(messages), stream=True, extra_body={"top_k": 5, "nothing": None}))
        list(create(model="m", messages=HISTORY, stream=True, extra_body={"stream_options": {"include_usage": True}}))
        client.chat.completions.with_raw_response.create(model="m", messages=HELLO, n=2, tools=[]).parse()
        asyncio.run(ask_later())
    told = exact_requests(recording)
    assert len(told) > 12
    assert told == sent_requests(server)


def check_embeddings(
    kind: type, client: Any, later: Callable[[], Any], server: MockModelServer, recording: Recording
) -> None:
    """Inputs and vectors are recorded, and the same vectors come back without a request."""

    async def ask_later() -> Any:
        async with later() as asynchronous:
            return await asynchronous.embeddings.create(model="e", input="c")

    def program() -> list[Any]:
        return [client.embeddings.create(model="e", input=["a", "b"]), asyncio.run(ask_later())]

    live, replayed = again(server, program)
    assert [type(value) for value in replayed] == [kind, kind]
    assert replayed == live
    seen, spans = calls(recording, "embedding")
    assert [seen.value(span, names.INPUT_REF) for span in spans[:2]] == [["a", "b"], "c"]
    assert spans[0].attributes[names.INPUT_TOKENS] > 0
    assert names.INPUT_MESSAGES_REF not in spans[0].attributes
    with pytest.raises(playhead.PlayheadError, match="an embedding has no message"):
        fork_first(program, recording)


def fork_first(program: Callable[[], Any], recording: Recording) -> None:
    run = recording.read().spans[0].attributes[names.RUN_ID]
    with playhead.fork(run, at="embeddings", outcome="a text"), playhead.run("r"):
        program()

"""`context?exact=true` of Anthropic's Messages: the request's body as the server received it, key by key."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic import beta_tool
from pydantic import BaseModel

import playhead
from playhead.client import Client
from playhead.testing import (
    ChatRequest,
    MockModelServer,
    pytest_plugin,
    text,
    thinking,
    tool_call,
    tool_calls,
    tool_result_received,
)
from playhead_collector.process import CollectorProcess

server = pytest_plugin.mock_model_server
HELLO: list[Any] = [{"role": "user", "content": "hello"}]
CACHE: Any = {"type": "ephemeral"}
ASKED: Any = {"model": "m", "max_tokens": 100}


class Answer(BaseModel):
    n: int


@pytest.fixture
def reader(collector: CollectorProcess, tmp_path: Path) -> Iterator[Client]:
    with Client(collector.url) as client:
        playhead.shutdown()
        playhead.configure(endpoint=collector.url, journal_dir=tmp_path / "journal", record="always")
        playhead.instrument("anthropic")
        yield client
        playhead.shutdown()
        playhead.uninstrument("anthropic")


@pytest.fixture
def client(server: MockModelServer) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0) as client:
        yield client


def as_text(value: Any) -> str:
    """Tells 1, 1.0 and true apart, and a key that is null from one that is not there."""
    return json.dumps(value, sort_keys=True, indent=1)


def marked(content: str) -> Any:
    return [{"type": "text", "text": content, "cache_control": CACHE}]


CALLS = [{"type": "tool_use", "id": f"c{n}", "name": "look", "input": {"b": 1.0, "a": "é", "n": None}} for n in (1, 2)]
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
HISTORY: list[Any] = [
    {"role": "user", "content": [{"type": "text", "text": "What is this?"}, IMAGE]},
    {"role": "assistant", "content": [{"type": "text", "text": "I look.", "citations": None}, *CALLS]},
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "1"}], "is_error": False},
            {"type": "tool_result", "tool_use_id": "c2", "content": "no", "is_error": True, "cache_control": CACHE},
            {"type": "text", "text": "So?"},
            IMAGE,
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "It is"}]},
    {"role": "user", "content": "Go on."},
    {"role": "user", "content": [{"type": "text", "text": "Please."}]},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "b3BhcXVl"},
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "x", "y": None}]},
            {"type": "text", "text": "a", "citations": [{"type": "char_location", "cited_text": "b"}]},
            CALLS[0],
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1"}]},
    {"role": "system", "content": "Be brief from here on."},
    {"role": "user", "content": ""},
]
TOOL: Any = {"name": "look", "input_schema": {"type": "object", "default": None}, "cache_control": CACHE}


def growing(client: anthropic.Anthropic) -> None:
    create: Any = client.messages.create
    for upto in range(1, len(HISTORY) + 1):
        create(**ASKED, messages=HISTORY[:upto], tools=[TOOL], system="Be kind.")


def cached_turns(client: anthropic.Anthropic) -> None:
    create: Any = client.messages.create
    history: list[Any] = []
    for n in range(4):
        asked = f"question {n}"
        answer = create(**ASKED, messages=[*history, {"role": "user", "content": marked(asked)}], system=marked("Hi"))
        history += [{"role": "user", "content": asked}, {"role": "assistant", "content": answer.content}]


def tool_loop(client: anthropic.Anthropic) -> None:
    """Objects of the client's own come back in the next request; parallel calls are answered in one message."""
    create: Any = client.messages.create
    messages: list[Any] = [*HELLO]
    while True:
        answer = create(**ASKED, messages=messages, tools=[TOOL], thinking={"type": "adaptive"})
        messages.append({"role": "assistant", "content": answer.content})
        results: list[Any] = [
            {"type": "tool_result", "tool_use_id": block.id, "content": "found"}
            for block in answer.content
            if block.type == "tool_use"
        ]
        if not results:
            break
        messages.append({"role": "user", "content": results})


def settings(client: anthropic.Anthropic) -> None:
    create: Any = client.messages.create
    extra = {"top_k": 5, "model": "other", "nothing": None}
    create(**ASKED, messages=HELLO, tools=[], stop_sequences=["x"], extra_body=extra, cache_control=CACHE)
    create(**ASKED, messages=HELLO, system=anthropic.omit, tools=anthropic.omit, extra_headers={"x": "1"}, timeout=60)
    create(**ASKED, messages=iter([*HELLO, {"role": "user", "content": []}]), metadata={"user_id": "u"}, system="")
    create(**ASKED, messages=HELLO, system=[], stream=False, inference_geo=None, tool_choice={"type": "auto"})
    beta: Any = client.beta.messages.create
    edits = {"edits": [{"type": "clear_tool_uses_20250919", "trigger": {"type": "input_tokens", "value": 1}}]}
    beta(**ASKED, messages=HELLO, betas=["context-management-2025-06-27"], context_management=edits)
    beta(**ASKED, messages=HELLO, mcp_servers=[{"type": "url", "url": "https://x", "name": "x"}], container="c")


def edited_history(client: anthropic.Anthropic) -> None:
    create: Any = client.messages.create
    create(**ASKED, messages=HISTORY, system="Be kind.")
    create(**ASKED, messages=[*HISTORY[:3], {**HISTORY[3], "content": "It is"}, *HISTORY[4:]], system="Be kind.")
    create(**ASKED, messages=HISTORY[3:6])
    create(**ASKED, messages=[{"role": "system", "content": "First."}, *HELLO])
    create(**ASKED, messages=[{"role": "system", "content": [*marked("First.")]}, *HELLO], system="Zeroth.")


def streams(client: anthropic.Anthropic) -> None:
    for _ in client.messages.create(**ASKED, messages=HELLO, stream=True):
        pass
    with client.messages.stream(**ASKED, messages=HELLO) as stream:
        stream.get_final_message()
    with client.messages.stream(**ASKED, messages=HELLO, output_format=Answer) as stream:
        stream.until_done()
    with client.beta.messages.stream(**ASKED, messages=HELLO, output_format=Answer, betas=["x"]) as stream:
        final = stream.get_final_message()
    again: Any = [*HELLO, {"role": "assistant", "content": final.content}, *HELLO]
    client.beta.messages.create(**ASKED, messages=again)


def parsed(client: anthropic.Anthropic) -> None:
    answer = client.messages.parse(**ASKED, messages=HELLO, output_format=Answer)
    again: Any = [*HELLO, {"role": "assistant", "content": answer.content}, *HELLO]
    effort: Any = {"effort": "low"}
    client.messages.parse(**ASKED, messages=again, output_format=list[Answer], output_config=effort)
    client.beta.messages.parse(**ASKED, messages=HELLO, output_format=Answer)


def raw(client: anthropic.Anthropic) -> None:
    client.messages.with_raw_response.create(**ASKED, messages=HISTORY).parse()
    with client.messages.with_streaming_response.create(**ASKED, messages=HISTORY) as response:
        response.read()


def runner(client: anthropic.Anthropic) -> None:
    @beta_tool
    def look(b: int) -> str:
        """Looks.

        Args:
            b: where
        """
        return f"found {b}"

    client.beta.messages.tool_runner(**ASKED, messages=HELLO, tools=[look], thread=False).until_done()
    client.beta.messages.tool_runner(**ASKED, messages=HELLO, tools=[look]).until_done()


def changed_in_place(client: anthropic.Anthropic) -> None:
    """Messages that earlier calls had become others of the same length, equality and form, one after the other."""
    create: Any = client.messages.create
    calls: list[Any] = [{"type": "tool_use", "id": f"c{n}", "name": "look", "input": {"n": 1}} for n in (1, 2)]
    results: list[Any] = [{"type": "tool_result", "tool_use_id": f"c{n}", "content": "found"} for n in (1, 2)]
    together: list[Any] = [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    messages: list[Any] = [*HELLO]
    for call, result in zip(calls, results, strict=True):
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        create(**ASKED, messages=messages, system="Be kind.")
    for change in (
        lambda: calls[0]["input"].update(n=True),
        lambda: calls[1]["input"].update(n=1.0),
        lambda: results[0].update(content="other"),
        lambda: messages.__setitem__(slice(1, None), together),
    ):
        change()
        for more in ({"system": "Be kind."}, {}, {"system": "Be unkind."}):
            create(**ASKED, messages=messages, **more)


def threads(client: anthropic.Anthropic) -> None:
    thread = client.beta.messages.thread(**ASKED, messages=HELLO, system="Be kind.", tools=[TOOL])
    for n in range(3):
        thread.send({"role": "user", "content": f"and {n}?"})


def later(client: anthropic.Anthropic) -> None:
    async def ask() -> None:
        async with anthropic.AsyncAnthropic(base_url=client.base_url, api_key="none", max_retries=0) as asynchronous:
            create: Any = asynchronous.messages.create
            await asyncio.gather(*(create(**ASKED, messages=HISTORY[:upto]) for upto in range(1, 9)))
            async with asynchronous.messages.stream(**ASKED, messages=HISTORY) as stream:
                await stream.get_final_message()

    asyncio.run(ask())


def answer_in_form(request: ChatRequest) -> Any:
    return text('[{"n": 1}]' if '"array"' in json.dumps(request.body) else '{"n": 1}')


ASKING = (growing, cached_turns, tool_loop, settings, edited_history, changed_in_place)
OTHERWISE = (streams, parsed, raw, runner, threads, later)


@pytest.mark.parametrize("ask", [*ASKING, *OTHERWISE], ids=lambda ask: ask.__name__)
@pytest.mark.covers("anthropic", "messages")
def test_the_request_is_given_back_as_the_server_received_it(
    reader: Client, server: MockModelServer, client: anthropic.Anthropic, ask: Callable[[anthropic.Anthropic], None]
):
    if ask in (tool_loop, runner):
        looked = tool_calls(tool_call("look", {"b": 1}), tool_call("look", {"b": 2}))
        server.when(~tool_result_received("look"), thinking("Let me look.") + text("I look.") + looked)
    server.otherwise(answer_in_form)
    with playhead.run("agent") as run:
        ask(client)
    assert playhead.flush(60)
    assert run.id is not None
    calls = list(reader.llm_calls(run.id))
    rebuilt = [reader.context(run.id, at=call["seq"], exact=True).get("request") for call in calls]
    sent = [request.body for request in server.requests]
    for ours, theirs in zip(sorted(map(as_text, rebuilt)), sorted(map(as_text, sent)), strict=True):
        assert ours == theirs
    assert len(rebuilt) >= 2

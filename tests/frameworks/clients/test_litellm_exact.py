"""`context?exact=true` of LiteLLM: the body that the mock server received, key by key, whichever provider it is for."""

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network when it is imported

import litellm
import pytest

import playhead
from playhead.client import Client
from playhead.testing import (
    MockModelServer,
    Rule,
    pytest_plugin,
    rate_limit,
    server_error,
    text,
    tool_call,
    tool_result_received,
)
from playhead_collector.process import CollectorProcess

server = pytest_plugin.mock_model_server
TOOLS: list[Any] = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"b": 1.0, "a": "\\u00e9"}'}}
HISTORY: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "What is this?"}, {"type": "text", "text": "And this?"}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "found"},
    {"role": "user", "content": "Go on."},
]


@pytest.fixture(scope="module")
def collector() -> Iterator[CollectorProcess]:
    with CollectorProcess() as collector:
        yield collector


@pytest.fixture
def reader(collector: CollectorProcess, tmp_path: Path) -> Iterator[Client]:
    with Client(collector.url) as client:
        playhead.shutdown()
        playhead.configure(endpoint=collector.url, journal_dir=tmp_path / "journal", record="always")
        playhead.instrument()
        yield client
        playhead.shutdown()
        playhead.uninstrument()


def as_text(value: Any) -> str:
    """Tells 1, 1.0 and true apart, and a key that is null from one that is not there."""
    return json.dumps(value, sort_keys=True, indent=1)


def at(server: MockModelServer, provider: str) -> dict[str, Any]:
    """Arguments that say which model is asked, and where it is."""
    models = {
        "openai": ("openai/gpt-x", server.base_url),
        "azure": ("azure/gpt-4o", server.url),
        "deepseek": ("deepseek/m", server.base_url),
        "anthropic": ("anthropic/claude-sonnet-4-5", server.url),
        "gemini": ("gemini/gemini-2.5-flash", f"{server.url}/v1beta"),
        "bedrock": ("bedrock/converse/anthropic.claude-3-5-sonnet-20240620-v1:0", server.url),
    }
    model, base = models[provider]
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "aws_region_name": "us-east-1"}
    more = keys if provider == "bedrock" else {"api_version": "2024-10-21"} if provider == "azure" else {}
    return {"model": model, "api_base": base, "api_key": "none", "max_retries": 0, **more}


def growing(server: MockModelServer, provider: str) -> None:
    """A conversation that grows, plain and streamed, as the program's arguments and as what it got back."""
    for upto in (2, 4, 5):
        litellm.completion(messages=HISTORY[:upto], tools=TOOLS, temperature=0.5, max_tokens=9, **at(server, provider))
    for _ in litellm.completion(messages=HISTORY, tools=TOOLS, stream=True, **at(server, provider)):
        pass


def tool_loop(server: MockModelServer, provider: str) -> None:
    messages: list[Any] = [{"role": "user", "content": "Look."}]
    for is_streamed in (False, True):
        for _ in range(2):
            answer: Any = litellm.completion(messages=messages, tools=TOOLS, stream=is_streamed, **at(server, provider))
            if is_streamed:
                answer = litellm.stream_chunk_builder(list(answer))
            message = answer.choices[0].message
            messages.append(message)
            called: list[Any] = message.tool_calls or []
            messages += [{"role": "tool", "tool_call_id": call.id, "content": "1"} for call in called]
        messages.append({"role": "user", "content": "Again."})


def later(server: MockModelServer, provider: str) -> None:
    async def ask() -> None:
        where = at(server, provider)
        await asyncio.gather(*(litellm.acompletion(messages=HISTORY[:upto], **where) for upto in (2, 5)))
        stream: Any = await litellm.acompletion(messages=HISTORY, stream=True, **where)
        async for _ in stream:
            pass
        await litellm.close_litellm_async_clients()  # pyright: ignore - no part of its stubs

    asyncio.run(ask())


def changed_while_streamed(server: MockModelServer, provider: str) -> None:
    messages: list[Any] = [*HISTORY]
    for _ in litellm.completion(messages=messages, stream=True, **at(server, provider)):
        messages += [{"role": "user", "content": "and this?"}]


def settings(server: MockModelServer, provider: str) -> None:
    more: dict[str, Any] = {"extra_headers": {"x-a": "1"}, "timeout": 20, "metadata": {"of": "ours"}}
    litellm.completion(messages=HISTORY[:2], stop=["x"], top_p=1, **more, **at(server, provider))
    if provider == "openai":
        extra = {"top_k": 5, "nothing": None}
        litellm.completion(messages=HISTORY[:2], extra_body=extra, seed=3, **at(server, provider))


ASKING = (growing, tool_loop, later, changed_while_streamed, settings)
PROVIDERS = ("openai", "azure", "deepseek", "anthropic", "gemini", "bedrock")


def assert_contexts_are_the_bodies(reader: Client, run: str | None, bodies: list[Any]) -> None:
    assert playhead.flush(60)
    assert run is not None
    calls = list(reader.llm_calls(run))
    rebuilt = [reader.context(run, at=call["seq"], exact=True).get("request") for call in calls]
    for ours, theirs in zip(sorted(map(as_text, rebuilt)), sorted(map(as_text, bodies)), strict=True):
        assert ours == theirs
    assert rebuilt


@pytest.mark.covers("litellm", "messages", "streaming")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_request_is_given_back_as_the_server_received_it(reader: Client, server: MockModelServer, provider: str):
    server.when(~tool_result_received("look"), tool_call("look", {"b": 1}))
    server.otherwise(text("fine"))
    with playhead.run("agent") as run:
        for ask in ASKING:
            ask(server, provider)
    assert_contexts_are_the_bodies(reader, run.id, [request.body for request in server.requests])


def routed(server: MockModelServer) -> litellm.Router:
    """Two deployments of one group, one after the other, and groups of other providers to fall back to."""
    where = {name: at(server, name) for name in ("openai", "deepseek", "anthropic")}
    deployments = [
        ("two", {**where["openai"], "model": "openai/one", "order": 1}),
        ("two", {**where["openai"], "model": "openai/other", "order": 1}),
        ("limited", {**where["openai"], "model": "openai/limited"}),
        ("deepseek", where["deepseek"]),
        ("broken", {**where["openai"], "model": "openai/broken"}),
        ("anthropic", where["anthropic"]),
    ]
    server.when(Rule("limited", lambda request: request.model == "limited"), rate_limit(0))
    server.when(Rule("broken", lambda request: request.model == "broken"), server_error())
    return litellm.Router(
        model_list=[{"model_name": name, "litellm_params": how} for name, how in deployments],
        fallbacks=[{"limited": ["deepseek"]}, {"broken": ["anthropic"]}],
        num_retries=0,
    )


def plain(router: litellm.Router, group: str) -> None:
    router.completion(group, HISTORY, tools=TOOLS)


def streamed(router: litellm.Router, group: str) -> None:
    stream: Any = router.completion(group, HISTORY, stream=True)
    assert list(stream)


def asynchronous(router: litellm.Router, group: str) -> None:
    async def ask() -> None:
        await router.acompletion(group, HISTORY)
        stream: Any = await router.acompletion(group, HISTORY, stream=True)
        assert [chunk async for chunk in stream]
        await litellm.close_litellm_async_clients()  # pyright: ignore - no part of its stubs

    asyncio.run(ask())


@pytest.mark.covers("litellm", "messages", "errors")
@pytest.mark.parametrize("ask", [plain, streamed, asynchronous], ids=lambda ask: ask.__name__)
def test_of_a_router_it_is_the_body_that_the_deployment_received_which_answered(
    reader: Client, server: MockModelServer, ask: Callable[[litellm.Router, str], None]
):
    server.otherwise(text("fine"))
    router = routed(server)
    with playhead.run("agent") as run:
        for group in ("two", "two", "two", "two", "limited", "broken", "deepseek"):
            ask(router, group)
    answered = [request.body for request in server.requests if request.model not in ("limited", "broken")]
    assert len(server.requests) > len(answered)
    assert_contexts_are_the_bodies(reader, run.id, answered)


@pytest.mark.covers("litellm", "errors")
def test_of_fallbacks_and_of_a_call_that_failed_it_is_the_body_that_was_sent_last(
    reader: Client, server: MockModelServer
):
    server.when(Rule("gpt-x", lambda request: request.model == "gpt-x"), server_error())
    server.otherwise(text("fine"))
    where = {**at(server, "openai"), "num_retries": 0}
    with playhead.run("agent") as run:
        litellm.completion(messages=HISTORY, fallbacks=["openai/other"], **where)
        for is_streamed in (False, True):
            with pytest.raises(litellm.InternalServerError):
                litellm.completion(messages=HISTORY[:2], stream=is_streamed, **where)
    _, other, *failed = [request.body for request in server.requests]
    assert (other["model"], len(failed)) == ("other", 2)
    assert_contexts_are_the_bodies(reader, run.id, [other, *failed])

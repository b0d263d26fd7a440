"""LiteLLM over loopback: one call each, whoever answers it, and the same answers again from the record."""

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network when it is imported

import litellm
import pytest

import playhead
from playhead.dialect import openai_chat as dialect
from playhead.model import names
from playhead.model.span import Span
from playhead.testing import (
    MockModelServer,
    Rule,
    contains,
    dropped_connection,
    pytest_plugin,
    rate_limit,
    server_error,
    text,
    thinking,
    tool_call,
    tool_result_received,
)
from tests.support.journal_reader import Journaled, Recording, start_recording
from tests.support.provider_chats.conversation import hold
from tests.support.provider_chats.openai_chat import OpenAIChat

server = pytest_plugin.mock_model_server
HELLO: list[Any] = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hello"}]
TOOLS: list[Any] = [{"type": "function", "function": {"name": "lookup", "parameters": {"type": "object"}}}]


def model(name: str) -> Rule:
    return Rule(f"model {name}", lambda request: request.model == name)


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument()  # the clients underneath as well
        yield recording
        playhead.uninstrument()


@pytest.fixture
def at(server: MockModelServer) -> dict[str, Any]:
    """Arguments that say where the model is."""
    server.otherwise(text("fine, and how are you today?"))
    return {"api_base": server.base_url, "api_key": "sk-secret-key", "num_retries": 0, "max_retries": 0}


def essence(message: Any) -> Any:
    """What a message says, whatever LiteLLM leaves out of it or adds to it for a provider."""
    called = [(call["id"], call["function"]) for call in message.get("tool_calls") or ()]
    return message["role"], message.get("content") or None, called, message.get("tool_call_id")


def calls_in(recording: Recording, kind: str = "llm") -> tuple[Journaled, list[Span]]:
    seen = recording.read()
    return seen, [span for span in seen.spans if span.attributes[names.KIND] == kind]


def again(server: MockModelServer, program: Callable[[], Any]) -> tuple[Any, Any]:
    """What the program gave live, and what it gives from the record; no request is made for the second."""
    with playhead.run("r") as run:
        live = program()
    requests = len(server.requests)
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        replayed = program()
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])
    return live, replayed


@pytest.mark.covers("litellm", "spans", "messages", "usage")
def test_a_call_is_one_call_and_its_messages_are_those_of_every_provider(
    recording: Recording, server: MockModelServer, at: Any
):
    answer = litellm.completion("openai/gpt-x", HELLO, temperature=0.5, max_tokens=9, **at)
    seen, [call] = calls_in(recording)
    said = call.attributes
    assert (said[names.PROVIDER], said[names.REQUEST_MODEL], said[names.RESPONSE_MODEL]) == (
        "openai", "openai/gpt-x", "gpt-x",
    )  # fmt: skip
    assert (said[names.REQUEST_TEMPERATURE], said[names.REQUEST_MAX_TOKENS]) == (0.5, 9)
    assert said[names.INPUT_TOKENS] == answer.usage.prompt_tokens
    assert said[names.OUTPUT_TOKENS] == answer.usage.completion_tokens
    assert said[names.FINISH_REASONS] == ["stop"]
    [system, user] = seen.messages(said[names.INPUT_MESSAGES_REF])
    assert system == {"role": "system", "parts": [{"type": "text", "content": "be kind"}]}
    assert user == {"role": "user", "parts": [{"type": "text", "content": "hello"}]}
    [output] = seen.messages(said[names.OUTPUT_MESSAGES_REF])
    assert output == {"role": "assistant", "parts": [{"type": "text", "content": "fine, and how are you today?"}]}
    assert server.requests[0].messages == HELLO
    assert b"sk-secret-key" not in b"".join(content.data for content in seen.contents.values())


@pytest.mark.covers("litellm", "tools")
def test_a_conversation_with_tools_has_the_same_messages_as_output_and_as_input(
    recording: Recording, server: MockModelServer, at: Any
):
    server.when(~tool_result_received("lookup"), thinking("hm") + tool_call("lookup", {"order": "A1"}))
    messages: list[Any] = list(HELLO)
    with playhead.run("r"):
        first = litellm.completion(model="openai/m", messages=messages, tools=TOOLS, **at)
        [asked] = first.choices[0].message.tool_calls
        messages += [first.choices[0].message, {"role": "tool", "tool_call_id": asked.id, "content": "lost"}]
        litellm.completion(model="openai/m", messages=messages, tools=TOOLS, **at)
    seen, [one, two] = calls_in(recording)
    assert seen.value(one, names.TOOL_DEFINITIONS_REF) == TOOLS
    assert one.attributes[names.FINISH_REASONS] == ["tool_calls"]
    [output] = seen.messages(one.attributes[names.OUTPUT_MESSAGES_REF])
    _, _, assistant, result = seen.messages(two.attributes[names.INPUT_MESSAGES_REF])
    called = [part for part in assistant["parts"] if part["type"] == "tool_call"]
    assert called == [part for part in output["parts"] if part["type"] == "tool_call"]
    assert called[0]["arguments"] == {"order": "A1"}
    assert result["parts"][0]["response"] == "lost"
    for call, request in zip((one, two), server.requests, strict=True):
        sent = [dialect.from_message(message) for message in seen.messages(call.attributes[names.INPUT_MESSAGES_REF])]
        assert [essence(message) for message in sent] == [essence(message) for message in request.messages]


@pytest.mark.covers("litellm", "reasoning")
def test_what_the_model_thought_is_apart_from_its_answer(recording: Recording, server: MockModelServer, at: Any):
    server.when(contains("hello"), thinking("the user greets") + text("hi"))
    answer = litellm.completion(model="openai/m", messages=HELLO, **at)
    assert answer.choices[0].message.reasoning_content == "the user greets"
    seen, [call] = calls_in(recording)
    assert seen.value(call, names.REASONING_REF) == "the user greets"


@pytest.mark.covers("litellm", "streaming", "resume")
def test_streams_come_back_chunk_by_chunk(server: MockModelServer, recording: Recording, at: Any):
    def program() -> Any:
        stream = litellm.completion(model="openai/m", messages=HELLO, stream=True, **at)
        assert isinstance(stream, litellm.CustomStreamWrapper)
        chunks = list(stream)
        return [chunk.model_dump() for chunk in chunks], litellm.stream_chunk_builder(chunks).choices

    live, replayed = again(server, program)
    assert replayed == live
    _, [call] = calls_in(recording)
    assert call.attributes[names.TIME_TO_FIRST_CHUNK] >= 0
    assert call.attributes[names.FINISH_REASONS] == ["stop"]


def test_asynchronous_streams_come_back_chunk_by_chunk(server: MockModelServer, recording: Recording, at: Any):
    async def ask() -> Any:
        stream = await litellm.acompletion(model="openai/m", messages=HELLO, stream=True, **at)
        return [chunk.model_dump() async for chunk in stream]

    live, replayed = again(server, lambda: asyncio.run(ask()))
    assert replayed == live
    assert len(live) > 2
    assert len(calls_in(recording)[1]) == 1


@pytest.mark.covers("litellm", "resume")
@pytest.mark.parametrize("is_async", [False, True])
def test_an_answer_comes_back_as_it_was(server: MockModelServer, at: Any, is_async: bool):
    server.when(contains("hello"), thinking("hm") + text("x") + tool_call("lookup", {"a": 1}))

    def program() -> Any:
        if is_async:
            return asyncio.run(litellm.acompletion(model="openai/m", messages=HELLO, tools=TOOLS, **at))
        return litellm.completion(model="openai/m", messages=HELLO, tools=TOOLS, **at)

    live, replayed = again(server, program)
    assert type(replayed) is litellm.ModelResponse
    assert replayed.model_dump() == live.model_dump()
    assert replayed._hidden_params["custom_llm_provider"] == live._hidden_params["custom_llm_provider"]


def test_fallbacks_are_one_call_and_name_who_answered(recording: Recording, server: MockModelServer, at: Any):
    server.when(model("bad"), server_error())
    answer = litellm.completion(
        model="openai/bad", messages=HELLO, fallbacks=[{"model": "deepseek/good", "api_key": "sk-other-secret"}], **at
    )
    assert answer.model.endswith("good")
    seen, [call] = calls_in(recording)
    assert call.attributes[names.PROVIDER] == "deepseek"
    assert call.status == 0
    assert b"sk-other-secret" not in b"".join(content.data for content in seen.contents.values())


def routed(server: MockModelServer) -> Any:
    """A router with two deployments of one group, and a group to fall back to."""
    server.when(model("gpt-a"), rate_limit(0))
    at = {"api_base": server.base_url, "api_key": "sk-secret-key"}
    return litellm.Router(
        model_list=[
            {"model_name": "fast", "litellm_params": {"model": "openai/gpt-a", **at}},
            {"model_name": "slow", "litellm_params": {"model": "deepseek/gpt-b", **at}},
        ],
        fallbacks=[{"fast": ["slow"]}],
        num_retries=0,
    )


@pytest.mark.parametrize("is_async", [False, True])
def test_a_router_is_one_call_whichever_deployment_answers(
    recording: Recording, server: MockModelServer, at: Any, is_async: bool
):
    router = routed(server)

    def program() -> Any:
        if is_async:
            return asyncio.run(router.acompletion(model="fast", messages=HELLO))
        return router.completion("fast", HELLO)

    live, replayed = again(server, program)
    assert replayed.model_dump() == live.model_dump()
    _, [call] = calls_in(recording)
    assert (call.attributes[names.REQUEST_MODEL], call.attributes[names.PROVIDER]) == ("fast", "deepseek")
    assert call.attributes[names.RESPONSE_MODEL].endswith("gpt-b")


def test_a_routers_stream_is_one_call(recording: Recording, server: MockModelServer, at: Any):
    router = routed(server)
    live, replayed = again(
        server, lambda: [chunk.model_dump() for chunk in router.completion("slow", HELLO, stream=True)]
    )
    assert replayed == live
    assert len(calls_in(recording)[1]) == 1


@pytest.mark.covers("litellm", "spans", "resume")
@pytest.mark.parametrize("is_async", [False, True])
def test_embeddings_are_recorded_and_answered_again(
    recording: Recording, server: MockModelServer, at: Any, is_async: bool
):
    def program() -> Any:
        how = {"model": "openai/e", "input": ["a", "b"], **at}
        return asyncio.run(litellm.aembedding(**how)) if is_async else litellm.embedding(**how)

    live, replayed = again(server, program)
    assert replayed.model_dump() == live.model_dump()
    assert type(replayed) is litellm.EmbeddingResponse
    seen, [call] = calls_in(recording, "embedding")
    assert seen.value(call, names.INPUT_REF) == ["a", "b"]
    assert call.attributes[names.PROVIDER] == "openai"
    assert call.attributes[names.INPUT_TOKENS] > 0


@pytest.mark.covers("litellm", "errors")
def test_an_error_is_litellms_own_and_is_raised_again(recording: Recording, server: MockModelServer, at: Any):
    server.when(contains("hello"), rate_limit(0))

    def program() -> Any:
        with pytest.raises(litellm.RateLimitError) as raised:
            litellm.completion(model="openai/m", messages=HELLO, **at)
        return raised.value.status_code, raised.value.llm_provider, str(raised.value)

    live, replayed = again(server, program)
    assert replayed == live
    _, [call] = calls_in(recording)
    assert (call.status, call.attributes[names.ERROR_TYPE]) == (2, "litellm.exceptions.RateLimitError")


def test_a_stream_that_breaks_is_recorded_until_there(recording: Recording, server: MockModelServer, at: Any):
    server.when(contains("hello"), dropped_connection(text("one two three four five six seven"), after_chunks=3))

    def program() -> Any:
        got: list[Any] = []
        with pytest.raises(Exception, match="peer closed") as raised:
            got.extend(litellm.completion(model="openai/m", messages=HELLO, stream=True, **at))
        return [chunk.model_dump() for chunk in got], type(raised.value)

    live, replayed = again(server, program)
    assert replayed == live
    _, [call] = calls_in(recording)
    assert call.status == 2


def test_a_stream_that_is_left_is_aborted(recording: Recording, at: Any):
    stream = litellm.completion(model="openai/m", messages=HELLO, stream=True, **at)
    next(stream)
    del stream
    _, [call] = calls_in(recording)
    assert call.attributes[names.OUTCOME] == "aborted"


async def test_a_cancelled_call_is_cancelled(recording: Recording, server: MockModelServer):
    at = {"api_base": server.base_url, "api_key": "none", "max_retries": 0}
    slow = MockModelServer(latency_seconds=30)
    slow.otherwise(text("late"))
    with slow:
        task = asyncio.create_task(
            litellm.acompletion(model="openai/m", messages=HELLO, **{**at, "api_base": slow.base_url})
        )
        while not slow.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    _, [call] = calls_in(recording)
    assert call.attributes[names.OUTCOME] == "cancelled"


@pytest.mark.covers("litellm", "fork")
@pytest.mark.parametrize("stream", [False, True])
def test_a_fork_says_another_message(server: MockModelServer, at: Any, stream: bool):
    def program() -> str:
        answer = litellm.completion(model="openai/m", messages=HELLO, stream=stream, **at)
        if not stream:
            return answer.choices[0].message.content
        return "".join(chunk.choices[0].delta.content or "" for chunk in answer)

    with playhead.run("r") as run:
        live = program()
    with playhead.fork(run.id, at="chat", outcome="otherwise"), playhead.run("r"):
        assert program() == "otherwise" != live
    assert len(server.requests) == 1


@pytest.mark.covers("litellm", "fork")
def test_a_forked_answer_has_a_usage_as_all_answers_of_the_library(at: Any):
    with playhead.run("r") as run:
        litellm.completion(model="openai/m", messages=HELLO, **at)
    with playhead.fork(run.id, at="chat", outcome="otherwise"), playhead.run("r"):
        answer: Any = litellm.completion(model="openai/m", messages=HELLO, **at)
    assert type(answer.usage) is litellm.Usage
    assert dict(answer.usage)["total_tokens"] == 0


@pytest.mark.covers("litellm", "fork")
def test_a_fork_asks_with_other_messages(server: MockModelServer, at: Any):
    with playhead.run("r") as run:
        litellm.completion("openai/m", HELLO, **at)
    with playhead.fork(run.id, at="chat", outcome={"messages": {1: "goodbye"}}), playhead.run("r"):
        litellm.completion("openai/m", HELLO, **at)
    assert [request.messages[1]["content"] for request in server.requests] == ["hello", "goodbye"]


def test_uninstrumented_it_is_as_it_was(recording: Recording, at: Any):
    playhead.uninstrument()
    assert not hasattr(litellm.completion, "_self_wrapper")
    litellm.completion(model="openai/m", messages=HELLO, **at)
    assert calls_in(recording)[1] == []


# --- the same conversation -------------------------------------------------------------------------------------------


class LiteLLMChat(OpenAIChat):
    """The conversation of tests/wire/test_same_conversation.py, whose other columns are in another environment."""

    def complete(self, **asked: Any) -> Any:
        asked["model"] = f"openai/{asked['model']}"
        return litellm.completion(client=self.openai_client, **asked)

    def connect(self) -> Any:
        self.openai_client = super().connect()
        return LiteLLMClient(self)


class LiteLLMClient:
    """Called as a client of `openai` is."""

    def __init__(self, chat: LiteLLMChat):
        self.chat = self.completions = self
        self.create = chat.complete
        self.close = chat.openai_client.close


def test_the_same_conversation_has_the_threads_that_it_has_with_the_providers_own_clients(
    recording: Recording, golden: Callable[[str, str], None]
):
    hold(LiteLLMChat)
    _, calls = calls_in(recording)
    threads = [str(call.attributes[names.INPUT_MESSAGES_REF]) for call in calls]
    assert len(calls) == 6
    golden("same_conversation/threads.txt", "\n".join(threads) + "\n")


def test_another_caller_is_answered_on_resume(at: dict[str, Any], server: MockModelServer) -> None:
    def ask(who: str) -> None:
        callers: Any = {"user": who, "metadata": {"trace_user_id": who}, "extra_headers": {"x-by": who}}
        with playhead.run("agent"):
            litellm.completion(model="openai/m", messages=HELLO, litellm_session_id=who, **callers, **at)
            litellm.embedding(model="openai/e", input=["hello"], user=who, metadata={"by": who}, **at)

    with playhead.run("all") as run:
        ask("ann")
    asked = len(server.requests)
    with playhead.resume(str(run.id)) as resumed, playhead.run("all"):
        ask("bob")
    assert (resumed.report.live, len(server.requests)) == (0, asked)

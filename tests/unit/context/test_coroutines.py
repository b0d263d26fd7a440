"""Contexts in coroutines: the event loop goes on while a summary is written, and clients may be asynchronous."""

import asyncio
from typing import Any

import anthropic
import openai
import pytest

import playhead
from playhead.context import Compression, Context, Keep, LlmSummary
from playhead.models import AnthropicModel, Model, ModelRequest, ModelResponse, OpenAIModel
from playhead.testing import MockModelServer, contains, text

WRITTEN = "Summary of the conversation so far:\n\nIt was about words."


class Asynchronous(Model):
    """A model that can be awaited only. It answers when it is told to."""

    name = "asynchronous"  # pyright: ignore[reportAssignmentType]

    def __init__(self) -> None:
        self.asked, self.may_answer = asyncio.Event(), asyncio.Event()
        self.cancelled = 0

    def complete(self, request: ModelRequest) -> ModelResponse:
        raise RuntimeError("asked without await")

    async def complete_async(self, request: ModelRequest) -> ModelResponse:
        self.asked.set()
        try:
            await self.may_answer.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return ModelResponse({"role": "assistant", "parts": [{"type": "text", "content": "short"}]}, self.name)


def full(model: Model, **more: Any) -> Context:
    policy = Compression(limit=1_000, keep=Keep(messages=3), strategy=LlmSummary(model=model), fallback=None)
    context = Context(system="s", compression=policy, **more)
    for number in range(17):
        context.add("user" if number % 2 == 0 else "assistant", f"{number}: {'word ' * 50}")
    return context


def texts(context: Context) -> list[str]:
    return [entry.text.partition(":")[0] for entry in context.messages]


@pytest.fixture
def server() -> MockModelServer:
    server = MockModelServer(models=("gpt-4o", "mock-claude"))
    server.when(contains("Summarise the conversation"), text("It was about words."))
    server.otherwise(text("Fine. " + "word " * 100))
    return server


async def test_summaries_are_asked_of_asynchronous_clients(server: MockModelServer):
    for model in (
        OpenAIModel("gpt-4o", client=openai.AsyncOpenAI(api_key="k", http_client=server.async_http_client())),
        AnthropicModel(
            "mock-claude", client=anthropic.AsyncAnthropic(api_key="k", http_client=server.async_http_client())
        ),
    ):
        context = full(model)
        await context.for_model_async()
        assert texts(context) == ["s", "Summary of the conversation so far", "14", "15", "16"]
        by_hand = full(model)
        assert (await by_hand.compress_async("done")).summary == WRITTEN


async def test_an_agent_with_an_asynchronous_client_has_its_context_summarised(server: MockModelServer):
    client = openai.AsyncOpenAI(api_key="k", http_client=server.async_http_client())
    made: list[Any] = []
    policy = Compression(limit=600, keep=Keep(messages=3), fallback=None, after=made.append)
    agent = playhead.Agent(model=OpenAIModel("gpt-4o", client=client), compression=policy)

    @agent.execute
    async def loop(ctx: Any, ask: Any) -> str:
        for number in range(4):
            ctx.add("user", f"{ask.prompt} {number}")
            answer = await ctx.call()
        return answer.text

    await agent.run("question")
    assert [report.summary for report in made] == [WRITTEN]


async def test_the_loop_goes_on_while_a_summary_is_written_and_what_is_added_meanwhile_stays():
    model = Asynchronous()
    context = full(model)
    waits = asyncio.create_task(context.for_model_async())
    await model.asked.wait()
    assert context.stats.messages == 18
    context.add("user", "meanwhile: more")
    context.instruct("another: prompt")
    assert len(await context.for_model_async()) == 19  # of the other task, without a second summary
    assert context.compress().reason == "another compression of this context is under way"
    model.may_answer.set()
    sent = await waits
    assert texts(context) == ["another", "Summary of the conversation so far", "14", "15", "16", "meanwhile"]
    assert [message["content"][:9] for message in sent] == [entry.text[:9] for entry in context.messages]
    assert context.stats.compressions == 1
    assert [entry.text.partition(":")[0] for entry in context.history][-1] == "meanwhile"


async def test_a_cancelled_compression_leaves_the_context_as_it_was():
    model = Asynchronous()
    context = full(model)
    before = context.messages
    waits = asyncio.create_task(context.for_model_async())
    await model.asked.wait()
    waits.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits
    assert (model.cancelled, context.messages, context.stats.compressions) == (1, before, 0)
    model.may_answer.set()
    assert (await context.compress_async()).summary == "Summary of the conversation so far:\n\nshort"


async def test_a_system_prompt_that_is_read_before_the_messages_asks_for_no_summary():
    """`create(system=context.system, messages=await context.for_model_async())`"""
    model = Asynchronous()
    model.may_answer.set()
    context = full(model, api="anthropic")
    assert context.system == "s"
    assert context.stats.messages == 18
    await context.for_model_async()
    assert (context.system, context.stats.checkpoints) == ("s", 1)


async def test_a_refused_context_is_shortened_without_blocking_the_loop():
    class BadRequest(Exception):
        code = "context_length_exceeded"

    model = Asynchronous()
    context = full(model)
    model.may_answer.set()
    assert not await context.refused_async(ValueError("no such model"))
    assert await context.refused_async(BadRequest("too long"))
    assert texts(context)[1] == "Summary of the conversation so far"


async def test_items_of_a_framework_are_followed_without_blocking_the_loop():
    model = Asynchronous()
    model.may_answer.set()
    policy = Compression(limit=1_000, keep=Keep(messages=3), strategy=LlmSummary(model=model), fallback=None)
    context = Context(compression=policy)
    items = [{"role": "user" if number % 2 == 0 else "assistant", "content": "word " * 50} for number in range(17)]
    assert len(await context.follow_async(items)) == 4
    assert len(await context.follow_async([*items, {"role": "assistant", "content": "yes"}])) == 5

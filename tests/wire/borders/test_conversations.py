"""Calls of one thread that nothing started together: their messages say which of them are one run."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest

import playhead
from playhead import observe
from playhead.calls.borders import WorkBorder
from playhead.testing import MockModelServer, sequence, text, tool_call
from playhead.testing.recorder import RunRecorder

Said = tuple[str, str]
SYSTEM, HELLO = ("system", "You are kind."), ("user", "Hello!")
Ask = Callable[..., Any]


@observe(kind="tool")
def refund(amount: int) -> int:
    return amount


@observe(kind="tool")
def cancel(order: str) -> str:
    return order


@pytest.fixture
def ask(mock_model: MockModelServer, playhead_recorder: RunRecorder) -> Iterator[Ask]:
    """Asks a model in one worker thread, and returns the message that it answers."""
    mock_model.when(sequence(1), text("this is the first answer"))
    mock_model.when(sequence(2), text("this is the second answer"))
    mock_model.otherwise(text("yes"))
    playhead.instrument("openai")

    def call(*said: Said) -> Any:
        asked: Any = [{"role": role, "content": content} for role, content in said]
        return openai.OpenAI().chat.completions.create(model="m", messages=asked).choices[0].message

    with ThreadPoolExecutor(1) as pool:
        yield lambda *said: pool.submit(call, *said).result()
    playhead.uninstrument()


def calls(recorder: RunRecorder) -> list[int]:
    """The number of model calls and tool calls of each run."""
    return [len(run.llm_calls) + len(run.tool_calls) for run in recorder.runs]


def test_a_conversation_goes_on_whatever_comes_between(ask: Ask, playhead_recorder: RunRecorder):
    first = ask(SYSTEM, HELLO).content
    ask(SYSTEM, ("user", "Is anybody there?"))
    ask(SYSTEM, HELLO, ("assistant", first), ("user", "And then?"))
    assert calls(playhead_recorder) == [2, 1]
    assert [run.name for run in playhead_recorder.runs] == ["ThreadPoolExecutor"] * 2
    assert {run.status for run in playhead_recorder.runs} == {"completed"}


@pytest.mark.parametrize(
    "second",
    [
        (SYSTEM, HELLO),
        (SYSTEM, HELLO, ("user", "Hello?")),
        (SYSTEM, ("user", "Hi!"), ("assistant", "this is the first answer"), ("user", "And then?")),
        (("system", "You are strict."), HELLO, ("assistant", "this is the first answer"), ("user", "And then?")),
        (SYSTEM, ("user", "first answer")),
    ],
    ids=["the same question", "no answer between", "another question", "another prompt", "a part of the answer"],
)
def test_what_is_only_alike_or_only_follows_is_another_run(
    second: tuple[Said, ...], ask: Ask, playhead_recorder: RunRecorder
):
    ask(SYSTEM, HELLO)
    ask(*second)
    assert calls(playhead_recorder) == [1, 1]


def test_an_answer_that_is_given_to_another_model_links_them(ask: Ask, playhead_recorder: RunRecorder):
    ask(("system", "You are a customer."), HELLO)
    second = ask(SYSTEM, ("user", "this is the first answer"))
    ask(("system", "You are a customer."), HELLO, ("assistant", "this is the first answer"), ("user", second.content))
    assert calls(playhead_recorder) == [3]


def test_a_short_answer_links_nothing(ask: Ask, playhead_recorder: RunRecorder):
    for question in ("one", "two", "three"):
        ask(SYSTEM, ("user", question))
    ask(("system", "You are strict."), ("user", "yes"))
    assert calls(playhead_recorder) == [1, 1, 1, 1]


def test_a_conversation_in_another_thread_is_another_run(ask: Ask, playhead_recorder: RunRecorder):
    first = ask(SYSTEM, HELLO).content
    asked: Any = [
        {"role": role, "content": content} for role, content in (SYSTEM, HELLO, ("assistant", first), ("user", "Yes?"))
    ]
    with ThreadPoolExecutor(1) as other:
        other.submit(lambda: openai.OpenAI().chat.completions.create(model="m", messages=asked)).result()
    assert calls(playhead_recorder) == [1, 1]


async def test_a_conversation_goes_on_after_what_started_it_has_ended(
    mock_model: MockModelServer, playhead_recorder: RunRecorder, monkeypatch: pytest.MonkeyPatch
):
    """A request is answered at once, and its work goes on in a task."""
    mock_model.otherwise(text("this is an answer"))
    playhead.instrument("openai")
    released, messages = asyncio.Event(), [{"role": "user", "content": "Hello!"}]

    async def converse() -> None:
        async with openai.AsyncOpenAI() as client:
            for question in ("And then?", "And then?"):
                given: Any = messages
                answer = (await client.chat.completions.create(model="m", messages=given)).choices[0].message.content
                messages.extend([{"role": "assistant", "content": str(answer)}, {"role": "user", "content": question}])
                released.set()
                await ended.wait()
            other: Any = [{"role": "user", "content": "What else?"}]
            await client.chat.completions.create(model="m", messages=other)

    ended = asyncio.Event()
    with WorkBorder("POST /ask").current():
        work = asyncio.create_task(converse())
        await released.wait()
    ended.set()
    await work
    playhead.uninstrument()
    assert [(run.name, len(run.llm_calls)) for run in playhead_recorder.runs] == [("POST /ask", 3)]


def test_a_tool_belongs_to_the_run_whose_model_asked_for_it(
    mock_model: MockModelServer, playhead_recorder: RunRecorder
):
    mock_model.otherwise(tool_call("refund", {"amount": 20}))
    playhead.instrument("openai")

    def work() -> None:
        openai.OpenAI().chat.completions.create(model="m", messages=[{"role": "user", "content": "pay back"}])
        refund(20)
        cancel("A1")

    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()
    playhead.uninstrument()
    assert calls(playhead_recorder) == [2, 1]

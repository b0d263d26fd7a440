"""Models chosen per attempt: what a chooser is asked and given, and what is recorded."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

import playhead
from playhead.context import Compression, Keep, SlidingWindow
from playhead.errors import RunStopped
from playhead.model.event import LlmCalled, LlmFailed, OrchestrationDecision
from playhead.model.message import text_message
from playhead.models import (
    CallSituation,
    FailedAttempt,
    MockModel,
    Model,
    ModelChooser,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    Overloaded,
    RateLimited,
    mock_answer,
)
from playhead.models.choosing import complete, complete_async, record_choice, stream, stream_async
from playhead.testing.recorder import RunRecorder

HELLO = ModelRequest([text_message("user", "Hello")])


class OneAfterTheOther(ModelChooser):
    """Takes the next model after each failure."""

    def __init__(self, *models: Any) -> None:
        self.models = models
        self.asked: list[tuple[CallSituation, list[FailedAttempt]]] = []
        self.done: list[str] = []

    def choose(self, situation: CallSituation, failed: Sequence[FailedAttempt]) -> Any:
        self.asked.append((situation, [*failed]))
        if len(failed) == len(self.models):
            return None
        model = self.models[len(failed)]
        record_choice(model.name, alternatives=[each.name for each in self.models], reason="the next one")
        return model

    def completed(self, situation: CallSituation, response: ModelResponse) -> None:
        self.done.append(response.model)


def raising(error: Exception, name: str) -> MockModel:
    def answer(_: ModelRequest) -> str:
        raise error

    return MockModel(answer, name=name)


Asked = Callable[[Any, ModelRequest], ModelResponse]


def plain(model: Any, request: ModelRequest) -> ModelResponse:
    return complete(model, request)


def awaited(model: Any, request: ModelRequest) -> ModelResponse:
    return asyncio.run(complete_async(model, request))


def streamed(model: Any, request: ModelRequest) -> ModelResponse:
    return _last(list(stream(model, request)))


def streamed_async(model: Any, request: ModelRequest) -> ModelResponse:
    async def read() -> list[ModelChunk]:
        return [chunk async for chunk in stream_async(model, request)]

    return _last(asyncio.run(read()))


def _last(chunks: list[ModelChunk]) -> ModelResponse:
    assert chunks[-1].response is not None
    return chunks[-1].response


@pytest.mark.parametrize("asked", [plain, awaited, streamed, streamed_async])
def test_each_attempt_is_chosen_and_recorded(asked: Asked, playhead_recorder: RunRecorder):
    first = raising(RateLimited("slow down", 3.0), "first")
    chooser = OneAfterTheOther(first, raising(ValueError("odd"), "second"), MockModel("Hello.", name="third"))
    with playhead.run("r"):
        assert asked(chooser, HELLO).text == "Hello."
    assert chooser.done == ["third"]
    [_, (_, [one]), (situation, [_, two])] = chooser.asked
    assert (one.model, type(one.failure)) == ("first", RateLimited)
    assert (two.model, str(two.error), two.failure) == ("second", "odd", None)
    assert situation.messages == HELLO.messages
    run = playhead_recorder.last
    kinds = (OrchestrationDecision, LlmCalled, LlmFailed)
    assert [event.kind for event in run.events if isinstance(event, kinds)] == [
        "orchestration_decision", "llm_called", "llm_failed",
        "orchestration_decision", "llm_called", "llm_failed",
        "orchestration_decision", "llm_called",
    ]  # fmt: skip
    choices = [run.content(event.annotation) for event in run.events if isinstance(event, OrchestrationDecision)]
    assert choices[0] == {
        "decision": "first", "alternatives": ["first", "second", "third"], "reason": "the next one", "kind": "model",
    }  # fmt: skip


@pytest.mark.parametrize("asked", [plain, awaited, streamed, streamed_async])
def test_the_last_error_is_raised_when_no_model_is_left(asked: Asked):
    chooser = OneAfterTheOther(raising(ValueError("one"), "a"), raising(Overloaded("two"), "b"))
    with pytest.raises(Overloaded, match="two"):
        asked(chooser, HELLO)


@pytest.mark.parametrize("asked", [plain, awaited, streamed, streamed_async])
def test_a_run_that_stops_is_no_failed_attempt(asked: Asked):
    chooser = OneAfterTheOther(raising(RunStopped("stop"), "a"), MockModel("Hello."))
    with pytest.raises(RunStopped):
        asked(chooser, HELLO)
    assert len(chooser.asked) == 1


@pytest.mark.parametrize("asked", [plain, awaited, streamed, streamed_async])
def test_choosers_nest_and_are_models(asked: Asked):
    inner = OneAfterTheOther(raising(ValueError("x"), "a"), raising(ValueError("y"), "b"))
    inner.name = "inner"
    outer = OneAfterTheOther(inner, MockModel("Hello.", name="c"))
    assert asked(outer, HELLO).text == "Hello."
    assert [attempt.model for attempt in outer.asked[1][1]] == ["inner"]
    assert OneAfterTheOther(MockModel("Hello.")).complete(HELLO).text == "Hello."


class BreaksOff(Model):
    """Raises after the first chunk."""

    @property
    def name(self) -> str:
        return "breaks-off"

    def complete(self, request: ModelRequest) -> ModelResponse:
        raise NotImplementedError

    def stream(self, request: ModelRequest) -> Iterator[ModelChunk]:
        yield ModelChunk(text="Hel")
        raise Overloaded("gone")


@pytest.mark.parametrize("asked", [streamed, streamed_async])
def test_no_other_attempt_is_made_after_the_first_chunk(asked: Asked):
    chooser = OneAfterTheOther(BreaksOff(), MockModel("Hello."))
    with pytest.raises(Overloaded):
        asked(chooser, HELLO)
    assert len(chooser.asked) == 1


def test_a_chooser_without_a_first_model_says_so():
    with pytest.raises(playhead.PlayheadError, match="must return one"):
        complete(OneAfterTheOther(), HELLO)


def test_an_agents_context_is_made_shorter_for_the_model_of_an_attempt(playhead_recorder: RunRecorder):
    """gpt-4 has a window of 8,192 tokens, gpt-4o one of 128,000."""
    large = raising(RateLimited("slow down"), "gpt-4o")
    small = MockModel("Done.", name="gpt-4")
    agent = playhead.Agent[None](
        model=OneAfterTheOther(large, small),
        compression=Compression(keep=Keep(messages=3), strategy=SlidingWindow(4)),
    )

    @agent.execute
    async def loop(ctx: playhead.AgentContext[None], ask: playhead.Ask) -> str:
        for number in range(30):
            ctx.add("user", f"{number} " + "word " * 400)
        return (await ctx.call()).text

    assert agent.run_sync("Go").response == "Done."
    assert len(large.requests[0].messages) == 30
    assert len(small.requests[0].messages) <= 4
    events = [event.kind for event in playhead_recorder.last.events]
    assert events.index("context_compressed") > events.index("llm_failed")


def test_thinking_is_asked_of_models_that_can(playhead_recorder: RunRecorder):
    thinks, cannot = raising(Overloaded("x"), "a"), MockModel("Hello.")
    thinks._thinks = True
    playhead.LlmTask("t", model=OneAfterTheOther(thinks, cannot))("?")
    assert (thinks.requests[0].thinking, cannot.requests[0].thinking) == (True, False)


def test_a_situation_says_what_an_agent_is_about(playhead_recorder: RunRecorder):
    def answer(request: ModelRequest) -> ModelResponse:
        if request.messages[-1]["role"] == "tool":
            return mock_answer("Done.")
        return mock_answer(calls=[("c", "look", {})])

    def look() -> str:
        return "x"

    chooser = OneAfterTheOther(MockModel(answer))
    playhead.Agent(name="a", model=chooser, tools=[look]).run_sync("Go")
    first, second = (situation for situation, _ in chooser.asked)
    assert (first.agent, first.task, first.turn, first.tools, first.tool) == ("a", None, 1, ["look"], None)
    assert (second.turn, second.tool) == (2, "look")
    assert second.tokens > 0
    playhead.LlmTask("t", model=chooser)("?")
    assert (chooser.asked[-1][0].task, chooser.asked[-1][0].agent) == ("t", None)

"""pydantic-ai's models without a client, its output validators, its deferred tools: recorded, resumed and forked."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelRetry
from pydantic_ai.messages import ModelResponse, PartStartEvent, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import RequestUsage

import playhead
from playhead.model import event as ev
from playhead.model import names
from playhead.model.span import Span
from playhead.testing import MockModelServer, pytest_plugin, text
from tests.support.journal_reader import Recording, kind, start_recording
from tests.support.projected import projected

pytestmark = pytest.mark.slow
server = pytest_plugin.mock_model_server


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("openai", "pydantic_ai")
        yield recording
        playhead.uninstrument()


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert [record.message for record in caplog.records if "could not" in record.message] == []


def calls(recording: Recording, *kinds: str) -> list[Span]:
    return [span for span in recording.read().spans if kind(span) in (kinds or ("llm",))]


def ask(agent: Any, question: str | None, **options: Any) -> Any:
    return asyncio.run(agent.run(question, **options))


class Scripted:
    """What a model's function says, one answer after another; and all that it was asked."""

    def __init__(self, *answers: ModelResponse):
        self.answers = list(answers)
        self.asked: list[Any] = []

    def __call__(self, messages: Any, info: Any) -> ModelResponse:
        self.asked.append(list(messages))
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        return ModelResponse(parts=list(answer.parts), usage=answer.usage)


LOOK_UP = ModelResponse(parts=[ThinkingPart("hm"), ToolCallPart("look_up", {"order": "A1"}, "c1")])
DONE = ModelResponse(
    parts=[TextPart("A1 is late.")],
    usage=RequestUsage(
        input_tokens=7,
        output_tokens=3,
        cache_read_tokens=2,
        input_audio_tokens=4,
        output_audio_tokens=2,
        details={"reasoning_tokens": 1},
    ),
)


def desk(model: Any, **options: Any) -> Agent[None, Any]:
    agent: Any = Agent(model, name="desk", instructions="Be kind.", **options)

    @agent.tool_plain
    def look_up(order: str) -> str:
        return f"{order} is late"

    _ = look_up
    return agent


@pytest.mark.covers("pydantic_ai", "spans", "messages", "tools", "usage", "reasoning", "resume")
def test_a_model_that_is_a_function_is_recorded_with_all_that_it_saw_and_said(recording: Recording):
    script = Scripted(LOOK_UP, DONE)
    agent = desk(FunctionModel(script, model_name="own-1"))
    assert ask(agent, "Where is A1?", model_settings={"temperature": 0.5}).output == "A1 is late."
    first, second = calls(recording)
    seen = recording.read()
    assert second.name == "chat own-1"
    assert second.attributes[names.CALL_KEY] == "desk/FunctionModel:llm#2"
    assert second.attributes[names.PROVIDER] == "function"
    assert second.attributes[names.REQUEST_TEMPERATURE] == 0.5
    counts = (names.INPUT_TOKENS, names.OUTPUT_TOKENS, names.CACHE_READ_TOKENS, names.REASONING_TOKENS)
    assert [second.attributes[name] for name in counts] == [7, 3, 2, 1]
    sound = (names.AUDIO_INPUT_TOKENS, names.AUDIO_OUTPUT_TOKENS)
    assert [second.attributes[name] for name in sound] == [4, 2]
    [definition] = seen.value(second, names.TOOL_DEFINITIONS_REF)
    assert definition["function"]["name"] == "look_up"
    messages = seen.messages(second.attributes[names.INPUT_MESSAGES_REF])
    assert [(message["role"], message["parts"][-1]) for message in messages] == [
        ("system", {"type": "text", "content": "Be kind."}),
        ("user", {"type": "text", "content": "Where is A1?"}),
        ("assistant", {"type": "tool_call", "id": "c1", "name": "look_up", "arguments": {"order": "A1"}}),
        ("tool", {"type": "tool_call_response", "id": "c1", "response": "A1 is late"}),
    ]
    assert seen.value(first, names.REASONING_REF) == "hm"
    # An independent look: what the function was really given.
    assert [part.part_kind for message in script.asked[1] for part in message.parts] == [
        "user-prompt", "thinking", "tool-call", "tool-return",
    ]  # fmt: skip
    asked = len(script.asked)
    with playhead.resume(first.attributes[names.RUN_ID]):
        assert ask(agent, "Where is A1?", model_settings={"temperature": 0.5}).output == "A1 is late."
    assert len(script.asked) == asked
    assert len(calls(recording)) == 2


@pytest.mark.covers("pydantic_ai", "messages")
def test_its_messages_have_the_refs_that_they_have_through_openai(recording: Recording, server: MockModelServer):
    server.otherwise(text("A1 is late."))
    ask(desk(FunctionModel(Scripted(DONE))), "Where is A1?")

    async def through_openai() -> None:
        async with AsyncOpenAI(base_url=server.base_url, api_key="none") as client:
            await desk(OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client))).run("Where is A1?")

    asyncio.run(through_openai())
    own, openais = calls(recording)
    assert openais.name == "chat m"
    for name in (names.INPUT_MESSAGES_REF, names.OUTPUT_MESSAGES_REF):
        assert own.attributes[name] == openais.attributes[name]


@pytest.mark.covers("pydantic_ai", "spans", "streaming")
def test_a_model_on_a_client_that_is_instrumented_is_one_call(recording: Recording, server: MockModelServer):
    server.otherwise(text("fine"))

    async def through_openai() -> str:
        async with AsyncOpenAI(base_url=server.base_url, api_key="none") as client:
            agent: Any = Agent(OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client)), name="desk")
            await agent.run("1")
            async with agent.run_stream("2") as stream:
                return await stream.get_output()

    assert asyncio.run(through_openai()) == "fine"
    assert [span.name for span in calls(recording)] == ["chat m"] * 2
    assert all("/chat:llm#" in span.attributes[names.CALL_KEY] for span in calls(recording))


@pytest.mark.covers("pydantic_ai", "errors")
def test_of_models_that_fall_back_each_is_recorded_once(recording: Recording):
    def broken(messages: Any, info: Any) -> ModelResponse:
        raise ConnectionError("the model is gone")

    first, second = FunctionModel(broken, model_name="first"), FunctionModel(Scripted(DONE), model_name="second")
    agent: Any = Agent(FallbackModel(first, second, fallback_on=(ConnectionError,)), name="desk")
    assert ask(agent, "?").output == "A1 is late."
    failed, answered = calls(recording)
    assert (failed.name, failed.attributes[names.ERROR_TYPE]) == ("chat first", "ConnectionError")
    assert answered.name == "chat second"


async def says(messages: Any, info: Any) -> AsyncIterator[Any]:
    if not any(part.part_kind == "tool-return" for message in messages for part in message.parts):
        yield {0: DeltaToolCall("look_up", '{"order"', tool_call_id="c1")}
        yield {0: DeltaToolCall(None, ': "A1"}')}
        return
    for part in ("A1 ", "is ", "late."):
        yield part


@pytest.mark.covers("pydantic_ai", "streaming", "resume", "fork")
def test_streams_are_recorded_and_come_back_event_by_event(recording: Recording):
    asked: list[int] = []

    async def counted(messages: Any, info: Any) -> AsyncIterator[Any]:
        asked.append(len(messages))
        async for piece in says(messages, info):
            yield piece

    agent = desk(FunctionModel(stream_function=counted))

    async def streamed() -> list[Any]:
        heard: list[Any] = []

        async def hear(_: Any, events: Any) -> None:
            heard.extend([repr(event) async for event in events if not isinstance(event, PartStartEvent)])

        async with agent.run_stream("Where is A1?", event_stream_handler=hear) as stream:
            pieces = [piece async for piece in stream.stream_text(delta=True, debounce_by=None)]
        return [pieces, heard]

    live = asyncio.run(streamed())
    assert live[0] == ["A1 ", "is ", "late."]
    first, second = calls(recording)
    seen = recording.read()
    assert first.attributes[names.REQUEST_STREAM] is True
    assert names.TIME_TO_FIRST_CHUNK in first.attributes
    [said] = seen.messages(first.attributes[names.OUTPUT_MESSAGES_REF])
    assert said["parts"] == [{"type": "tool_call", "id": "c1", "name": "look_up", "arguments": {"order": "A1"}}]
    assert names.OUTCOME not in second.attributes
    run_id, times = first.attributes[names.RUN_ID], len(asked)
    with playhead.resume(run_id):
        again = asyncio.run(streamed())
    assert again[0] == live[0]
    assert len(again[1]) == len(live[1])
    assert len(asked) == times
    with playhead.fork(run_id, at=second.span_id, outcome={"message": "never"}):
        assert asyncio.run(streamed())[0] == ["never"]


@pytest.mark.covers("pydantic_ai", "fork")
def test_a_fork_takes_another_answer_and_another_prompt(recording: Recording):
    script = Scripted(LOOK_UP, DONE, DONE)
    agent = desk(FunctionModel(script))
    ask(agent, "Where is A1?")
    first, second = calls(recording)
    run_id = first.attributes[names.RUN_ID]
    with playhead.fork(run_id, at=second.span_id, outcome={"message": "It is lost."}):
        assert ask(agent, "Where is A1?").output == "It is lost."
    with playhead.fork(run_id, at=second.span_id, outcome={"system": "Be brief."}):
        ask(agent, "Where is A1?")
    assert script.asked[-1][0].instructions == "Be brief."
    assert [message.kind for message in script.asked[-1]] == ["request", "response", "request"]


@pytest.mark.covers("pydantic_ai", "spans")
def test_structured_outputs_and_their_validators_are_recorded(recording: Recording):
    class Order(BaseModel):
        number: str

    final = [ModelResponse(parts=[ToolCallPart("final_result", {"number": n}, f"c{n}")]) for n in ("B2", "A1")]
    agent: Any = Agent(FunctionModel(Scripted(*final)), name="desk", output_type=Order)

    @agent.output_validator
    def is_open(output: Order) -> Order:
        if output.number == "B2":
            raise ModelRetry("B2 is closed")
        return output

    _ = is_open
    assert ask(agent, "which?").output == Order(number="A1")
    refused, passed = calls(recording, "guardrail")
    assert (refused.name, refused.attributes[names.ERROR_TYPE]) == ("is_open", "pydantic_ai.exceptions.ModelRetry")
    assert recording.read().value(refused, names.INPUT_REF) == {"output": {"number": "B2"}}
    assert names.ERROR_TYPE not in passed.attributes


@pytest.mark.covers("pydantic_ai", "tools")
def test_tools_that_wait_for_a_person_say_so_and_what_came(recording: Recording):
    wants = ModelResponse(parts=[ToolCallPart("delete", {"path": "a.txt"}, "c1")])
    agent: Any = Agent(FunctionModel(Scripted(wants, DONE)), name="desk", output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def delete(path: str) -> str:
        return f"{path} is gone"

    _ = delete
    waiting = ask(agent, "Clean up.")
    assert isinstance(waiting.output, DeferredToolRequests)
    done = ask(
        agent,
        None,
        message_history=waiting.all_messages(),
        deferred_tool_results=DeferredToolResults(approvals={"c1": True}),
    )
    assert done.output == "A1 is late."
    seen = recording.read()
    first, second = [span for span in seen.spans if names.RUN_ROOT in span.attributes]
    [asked] = [e for e in projected(seen, first.attributes[names.RUN_ID]).events if isinstance(e, ev.ApprovalRequested)]
    assert (len(asked.approval), asked.tool) == (32, "delete")
    log = next(log for log in seen.logs if log.name == names.APPROVAL_REQUESTED)
    assert seen.value(log, names.TOOL_ARGUMENTS_REF) == {"path": "a.txt"}
    told = projected(seen, second.attributes[names.RUN_ID])
    [came] = [event for event in told.events if isinstance(event, ev.ApprovalGranted)]
    assert came.approval == asked.approval
    assert [span.attributes[names.TOOL_CALL_ID] for span in calls(recording, "tool")] == ["c1"]


def test_the_frameworks_own_test_model_is_recorded(recording: Recording):
    assert ask(desk(TestModel()), "?").output
    assert [span.attributes[names.CALL_KEY] for span in calls(recording)] == [
        "desk/TestModel:llm#1",
        "desk/TestModel:llm#2",
    ]

"""OpenAI Agents: models without a client, guardrails, and tool calls that wait for a person."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    ModelResponse,
    OpenAIChatCompletionsModel,
    Runner,
    function_tool,
    handoff,
    input_guardrail,
    output_guardrail,
    set_tracing_disabled,
)
from agents.models.interface import Model
from agents.usage import Usage
from openai import AsyncOpenAI
from openai.types.responses import (
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from openai.types.responses.response import Response
from openai.types.responses.response_text_delta_event import ResponseTextDeltaEvent
from pydantic import BaseModel

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
    set_tracing_disabled(True)
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("openai", "agents")
        yield recording
        playhead.uninstrument()


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert [record.message for record in caplog.records if "could not" in record.message] == []


def calls(recording: Recording, *kinds: str) -> list[Span]:
    return [span for span in recording.read().spans if kind(span) in (kinds or ("llm",))]


def said(words: str) -> Any:
    part = ResponseOutputText(type="output_text", text=words, annotations=[])
    return ResponseOutputMessage(id="m1", type="message", role="assistant", status="completed", content=[part])


def wants(name: str, arguments: str, call_id: str) -> Any:
    return ResponseFunctionToolCall(type="function_call", name=name, arguments=arguments, call_id=call_id, id="f1")


class Own(Model):
    """A model as users write one: it gives one answer after another."""

    def __init__(self, *answers: Any):
        self.model = "own-1"
        self.answers = list(answers)
        self.asked: list[Any] = []

    def _next(self, given: Any, options: Any) -> Any:
        self.asked.append(given[1] if len(given) > 1 else options["input"])
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def get_response(self, *given: Any, **options: Any) -> ModelResponse:
        await asyncio.sleep(0)
        usage = Usage(requests=1, input_tokens=7, output_tokens=3, total_tokens=10)
        return ModelResponse(output=[self._next(given, options)], usage=usage, response_id="r1")

    async def stream_response(self, *given: Any, **options: Any) -> AsyncIterator[Any]:
        item = self._next(given, options)
        for at, word in enumerate(("A1 ", "is ", "late.")):
            yield ResponseTextDeltaEvent(
                type="response.output_text.delta", delta=word, item_id="m1", output_index=0, content_index=0,
                sequence_number=at, logprobs=[],
            )  # fmt: skip
        whole = Response(
            id="r1", object="response", created_at=0, model="own-1", output=[item], parallel_tool_calls=True,
            tool_choice="auto", tools=[],
        )  # fmt: skip
        yield ResponseCompletedEvent(type="response.completed", response=whole, sequence_number=9)


@function_tool
def look_up(order: str) -> str:
    """Looks an order up."""
    return f"{order} is late"


@pytest.mark.covers("agents", "spans", "messages", "tools", "usage", "resume")
def test_a_model_of_ones_own_is_recorded_and_comes_back(recording: Recording):
    model = Own(wants("look_up", '{"order": "A1"}', "c1"), said("A1 is late."))
    agent = Agent(name="desk", instructions="Be kind.", tools=[look_up], model=model)

    def run() -> str:
        return asyncio.run(Runner.run(agent, "Where is A1?")).final_output

    assert run() == "A1 is late."
    first, second = calls(recording)
    seen = recording.read()
    assert second.name == "chat own-1"
    assert second.attributes[names.CALL_KEY] == "desk/Own:llm#2"
    assert (second.attributes[names.INPUT_TOKENS], second.attributes[names.OUTPUT_TOKENS]) == (7, 3)
    assert seen.value(second, names.SYSTEM_INSTRUCTIONS_REF) == "Be kind."
    assert [tool["name"] for tool in seen.value(second, names.TOOL_DEFINITIONS_REF)] == ["look_up"]
    messages = seen.messages(second.attributes[names.INPUT_MESSAGES_REF])
    assert [message["role"] for message in messages] == ["user", "assistant", "tool"]
    assert messages[2]["parts"] == [{"type": "tool_call_response", "id": "c1", "response": "A1 is late"}]
    assert [item.get("type", "message") for item in model.asked[1]] == [
        "message",
        "function_call",
        "function_call_output",
    ]
    assert [span.attributes[names.TOOL_CALL_ID] for span in calls(recording, "tool")] == ["c1"]
    times = len(model.asked)
    with playhead.resume(first.attributes[names.RUN_ID]):
        assert run() == "A1 is late."
    assert len(model.asked) == times


class Order(BaseModel):
    """An order."""

    order: str


@pytest.mark.covers("agents", "resume")
def test_a_structured_output_comes_back_as_an_object(recording: Recording):
    model = Own(said('{"order": "A1"}'))
    agent = Agent(name="desk", model=model, output_type=Order)

    def run() -> Any:
        return asyncio.run(Runner.run(agent, "Where is A1?")).final_output

    assert run() == Order(order="A1")
    [called] = calls(recording)
    with playhead.resume(called.attributes[names.RUN_ID]):
        assert run() == Order(order="A1")
    assert len(model.asked) == 1


@pytest.mark.covers("agents", "streaming", "resume", "fork")
def test_streams_are_recorded_and_come_back_event_by_event(recording: Recording):
    model = Own(said("A1 is late."))
    agent = Agent(name="desk", model=model)

    async def run() -> tuple[list[Any], Any]:
        result = Runner.run_streamed(agent, "Where is A1?")
        heard = [event async for event in result.stream_events()]
        deltas = [getattr(getattr(event, "data", None), "delta", None) for event in heard]
        return [delta for delta in deltas if delta], result.final_output

    live = asyncio.run(run())
    assert live == (["A1 ", "is ", "late."], "A1 is late.")
    [call] = calls(recording)
    assert call.attributes[names.REQUEST_STREAM] is True
    assert names.TIME_TO_FIRST_CHUNK in call.attributes
    assert names.OUTCOME not in call.attributes
    run_id = call.attributes[names.RUN_ID]
    with playhead.resume(run_id):
        assert asyncio.run(run()) == live
    assert len(model.asked) == 1
    with playhead.fork(run_id, at=call.span_id, outcome={"message": "never"}):
        assert asyncio.run(run())[1] == "never"
    with playhead.fork(run_id, at=call.span_id, outcome={"messages": {0: "Where is B2?"}}):
        asyncio.run(run())
    assert model.asked[-1][0]["content"] == "Where is B2?"


@pytest.mark.covers("agents", "spans")
def test_a_model_on_a_client_that_is_instrumented_is_one_call(recording: Recording, server: MockModelServer):
    server.otherwise(text("fine"))

    async def run() -> None:
        async with AsyncOpenAI(base_url=server.base_url, api_key="none") as client:
            agent = Agent(name="desk", model=OpenAIChatCompletionsModel(model="m", openai_client=client))
            await Runner.run(agent, "1")
            result = Runner.run_streamed(agent, "2")
            [_ async for _ in result.stream_events()]

    asyncio.run(run())
    assert [span.name for span in calls(recording)] == ["chat m"] * 2
    assert all("/chat:llm#" in span.attributes[names.CALL_KEY] for span in calls(recording))


@pytest.mark.covers("agents", "errors")
def test_an_error_of_a_model_is_the_calls(recording: Recording):
    agent = Agent(name="desk", model=Own(ConnectionError("the model is gone")))
    with pytest.raises(ConnectionError):
        asyncio.run(Runner.run(agent, "?"))
    [call] = calls(recording)
    assert call.attributes[names.ERROR_TYPE] == "ConnectionError"


@pytest.mark.covers("agents", "spans")
def test_guardrails_are_calls_with_an_outcome(recording: Recording):
    @input_guardrail(run_in_parallel=False)
    async def is_on_topic(context: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput({"why": "weather"}, tripwire_triggered="weather" in str(given))

    @output_guardrail
    def is_polite(context: Any, agent: Any, output: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput("polite", tripwire_triggered=False)

    options: Any = {"input_guardrails": [is_on_topic], "output_guardrails": [is_polite]}
    agent = Agent(name="desk", model=Own(said("A1 is late.")), **options)
    asyncio.run(Runner.run(agent, "Where is A1?"))
    with pytest.raises(InputGuardrailTripwireTriggered):
        asyncio.run(Runner.run(agent, "What weather is it?"))
    seen = recording.read()
    passed, polite, tripped = calls(recording, "guardrail")
    assert [span.name for span in (passed, polite, tripped)] == ["is_on_topic", "is_polite", "is_on_topic"]
    assert names.OUTCOME not in passed.attributes
    assert seen.value(polite, names.INPUT_REF) == {"output": "A1 is late."}
    assert seen.value(tripped, names.INPUT_REF) == {"input": "What weather is it?"}
    assert seen.value(tripped, names.OUTPUT_REF) == {"why": "weather"}
    told = projected(seen, tripped.attributes[names.RUN_ID])
    [ended] = [event for event in told.events if isinstance(event, ev.StepCompleted)]
    assert (ended.step_kind, ended.name, ended.outcome) == ("guardrail", "is_on_topic", "tripped")


@pytest.mark.covers("agents", "spans")
def test_a_handoff_of_models_of_ones_own_is_told(recording: Recording):
    billing = Agent(name="billing", model=Own(said("paid")))
    triage = Agent(name="triage", model=Own(wants("transfer_to_billing", "{}", "c1")), handoffs=[handoff(billing)])
    assert asyncio.run(Runner.run(triage, "pay")).final_output == "paid"
    seen = recording.read()
    [first, second] = calls(recording)
    assert [tool["name"] for tool in seen.value(first, names.TOOL_DEFINITIONS_REF)] == ["transfer_to_billing"]
    told = projected(seen, first.attributes[names.RUN_ID])
    assert [(event.actor, event.to) for event in told.events if isinstance(event, ev.AgentHandoff)] == [
        ("triage", "billing")
    ]
    assert [event.actor for event in told.events if isinstance(event, ev.LlmCalled)] == ["triage", "billing"]
    assert second.attributes[names.CALL_KEY] == "triage/billing/Own:llm#1"


@pytest.mark.covers("agents", "tools")
@pytest.mark.parametrize("is_approved", [True, False])
def test_a_tool_call_that_waits_for_a_person_says_so_and_what_was_decided(recording: Recording, is_approved: bool):
    done: list[str] = []

    @function_tool(needs_approval=True)
    def delete(path: str) -> str:
        """Deletes a file."""
        done.append(path)
        return "gone"

    agent = Agent(name="desk", tools=[delete], model=Own(wants("delete", '{"path": "a.txt"}', "c1"), said("done")))

    async def run() -> None:
        waiting = await Runner.run(agent, "Clean up.")
        state = waiting.to_state()
        [item] = waiting.interruptions
        (state.approve if is_approved else state.reject)(item)
        await Runner.run(agent, state)

    asyncio.run(run())
    assert done == (["a.txt"] if is_approved else [])
    seen = recording.read()
    first, second = [span for span in seen.spans if names.RUN_ROOT in span.attributes]
    [asked] = [e for e in projected(seen, first.attributes[names.RUN_ID]).events if isinstance(e, ev.ApprovalRequested)]
    assert (len(asked.approval), asked.tool) == (32, "delete")
    log = next(log for log in seen.logs if log.name == names.APPROVAL_REQUESTED)
    assert seen.value(log, names.TOOL_ARGUMENTS_REF) == {"path": "a.txt"}
    told = projected(seen, second.attributes[names.RUN_ID])
    [came] = [event for event in told.events if isinstance(event, ev.ApprovalGranted | ev.ApprovalDenied)]
    assert (came.approval, isinstance(came, ev.ApprovalGranted)) == (asked.approval, is_approved)

"""Tasks: one question with a typed answer."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import playhead
from playhead.errors import OutputInvalid
from playhead.local.client import JournalClient
from playhead.model.event import LlmCalled, TokenUsage
from playhead.model.message import message_text
from playhead.models import CallSituation, MockModel, Router, mock_answer
from playhead.testing.recorder import RunRecorder
from tests.support.journal_reader import start_recording


class Invoice(BaseModel):
    number: str
    total: float


GOOD = '{"number": "A1", "total": "9.50"}'


def test_an_answer_is_parsed_and_measured(playhead_recorder: RunRecorder):
    usage = TokenUsage(100, 20)
    model = MockModel(lambda _: mock_answer(GOOD, reasoning="It says A1.", usage=usage), name="gpt-4o-mini")
    extract = playhead.LlmTask(
        "extract", model=model, system="Read.", output=Invoice, temperature=0, max_tokens=800, top_p=0.9
    )
    result = extract("Invoice A1: 9.50")
    assert result.parsed == Invoice(number="A1", total=9.5)
    assert (result.content, result.reasoning, result.tool_calls) == (GOOD, "It says A1.", [])
    assert (result.usage.total, result.stop_reason, result.calls) == (120, "end_turn", 1)
    assert result.latency_ms >= 0
    [request] = model.requests
    assert (request.system, request.temperature, request.max_tokens, request.top_p) == ("Read.", 0, 800, 0.9)
    run = playhead_recorder.last
    assert run.name == "extract"
    assert [event.task for event in run.events if isinstance(event, LlmCalled)] == ["extract"]


def test_a_wrong_answer_is_asked_for_again_with_the_error(playhead_recorder: RunRecorder):
    script = ["It is A1.", '{"number": "A1"}', GOOD]
    model = MockModel(lambda _: mock_answer(script.pop(0), usage=TokenUsage(10, 1)))
    result = playhead.LlmTask("extract", model=model, output=Invoice)("Invoice A1")
    assert (result.parsed.number, result.calls, result.usage.total) == ("A1", 3, 33)
    assert "total: Field required" in str(model.requests[2].messages[-1])
    assert [message["role"] for message in model.requests[2].messages] == ["user", "assistant"] * 2 + ["user"]


def test_it_gives_up_after_its_retries(playhead_recorder: RunRecorder):
    model = MockModel("never")
    with pytest.raises(OutputInvalid, match=r"extract: the answer is no JSON"):
        playhead.LlmTask("extract", model=model, output=Invoice, retries=1)("?")
    assert len(model.requests) == 2


def test_without_a_type_the_text_is_the_result(playhead_recorder: RunRecorder):
    result = playhead.LlmTask("say", model=MockModel("Hello"))("Hi")
    assert (result.parsed, result.content) == ("Hello", "Hello")


def test_tools_that_the_model_asks_for_are_returned(playhead_recorder: RunRecorder):
    def look_up(order: str) -> str:
        """Looks up an order."""
        raise AssertionError("a task executes no tool")

    model = MockModel(lambda _: mock_answer(calls=[("c1", "look_up", {"order": "A1"})]))
    result = playhead.LlmTask("route", model=model, tools=[look_up], output=Invoice)("Where is A1?")
    assert [(call.name, call.arguments) for call in result.tool_calls] == [("look_up", {"order": "A1"})]
    assert (result.parsed, result.stop_reason) == (None, "tool_use")


def test_in_a_run_its_calls_are_the_runs(playhead_recorder: RunRecorder):
    first = playhead.LlmTask("first", model=MockModel("1"))
    second = playhead.LlmTask("second", model=MockModel("2"))

    async def main() -> None:
        async with playhead.run("both"):
            first("?")
            await second.run(messages=[{"role": "user", "content": "?"}])

    asyncio.run(main())
    [run] = playhead_recorder.runs
    assert [event.task for event in run.events if isinstance(event, LlmCalled)] == ["first", "second"]


@pytest.mark.parametrize("given", [{}, {"text": "a", "messages": []}])
def test_it_is_asked_one_thing(given: dict[str, Any]):
    with pytest.raises(TypeError, match="with a text, or with messages"):
        playhead.LlmTask("t", model=MockModel("1"))(**given)


def test_calls_of_a_task_can_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        first = playhead.LlmTask("first", model=MockModel("1"))
        second = playhead.LlmTask("second", model=MockModel("2"))
        with playhead.run("both") as run:
            first("?")
            second("?")
            first("?")
            playhead.Agent(model=MockModel("3")).run_sync("?")
        playhead.flush()
        with JournalClient(recording.folder, pytest.fail) as journal:
            every = list(journal.llm_calls(run.id or ""))
            assert [(call["task"], call["turn"]) for call in every] == [
                ("first", None), ("second", None), ("first", None), (None, 1),
            ]  # fmt: skip
            of_first = list(journal.llm_calls(run.id or "", task="first"))
            assert [call["seq"] for call in of_first] == [every[0]["seq"], every[2]["seq"]]
            assert [call["status"] for call in of_first] == ["completed", "completed"]
            assert list(journal.llm_calls(run.id or "", task="third")) == []


def test_a_wrong_answer_is_asked_for_again_without_asking_the_judge_again(playhead_recorder: RunRecorder):
    asked: list[str] = []

    def judge(call: CallSituation) -> str:
        asked.append(message_text(call.messages[-1]))
        return "hard" if "invoice" in asked[-1] else "simple"

    left = ["no JSON", GOOD]
    hard, simple = MockModel(lambda _: left.pop(0), name="hard-model"), MockModel(GOOD, name="simple-model")
    router = Router(judge, {"simple": simple, "hard": hard})
    result = playhead.LlmTask("extract", model=router, output=Invoice)("an invoice")
    assert (result.calls, result.model, asked) == (2, "hard-model", ["an invoice"])
    left[:] = ["no JSON", GOOD]
    out = playhead.Agent(model=router, output=Invoice).run_sync("an invoice")
    assert (out.turns, asked, simple.requests) == (2, ["an invoice"] * 2, [])

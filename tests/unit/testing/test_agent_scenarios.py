"""The scenarios that agents are written for, each played with a plain loop over the openai client, and recorded.

The loops are those of examples/scenarios. What is looked at: how many model calls were recorded, the reasoning of each,
and what came of them.
"""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import openai
import pytest

import playhead
from playhead.testing import MockModelServer, RunRecorder
from playhead.testing.recorded_run import RecordedModelCall, RecordedRun
from tests.support.programs.examples import load_example
from tests.support.scenario_reasoning import REASONING

Play = Callable[[str], Any]


@pytest.fixture
def play(mock_model: MockModelServer) -> Play:
    """Returns the example of a scenario, which its environment makes talk to a model that plays it."""

    def start(name: str) -> Any:
        playhead.instrument("openai")
        mock_model.play_scenario(name)
        return load_example(f"scenarios/{name}")

    return start


def answered(run: RecordedRun) -> list[RecordedModelCall]:
    return [call for call in run.llm_calls if call.error is None]


def test_document_processing_extracts_analyses_and_formats(play: Play, playhead_recorder: RunRecorder):
    example = play("document_processing")
    with openai.OpenAI() as client:
        document = example.DocumentProcessor(client).process(example.REPORT)
    run = playhead_recorder.last
    assert "Executive Summary" in document
    assert "BUY" in document
    assert [call.reasoning for call in run.llm_calls] == REASONING["document_processing"]
    extracted, analysed, _ = (call.text for call in run.llm_calls)
    assert json.loads(extracted)["revenue_millions"] == 412
    assert json.loads(analysed)["recommendation"] == "BUY"
    assert extracted in run.llm_calls[1].context
    assert analysed in run.llm_calls[2].context


TICKETS = [(0, "billing", 0.97, "second charge"), (1, "technical", 0.94, "4.2.1"), (2, "general", 0.71, "Monday")]


@pytest.mark.parametrize(("ticket", "category", "confidence", "reply"), TICKETS)
def test_a_ticket_gets_a_category_with_a_confidence_and_a_handler(
    play: Play, playhead_recorder: RunRecorder, ticket: int, category: str, confidence: float, reply: str
):
    example = play("ticket_routing")
    with openai.OpenAI() as client:
        assert reply in example.TicketRouter(client).handle(example.TICKETS[ticket])
    classified, handled = playhead_recorder.last.llm_calls
    assert json.loads(classified.text) == {"category": category, "confidence": confidence}
    assert [classified.reasoning, handled.reasoning] == REASONING["ticket_routing"][2 * ticket : 2 * ticket + 2]
    assert category in handled.context


def test_a_change_is_reviewed_side_by_side_with_a_score_and_issues_each(play: Play, playhead_recorder: RunRecorder):
    example = play("code_review")

    async def review() -> dict[str, Any]:
        async with openai.AsyncOpenAI() as client:
            return await example.CodeReview(client).review(example.CHANGE)

    reviews = asyncio.run(review())
    assert {subject: found["score"] for subject, found in reviews.items()} == {
        "security": 2, "performance": 5, "style": 7,
    }  # fmt: skip
    issues = [issue for found in reviews.values() for issue in found["issues"]]
    assert [issue["severity"] for issue in issues] == ["high", "medium", "low", "low"]
    assert all(issue.keys() == {"severity", "type", "line", "description", "fix"} for issue in issues)
    run = playhead_recorder.last
    assert sorted(call.reasoning for call in run.llm_calls) == REASONING["code_review"]
    # Side by side: all reviewers have begun before the first has its answer.
    kinds = [event.kind for event in run.events if event.kind in ("step_started", "llm_completed")]
    assert kinds == ["step_started"] * 3 + ["llm_completed"] * 3


def test_each_request_calls_one_tool_and_any_result_is_answered(play: Play, playhead_recorder: RunRecorder):
    example = play("tool_calling")
    with openai.OpenAI() as client, playhead.run("tool_calling"):
        agent = example.FileAgent(client, example.FileTools(example.FILES))
        assert [agent.handle(request) for request in example.REQUESTS] == ["Done, see the result."] * 3
    run = playhead_recorder.last
    assert [call.reasoning for call in run.llm_calls] == REASONING["tool_calling"]
    asked = [name for call in run.llm_calls for name, _ in call.requested_tools]
    assert asked == ["read_file", "edit_file", "search"]
    assert [call.result for call in run.tool_calls[1:]] == [
        "edited shop/prices.py",
        ["shop/prices.py", "shop/orders.py"],
    ]


def test_a_draft_fails_with_feedback_and_the_next_one_passes(play: Play, playhead_recorder: RunRecorder):
    example = play("evaluator_optimizer")
    with openai.OpenAI() as client:
        draft = example.Copywriter(client).advertise(example.PRODUCT)
    run = playhead_recorder.last
    assert [call.reasoning for call in run.llm_calls] == REASONING["evaluator_optimizer"]
    failed, passed = (json.loads(run.llm_calls[number].text) for number in (1, 3))
    assert (failed["passed"], passed["passed"]) == (False, True)
    assert failed["feedback"] in run.llm_calls[2].context
    assert draft == run.llm_calls[2].text


def test_each_error_is_met_once_and_the_program_goes_on(
    play: Play, playhead_recorder: RunRecorder, monkeypatch: pytest.MonkeyPatch
):
    example = play("errors")
    waited: list[float] = []
    monkeypatch.setattr(example, "time", SimpleNamespace(sleep=waited.append))
    monkeypatch.setattr(example, "TIMEOUT_SECONDS", 0.05)
    with openai.OpenAI() as client, playhead.run("errors"):
        answers = example.ask_everything(client)
    run = playhead_recorder.last
    assert answers == [
        "Thirty orders were made today.",
        "Thirty orders were made today.",
        "Order A1001 is on its way.",
        "That takes too long; I shall send it by mail.",
    ]
    assert waited == [1]
    failed = [call.error.type for call in run.llm_calls if call.error is not None]
    assert [name.rpartition(".")[2] for name in failed] == ["RateLimitError", "BadRequestError", "APITimeoutError"]
    assert [call.reasoning for call in answered(run)] == REASONING["errors"]
    [tool] = run.tool_calls
    assert tool.arguments == {"order": "A1001"}
    assert "have to be a JSON object" in run.context(at=tool.seq).text


QUESTION = "Why are prices with a discount wrong?"


@pytest.fixture
def assistant(play: Play, tmp_path: Path) -> Iterator[Any]:
    example = play("code_assistant")
    for name, content in example.PROJECT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    with openai.OpenAI() as client:
        yield example.CodeAssistant(client, example.ProjectTools(tmp_path))


def test_the_code_assistant_searches_reads_and_answers_with_approvals(assistant: Any, playhead_recorder: RunRecorder):
    playhead_recorder.approve("search")
    playhead_recorder.approve("read_file")
    assert "multiplies by the discount itself" in assistant.answer(QUESTION)
    run = playhead_recorder.last
    assert [call.reasoning for call in run.llm_calls] == REASONING["code_assistant"]
    assert [name for call in run.llm_calls for name, _ in call.requested_tools] == ["search", "read_file"]
    assert len(run.tool_calls) == 2
    assert [promise["name"] for promise in playhead_recorder.promises] == ["search", "read_file"]


def test_the_code_assistant_says_when_it_may_not_look(assistant: Any, playhead_recorder: RunRecorder):
    playhead_recorder.approve("search")
    playhead_recorder.deny("read_file", reason="private")
    assert "not allowed to look" in assistant.answer(QUESTION)
    calls = playhead_recorder.last.llm_calls
    assert [call.reasoning for call in calls][2] == "Without the files I would have to guess."
    assert "private" in calls[2].context

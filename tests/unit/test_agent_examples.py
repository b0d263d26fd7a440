"""The examples that are written with `playhead.Agent` and `playhead.LlmTask`: what they ask, think, call and answer."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import openai
import pytest

from playhead.model.event import RunStarted
from playhead.models import OpenAIModel
from playhead.testing import MockModelServer, RunRecorder
from playhead.testing.recorded_run import RecordedRun
from tests.support.programs.examples import ROOT, load_example
from tests.support.scenario_reasoning import REASONING

# Example → text in its result; names and results of its tool calls.
EXAMPLES: dict[str, tuple[str, list[tuple[str, Any]]]] = {
    "document_processing": ("Executive Summary", []),
    "ticket_routing": ("second charge is on its way", []),
    "code_review": ("security: 2 of 10", []),
    "tool_calling": (
        "edit_file: Done",
        [
            ("read_file", "def discounted(total, discount):\n    return total * discount\n"),
            ("edit_file", "edited shop/prices.py"),
            ("search", ["shop/prices.py", "shop/orders.py"]),
        ],
    ),
    "evaluator_optimizer": ("walnut desk lamp", []),
    "errors": (
        "That takes too long",
        [("look_up_order", None), ("look_up_order", {"order": "A1001", "status": "on its way"})],
    ),
}


@pytest.fixture
def mock() -> Iterator[MockModelServer]:
    with MockModelServer() as server:
        yield server


def model_of(server: MockModelServer, **options: Any) -> OpenAIModel:
    client = openai.OpenAI(api_key="none", http_client=server.http_client(), max_retries=0, **options)
    return OpenAIModel("gpt-4o-mini", client=client)


def thoughts(run: RecordedRun) -> list[str]:
    return [call.reasoning for call in run.llm_calls if call.error is None]


def test_there_is_an_agent_for_each_of_the_six_scenarios():
    files = {path.stem for path in (ROOT / "examples" / "agents").glob("*.py")}
    assert files == {*EXAMPLES, "support_agent"}
    assert {*REASONING} == {*EXAMPLES, "code_assistant"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_scenario_is_played_by_an_agent_in_one_run(
    name: str, mock: MockModelServer, playhead_recorder: RunRecorder, monkeypatch: pytest.MonkeyPatch
):
    mock.play_scenario(name)
    example: Any = load_example(f"agents/{name}")
    if name == "errors":
        monkeypatch.setattr(example, "time", SimpleNamespace(sleep=lambda seconds: None))
    expected, tools = EXAMPLES[name]
    assert expected in example.solve(model_of(mock, timeout=0.5))
    [run] = playhead_recorder.runs
    assert (run.name, run.status) == (name, "completed")
    in_order = sorted if name == "code_review" else list
    assert in_order(thoughts(run)) == REASONING[name]
    assert [(call.name, call.result) for call in run.tool_calls] == tools


def test_document_processing_makes_exactly_three_calls_and_recommends(
    mock: MockModelServer, playhead_recorder: RunRecorder
):
    mock.play_scenario("document_processing")
    document = load_example("agents/document_processing").solve(model_of(mock))
    assert "BUY" in document
    assert len(playhead_recorder.last.llm_calls) == len(mock.requests) == 3


def test_each_error_of_the_provider_is_met_and_recorded(
    mock: MockModelServer, playhead_recorder: RunRecorder, monkeypatch: pytest.MonkeyPatch
):
    mock.play_scenario("errors")
    example: Any = load_example("agents/errors")
    waited: list[float] = []
    monkeypatch.setattr(example, "time", SimpleNamespace(sleep=waited.append))
    example.solve(model_of(mock, timeout=0.5))
    run = playhead_recorder.last
    failed = [call.error.type.rpartition(".")[2] for call in run.llm_calls if call.error is not None]
    assert failed == ["RateLimitError", "BadRequestError", "APITimeoutError"]
    assert waited == [1]
    wrong, right = run.tool_calls
    assert wrong.error is not None
    assert right.arguments == {"order": "A1001"}
    assert [event.kind for event in run.events].count("context_compressed") == 1


@pytest.fixture
def code_assistant(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))  # where its program finds `tools`
    monkeypatch.delitem(sys.modules, "tools", raising=False)
    return load_example("code_assistant")


def test_the_code_assistant_has_each_look_approved(
    code_assistant: Any, mock: MockModelServer, playhead_recorder: RunRecorder
):
    mock.play_scenario("code_assistant")
    playhead_recorder.approve("search")
    playhead_recorder.approve("read_file")
    assert "multiplies by the discount itself" in code_assistant.solve(model_of(mock))
    run = playhead_recorder.last
    assert thoughts(run) == REASONING["code_assistant"]
    assert [call.name for call in run.tool_calls] == ["search", "read_file"]
    assert [promise["name"] for promise in playhead_recorder.promises] == ["search", "read_file"]
    assert len(mock.requests) == 3


def test_the_code_assistant_answers_without_what_was_denied(
    code_assistant: Any, mock: MockModelServer, playhead_recorder: RunRecorder
):
    mock.play_scenario("code_assistant")
    playhead_recorder.approve("search")
    playhead_recorder.deny("read_file", reason="private")
    assert "not allowed to look" in code_assistant.solve(model_of(mock))
    run = playhead_recorder.last
    assert [call.name for call in run.tool_calls] == ["search"]
    assert "private" in run.context()


def test_the_support_agent_does_what_its_plain_twin_does(mock: MockModelServer, playhead_recorder: RunRecorder):
    example: Any = load_example("agents/support_agent")
    mock.play_script(example.SCRIPT)
    assert example.solve(model_of(mock)) == example.REPLY == load_example("support_agent").REPLY
    run = playhead_recorder.last
    assert [call.name for call in run.tool_calls] == ["look_up_order", "track_parcel", "refund", "refund"]
    assert [call.error is None for call in run.tool_calls] == [True, True, False, True]
    assert len(thoughts(run)) == 5
    assert all(thoughts(run))
    assert [event.kind for event in run.events].count("checkpoint_created") == 3
    assert [event.session for event in run.events if isinstance(event, RunStarted)] == ["conversation-42"]


def test_a_file_that_is_edited_is_edited_for_the_run_only(mock: MockModelServer, playhead_recorder: RunRecorder):
    mock.play_scenario("tool_calling")
    example: Any = load_example("agents/tool_calling")
    example.solve(model_of(mock))
    assert "total * discount" in example.FILES["shop/prices.py"]


def test_tools_of_a_workspace_are_described_to_the_model(tmp_path: Path):
    workspace: Any = load_example("tools").Workspace(tmp_path)
    tools = [workspace.read_file, workspace.write_file, workspace.search, workspace.bash]
    assert {tool.name: [*tool.definition.parameters["properties"]] for tool in tools} == {
        "read_file": ["path"],
        "write_file": ["path", "text"],
        "search": ["text"],
        "bash": ["command"],
    }
    assert {tool.name for tool in tools if tool.writes} == {"write_file", "bash"}

"""Deferred tools of pydantic-ai that wait as approvals: a later process goes on as was decided."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models.function import FunctionModel

import playhead
from playhead import Denied, Suspended
from playhead.api.promises.waiting import answer_of
from playhead.promises.files import PromiseFiles
from tests.support.journal_reader import start_recording
from tests.wire.frameworks.pydantic_ai.test_pydantic_ai_models import DONE, Scripted, ask

pytestmark = pytest.mark.slow


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PromiseFiles]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        recording.configure(endpoint="http://127.0.0.1:9")  # nothing is at the discard port
        playhead.instrument("pydantic_ai")
        yield PromiseFiles(recording.folder, 3600)
        playhead.uninstrument()


def _go_on(agent: Any, waiting: Any) -> None:
    with playhead.run("desk"):
        approvals: Any = {call.tool_call_id: _is_approved(call) for call in waiting.output.approvals}
        results: Any = DeferredToolResults(approvals=approvals)
        ask(agent, None, message_history=waiting.all_messages(), deferred_tool_results=results)


def _is_approved(call: Any) -> bool:
    key = f"conversation 7 {call.tool_call_id}"
    try:
        playhead.approval("delete", details=call.args_as_dict(), key=key, suspend=True)
    except Denied:
        return False
    return True


@pytest.mark.parametrize("outcome", ["approved", "denied"])
def test_a_later_process_goes_on_with_the_answer_to_a_deferred_tool(files: PromiseFiles, outcome: Any):
    wants = ModelResponse(parts=[ToolCallPart("delete", {"path": "a.txt"}, "c1")])
    agent: Any = Agent(FunctionModel(Scripted(wants, DONE)), name="desk", output_type=[str, DeferredToolRequests])
    deleted: list[str] = []

    @agent.tool_plain(requires_approval=True)
    def delete(path: str) -> str:
        deleted.append(path)
        return "gone"

    _ = delete
    waiting = ask(agent, "Clean up.")
    with pytest.raises(Suspended):
        _go_on(agent, waiting)
    [asked] = files.all()
    assert (asked["kind"], asked["action"], asked["details"]) == ("approval", "delete", {"path": "a.txt"})
    assert deleted == []
    files.answer(asked["id"], answer_of(outcome))
    _go_on(agent, waiting)
    assert deleted == (["a.txt"] if outcome == "approved" else [])

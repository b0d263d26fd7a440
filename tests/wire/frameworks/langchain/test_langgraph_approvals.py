"""Interrupts of LangGraph that wait as approvals: listed, answered once, and found by the process that goes on."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from typer.testing import CliRunner

import playhead
from playhead import Denied, Suspended
from playhead.cli import app
from playhead.promises.files import PromiseFiles
from tests.support.journal_reader import Recording, start_recording

pytestmark = pytest.mark.slow
CONFIG: Any = {"configurable": {"thread_id": "t1"}}
paid: list[Any] = []


class Desk(TypedDict):
    amount: int


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PromiseFiles]:
    paid.clear()
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        yield _instrumented(recording)
        playhead.uninstrument()


def _instrumented(recording: Recording) -> PromiseFiles:
    recording.configure(endpoint="http://127.0.0.1:9")  # nothing is at the discard port
    playhead.instrument("langgraph")
    return PromiseFiles(recording.folder, 3600)


def _desk(saver: InMemorySaver) -> Any:
    graph: Any = StateGraph(Desk)
    graph.add_node("pay", _pay)
    graph.add_edge(START, "pay")
    return graph.compile(name="desk", checkpointer=saver)


def _pay(state: Desk) -> Desk:
    paid.append(interrupt({"pay": state["amount"]}))
    return state


def _go_on(saver: InMemorySaver) -> None:
    """What the documentation's program does each time that it is started."""
    graph = _desk(saver)
    with playhead.run("desk"):
        if not graph.get_state(CONFIG).interrupts:
            graph.invoke({"amount": 5}, CONFIG)
        while waiting := graph.get_state(CONFIG).interrupts:
            graph.invoke(Command(resume={each.id: _is_approved(each) for each in waiting}), CONFIG)


def _is_approved(waiting: Any) -> bool:
    try:
        playhead.approval("pay", details=waiting.value, key=waiting.id, suspend=True)
    except Denied:
        return False
    return True


def _playhead(journal: Path, command: str, promise: str) -> tuple[int, str]:
    done = CliRunner().invoke(
        app, ["--local", command, promise, "--by", "eve"], env={"PLAYHEAD_JOURNAL_DIR": str(journal)}
    )
    return done.exit_code, " ".join(done.output.split())


@pytest.mark.parametrize("outcome", ["approved", "denied"])
def test_a_later_process_goes_on_with_the_answer_to_an_interrupt(files: PromiseFiles, tmp_path: Path, outcome: str):
    saver = InMemorySaver()  # in the place of a database that outlives the process
    with pytest.raises(Suspended):
        _go_on(saver)
    [asked] = files.all()
    assert (asked["kind"], asked["action"], asked["details"], asked["answer"]) == ("approval", "pay", {"pay": 5}, None)
    with pytest.raises(Suspended):  # nobody has answered yet: it is the same promise
        _go_on(saver)
    assert (len(files.all()), paid) == (1, [])
    command = {"approved": "approve", "denied": "deny"}[outcome]
    assert _playhead(tmp_path / "journal", command, asked["id"]) == (0, f"{outcome}: {asked['id']}")
    code, output = _playhead(tmp_path / "journal", "approve", asked["id"])
    assert (code, f"already: {outcome}" in output) == (2, True), output
    _go_on(saver)
    assert paid == [outcome == "approved"]
    assert len(files.all()) == 1

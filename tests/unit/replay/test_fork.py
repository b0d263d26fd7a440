"""What if a step had gone otherwise: forks of recorded runs, with real models' clients."""

from typing import Any

import openai
import pytest

import playhead
from playhead import observe
from playhead.errors import NoRecord, ToolDenied
from playhead.model import names
from playhead.replaying.record import read_local
from playhead.replaying.recorded_calls import RecordedCall, recorded_calls
from playhead.testing import MockModelServer
from tests.support.journal_reader import Recording

executed: list[str] = []


@pytest.fixture(autouse=True)
def nothing_executed() -> None:
    executed.clear()


@observe(kind="tool")
def look_up(order: str) -> dict[str, str]:
    executed.append(f"look up {order}")
    return {"order": order, "status": "late"}


@observe(kind="tool")
def pay(amount: int) -> str:
    executed.append(f"pay {amount}")
    return f"paid {amount}"


@observe
def agent(client: openai.OpenAI) -> list[Any]:
    """Five calls: a model, a tool, a model, a tool, a model."""
    messages: list[Any] = [{"role": "user", "content": "go"}]
    said: list[Any] = []
    for step in (lambda: look_up("A1"), lambda: pay(5), None):
        answer = client.chat.completions.create(model="m", messages=messages).choices[0].message
        messages.append(answer)
        said.append(answer.content)
        if step is not None:
            try:
                said.append(step())
            except (RuntimeError, ToolDenied) as error:
                said.append(type(error).__name__)
            messages.append({"role": "user", "content": repr(said[-1])})
    return said


def go(client: openai.OpenAI) -> list[Any]:
    with playhead.run("shop"):
        return agent(client)


def calls_of(recording: Recording, run_id: str) -> list[RecordedCall]:
    playhead.flush(0)
    record = read_local(recording.folder, run_id)
    assert record is not None
    return recorded_calls(record.spans)


@pytest.fixture
def parent(client: openai.OpenAI) -> str:
    with playhead.run("shop") as run:
        agent(client)
    assert run.id is not None
    executed.clear()
    return run.id


def test_a_step_can_be_named_by_its_function(client: openai.OpenAI, server: MockModelServer, parent: str) -> None:
    with playhead.fork(parent, at="chat#2", outcome="No.") as fork:
        assert go(client)[2] == "No."
    assert fork.report.answered == 2
    with pytest.raises(NoRecord, match="has no call at chat#9"), playhead.fork(parent, at="chat#9"):
        pass


def at(recording: Recording, run_id: str, place: str, which: int = 0) -> str:
    """The id of the event in which this call began."""
    found = [call for call in calls_of(recording, run_id) if call.call_path.endswith(place)]
    return f"{found[which].span.span_id}.s"


def test_a_step_that_fails_instead(
    recording: Recording, client: openai.OpenAI, server: MockModelServer, parent: str
) -> None:
    before = calls_of(recording, parent)
    step = at(recording, parent, "look_up:tool")
    with playhead.fork(parent, at=step, outcome={"error": "timeout"}) as fork:
        result = go(client)
    assert fork.id != parent
    assert result == ["fine, thank you", "RuntimeError", "fine, thank you", "paid 5", "fine, thank you"]
    assert (fork.report.answered, fork.report.live) == (1, 3)
    assert len(server.requests) == 3 + 2
    assert executed == ["pay 5"]
    assert calls_of(recording, parent) == before
    mine = calls_of(recording, fork.id)
    assert [call.call_path for call in mine] == [
        "shop:agent",
        "shop/agent:step",
        "shop/agent/look_up:tool",
        "shop/agent/chat:llm",
        "shop/agent/pay:tool",
        "shop/agent/chat:llm",
    ]
    root = mine[0].span.attributes
    assert (root[names.FORK_OF], root[names.FORK_ORDER]) == (parent, 4)
    assert names.FORK_AT not in root  # nobody named a seq
    assert mine[0].order == 4


def test_going_on_live_from_a_step_without_another_outcome(
    recording: Recording, client: openai.OpenAI, server: MockModelServer, parent: str
) -> None:
    with playhead.fork(parent, at=at(recording, parent, "pay:tool")) as fork:
        go(client)
    assert (fork.report.answered, fork.report.live) == (3, 2)
    assert len(server.requests) == 3 + 1
    assert executed == ["pay 5"]


@pytest.mark.parametrize("outcome", ["No.", {"message": {"content": "No."}}])
def test_a_model_that_says_something_else(
    recording: Recording, client: openai.OpenAI, server: MockModelServer, parent: str, outcome: Any
) -> None:
    with playhead.fork(parent, at=at(recording, parent, "chat:llm"), outcome=outcome) as fork:
        result = go(client)
    assert result[0] == "No."
    assert len(server.requests) == 3 + 2  # the history is another from there on
    call = next(call for call in calls_of(recording, fork.id) if call.kind == "llm")
    said = recording.read().messages(call.span.attributes[names.OUTPUT_MESSAGES_REF])
    assert said[0]["parts"][0]["content"] == "No."


def test_a_model_that_asks_for_a_tool_instead(recording: Recording, client: openai.OpenAI, parent: str) -> None:
    asked = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"order": "A1"}'}}
    message = {"content": None, "tool_calls": [asked]}
    with playhead.fork(parent, at=at(recording, parent, "chat:llm"), outcome={"message": message}) as fork:
        result = go(client)
    assert result[0] is None
    tool = next(call for call in calls_of(recording, fork.id) if call.kind == "tool")
    assert tool.span.attributes[names.TOOL_CALL_ID] == "c1"


def test_a_stream_says_something_else(recording: Recording, client: openai.OpenAI, server: MockModelServer) -> None:
    def stream() -> str:
        with playhead.run("s"):
            asked: Any = [{"role": "user", "content": "go"}]
            with client.chat.completions.create(model="m", messages=asked, stream=True) as chunks:
                return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)

    assert stream() == "fine, thank you"
    run_id = recording.read().spans[-1].attributes[names.RUN_ID]
    with playhead.fork(run_id, at=at(recording, run_id, "chat:llm"), outcome="No."):
        assert stream() == "No."
    assert len(server.requests) == 1


def test_with_live_llm_no_tool_is_executed(
    recording: Recording, client: openai.OpenAI, server: MockModelServer, parent: str
) -> None:
    first = at(recording, parent, "chat:llm")
    with playhead.fork(parent, at=first, outcome="Hm.", live="llm") as fork:
        result = go(client)
    assert executed == []
    assert result == ["Hm.", {"order": "A1", "status": "late"}, "fine, thank you", "paid 5", "fine, thank you"]
    assert len(server.requests) == 3 + 2
    assert [call.name for call in calls_of(recording, fork.id) if call.kind == "tool"] == ["look_up", "pay"]


def test_a_tool_that_the_record_cannot_answer_is_denied_or_asked_of_a_callback(
    recording: Recording, client: openai.OpenAI, parent: str
) -> None:
    def other(client: openai.OpenAI) -> list[Any]:
        with playhead.run("shop"), observe("agent"):
            try:
                return [pay(6)]
            except ToolDenied as error:
                return [str(error)]

    first = at(recording, parent, "chat:llm")
    with playhead.fork(parent, at=first, live="llm") as fork:
        assert "tools are denied" in other(client)[0]
    denied = next(call for call in calls_of(recording, fork.id) if call.kind == "tool")
    assert denied.span.attributes[names.ERROR_TYPE] == "playhead.errors.ToolDenied"
    with playhead.fork(parent, at=first, live="llm", tools=lambda name, given: f"{name} {given}"):
        assert other(client) == ["pay {'amount': 6}"]
    assert executed == []


def test_a_fork_of_a_fork_shares_what_both_parents_have(
    recording: Recording, client: openai.OpenAI, server: MockModelServer, parent: str
) -> None:
    with playhead.fork(parent, at=at(recording, parent, "look_up:tool"), outcome={"result": "gone"}) as first:
        go(client)
    server_asked, executed[:] = len(server.requests), []
    with playhead.fork(first.id, at=at(recording, first.id, "pay:tool"), outcome={"error": "declined"}) as second:
        result = go(client)
    assert result == ["fine, thank you", "gone", "fine, thank you", "RuntimeError", "fine, thank you"]
    assert (second.report.answered, second.report.live) == (3, 1)
    assert len(server.requests) == server_asked + 1
    assert executed == []


def test_a_fork_can_be_resumed(recording: Recording, client: openai.OpenAI, parent: str) -> None:
    with playhead.fork(parent, at=at(recording, parent, "look_up:tool"), outcome={"result": "gone"}) as fork:
        result = go(client)
    with playhead.resume(fork.id) as resumed:
        assert go(client) == result
    assert (resumed.report.answered, resumed.report.live) == (5, 0)


def test_what_is_not_there_cannot_be_forked(recording: Recording, parent: str) -> None:
    with pytest.raises(NoRecord, match="has no call at"), playhead.fork(parent, at="00" * 8):
        pass
    with pytest.raises(NoRecord, match="is not in the journal"), playhead.fork("0" * 32, at="00" * 8):
        pass


def test_a_fork_inside_of_a_tool_executes_that_tool_again():
    @observe(kind="tool")
    def buy(order: str) -> str:
        return f"{pay(5)}, {look_up(order)['status']}"

    def bought() -> str:
        with playhead.run("shop") as run:
            run.state["bought"] = buy("A1")
        ids.append(run.id)
        return run.state["bought"]

    ids: list[str | None] = []
    assert bought() == "paid 5, late"
    for resumed in (False, True):
        executed.clear()
        last = ids[-1]
        assert last is not None
        with playhead.resume(last) if resumed else playhead.fork(last, at="pay", outcome="refused"):
            assert bought() == "refused, late"
        assert executed == ([] if resumed else ["look up A1"])


def test_a_fork_of_a_fork_goes_on_where_the_calls_around_have_ended_in_their_parents():
    @observe(kind="tool")
    def turn(number: int) -> str:
        executed.append(f"turn {number}")
        return "go on"

    @observe
    def play(turns: int) -> list[str]:
        return [turn(number) for number in range(turns)]

    def played(turns: int) -> str:
        with playhead.run("game") as run:
            said.append(play(turns))
        assert run.id is not None
        return run.id

    said: list[list[str]] = []
    run_id = played(1)
    for turns in (3, 5, 7):
        with playhead.fork(run_id, at=f"turn#{max(1, turns - 2)}", outcome="changed"):
            run_id = played(turns)
    assert said[-1] == ["changed", "go on", "changed", "go on", "changed", "go on", "go on"]

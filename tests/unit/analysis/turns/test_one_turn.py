"""One turn: what its model saw and in which parts, what was new, what it answered and called, and what followed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.model import event as ev
from playhead.model.ref import ContentRef
from playhead_collector.analysis.turns.context_parts import PartEstimates, context_change
from playhead_collector.analysis.turns.one_turn import answer_turn
from playhead_collector.analysis.turns.turn_state import changes_of
from playhead_collector.errors import Refused
from playhead_collector.read.prices import shipped
from tests.support.readers.agents import AgentsRun

TOOL = {"type": "function", "function": {"name": "look_up", "parameters": {"required": ["order", "case"]}}}


async def turn_of(record: Any, number: int, *, why: bool = False) -> Any:
    return await answer_turn(record, shipped(), number, why=why)


def airline() -> AgentsRun:
    """A user, an agent with a long system prompt, and a tool that is asked twice."""
    run = AgentsRun(tools=[TOOL] * 30)
    run.says("You are an airline's agent. " * 40, role="system")
    run.says("My order AB12CD is late")
    for number in range(3):
        span = run.asks_model()
        call_id = f"c{number}"
        usage = ev.TokenUsage(input_tokens=1_000 + 70 * number, output_tokens=10, cache_read_tokens=128 * number)
        arguments = {"case": number, "order": "AB12CD"}
        run.model_answers(span, f"I look {number}", [("look_up", call_id, arguments)], usage=usage)
        run.tool_returns(run.tool("look_up", arguments, call_id), {"state": "late " * 20})
    run.turn("It comes on Friday.")
    return run


async def test_the_parts_of_what_it_saw_add_up_and_are_the_same_for_the_same_text():
    record = airline().done()
    turns = [await turn_of(record, number) for number in (1, 2, 3)]
    for number, turn in enumerate(turns):
        saw = turn["saw"]
        assert (saw["tokens"], saw["basis"], saw["parts_basis"]) == (1_000 + 70 * number, "reported", "calibrated")
        assert sum(part["tokens"] for part in saw["parts"]) == saw["tokens"]
        assert (saw["cached"], saw["limit"], saw["complete"]) == (128 * number, 128_000, True)
        assert saw["messages"] == 2 + 2 * number
    fixed = [{part["kind"]: part["tokens"] for part in turn["saw"]["parts"]} for turn in turns]
    assert len({(parts["system"], parts["tools"]) for parts in fixed}) == 1
    assert [sorted(parts) for parts in fixed[:2]] == [
        ["new", "system", "tools"], ["model", "new", "system", "tools", "user"],
    ]  # fmt: skip


async def test_what_is_new_is_what_the_agent_had_not_seen():
    record = airline().done()
    first, second = [(await turn_of(record, number))["new"] for number in (1, 2)]
    assert (first["since"], [entry["role"] for entry in first["added"]]) == (None, ["system", "user"])
    assert first["added_total"] == 2
    (entry,) = second["added"]
    assert (second["since"], entry["role"], entry["turn"]) == (1, "tool", 1)
    # Named as a result, with the call that gave it.
    assert (entry["result_of"]["name"], entry["result_of"]["shown"], entry["result_of"]["call_id"]) == (
        "look_up", "AB12CD, 0", "c0",
    )  # fmt: skip
    added = next(event for event in (await record.events()) if event.seq == entry["seq"])
    assert isinstance(added, ev.MessageAdded)
    assert added.message == entry["message"]
    assert (second["dropped"], second["summarised"], second["compression"]) == ([], [], None)


async def test_what_it_called_with_the_arguments_in_order_and_what_came_back():
    record = airline().done()
    turn = await turn_of(record, 2)
    (call,) = turn["calls"]
    assert [(argument["path"], argument["value"], argument["origin"]) for argument in call["arguments"]] == [
        ("order", "AB12CD", None), ("case", 1, None),
    ]  # fmt: skip
    assert call["result_text"].startswith('{"state":"late late')
    assert (call["result_length"], call["missing"], call["error"], call["raised"]) == (
        len(call["result_text"]),
        False,
        None,
        None,
    )
    assert turn["last_seq"] == call["ended_seq"]
    assert (turn["number"], turn["total"], turn["usage"]["input_tokens"]) == (2, 4, 1_070)
    assert turn["answer"]["parts"][0] == {"type": "text", "content": "I look 1"}
    assert (turn["choice"], turn["then"], turn["missing"]) == (None, [], [])
    last = await turn_of(record, 4)
    assert (last["to"], last["calls"]) == ("user", [])


async def test_why_adds_origins_the_choice_and_what_followed():
    turn = await turn_of(airline().done(), 1, why=True)
    origins = {argument["path"]: argument["origin"] for argument in turn["calls"][0]["arguments"]}
    assert origins["order"]["source"] == "user"
    assert (turn["calls"][0]["kind"], turn["choice"]["kind"]) == ("user_request", "user_request")
    assert (turn["choice"]["trigger"], turn["choice"]["trigger_text"]) == ("user_message", "My order AB12CD is late")
    assert [option["name"] for option in turn["choice"]["options"] if option["chosen"]] == ["look_up"]
    assert turn["thoughts"][-1]["basis"] == "inferred"


async def test_then_names_what_rested_on_a_turn_and_why():
    run = AgentsRun()
    run.says("Find the flight of mia_li_3668")
    run.turn(calls=[("get_user", "c1", {"user": "mia_li_3668"})], result={"reservation": "NO6JO3"})
    run.turn(calls=[("cancel", "c2", {"reservation": "NO6JO3"})], result="cancelled")
    run.turn("Your flight is cancelled.")
    record = run.done()
    first = await turn_of(record, 1, why=True)
    called = next(event for event in run.events if isinstance(event, ev.ToolCalled) and event.name == "cancel")
    (effect,) = [effect for effect in first["then"] if effect["seq"] == called.seq]
    assert (effect["turn"], effect["text"], effect["why"]) == (2, "cancel(NO6JO3)", "value reservation")
    assert (effect["strength"], effect["rule"]) == ("strong", "beside_in_result")
    assert all(effect["seq"] > first["last_seq"] for effect in first["then"])
    second = await turn_of(record, 2, why=True)
    assert [(effect["turn"], effect["text"]) for effect in second["then"] if effect["turn"]] == [
        (3, "Your flight is cancelled."),
    ]  # fmt: skip


async def test_a_cut_says_what_left_the_context():
    run = AgentsRun()
    run.says("one")
    run.turn("answer one")
    run.says("two")
    first = run.asks_model()
    run.model_answers(first, "answer two")
    thread = run.store.keep_thread(run.threads[None])
    one, answer_one, two, answer_two = (node.message for node in thread.nodes)
    summary = run.store.keep_thread([{"role": "user", "parts": [{"type": "text", "content": "they spoke"}]}]).nodes[0]
    run.threads[None] = run.threads[None][3:]
    cut = run.add(
        ev.ContextCompressed, run.root, origin="declared", summarised=(one, answer_one), summary=summary.message
    )
    run.says("three")
    run.turn("answer three")
    new = (await turn_of(run.done(), 3))["new"]
    assert [entry["message"] for entry in new["summarised"]] == [one, answer_one]
    assert [entry["message"] for entry in new["dropped"]] == [two]
    assert "value" not in new["dropped"][0]
    assert (new["dropped_total"], new["summarised_total"], new["compression"]) == (1, 2, cut.seq)
    assert answer_two not in [entry["message"] for entry in (*new["dropped"], *new["added"])]


async def test_an_open_turn_and_one_that_failed():
    run = AgentsRun()
    run.says("hello")
    run.asks_model()
    turn = await turn_of(run.record(), 1)
    assert (turn["status"], turn["answer"], turn["ended_seq"], turn["saw"]["basis"]) == (
        "open",
        None,
        None,
        "estimated",
    )
    assert sum(part["tokens"] for part in turn["saw"]["parts"]) == turn["saw"]["tokens"]
    failed = AgentsRun()
    failed.model_fails(failed.asks_model(), "RateLimitError", "slow down")
    failed.turn("Done.")
    turn = await turn_of(failed.done(), 1)
    assert (turn["status"], turn["error"]["message"], turn["error"]["handled"]) == ("failed", "slow down", True)
    assert (turn["error"]["turn"], turn["error"]["went_through"]) == (1, [])


async def test_a_tool_that_raised_says_how_far_and_what_was_beside_it():
    run = AgentsRun()
    one, two = run.agent("one"), run.agent("two")
    span = run.asks_model(one)
    run.model_answers(span, calls=[("query", "c1", {"sql": "x"})])
    run.asks_model(two)
    tool = run.tool("query", {"sql": "x"}, "c1", one)
    run.add(ev.ApprovalRequested, tool, approval="1a" * 16, action="Query?")
    run.tool_raises(tool, "E", "no")
    run.agent_ends(one, ("E", "no"))
    turn = await turn_of(run.fails("E", "no"), 1)
    (call,) = turn["calls"]
    assert (call["error"], call["raised"]["handled"]) == ({"type": "E", "message": "no"}, False)
    assert [step["name"] for step in call["raised"]["went_through"]] == ["one", "support"]
    assert (call["beside"], call["promise"], call["result_text"]) == (["two: gpt-4o"], "1a" * 16, None)
    assert (turn["group"], turn["agent"]) == (one, "one")


async def test_the_state_that_a_turn_changed():
    run = AgentsRun()
    keep = run.store.keep
    run.add(ev.StateChanged, run.root, key="order", value=keep({"id": 7, "state": "late"}))
    run.add(ev.StateChanged, run.root, key="other", value=keep(1))
    span = run.asks_model()
    run.model_answers(span, calls=[("look_up", "c1", {})])
    tool = run.tool("look_up", {}, "c1")
    run.add(ev.StateChanged, run.root, key="order", value=keep({"id": 7, "state": "sent"}))
    run.add(ev.StateChanged, run.root, key="new", value=keep("x"))
    run.tool_returns(tool)
    turn = await turn_of(run.done(), 1)
    assert turn["state"] == [
        {"path": "order.state", "before": "late", "after": "sent"}, {"path": "new", "before": None, "after": "x"},
    ]  # fmt: skip


async def test_reasoning_that_was_captured_or_written_down():
    run = AgentsRun()
    span = run.asks_model()
    thought = run.store.keep("I have to look.")
    run.model_answers(span, "<reasoning>Goal: find it</reasoning> I look.", reasoning=thought)
    thoughts = (await turn_of(run.done(), 1))["thoughts"]
    assert [(each["basis"], each["text"]) for each in thoughts] == [
        ("captured", "I have to look."), ("structured", "Goal: find it"),
    ]  # fmt: skip


async def test_contents_that_are_not_stored_and_contexts_that_only_the_provider_has():
    run = AgentsRun()
    run.says("hello")
    span = run.asks_model()
    run.model_answers(span, calls=[("look_up", "c1", {})])
    end = run.tool_returns(run.tool("look_up", {}, "c1"), "gone")
    record = run.done()
    assert end.result is not None
    del run.store.bodies[end.result]
    turn = await turn_of(record, 1)
    assert (turn["calls"][0]["missing"], turn["calls"][0]["result_text"], turn["missing"]) == (True, None, [end.result])
    elsewhere = AgentsRun()
    elsewhere.turn("one")
    elsewhere.threads[None] = [{"role": "system", "parts": [{"type": "playhead.elsewhere"}]}]
    elsewhere.turn("two")
    turn = await turn_of(elsewhere.done(), 2)
    assert (turn["saw"]["complete"], turn["new"]["dropped"]) == (False, [])


async def test_a_turn_that_is_not_there_is_refused():
    with pytest.raises(Refused, match="has no turn 9"):
        await turn_of(airline().done(), 9)


async def test_the_agent_s_last_call_is_found_far_back(monkeypatch: pytest.MonkeyPatch):
    from playhead_collector.analysis.turns import loading, requested

    run = AgentsRun()
    one, two = run.agent("one"), run.agent("two")
    run.says("hello", to=one)
    run.turn("one", agent=one)
    for _ in range(12):
        run.turn("two", agent=two)
    run.turn("one again", agent=one)
    record = run.done()
    whole = await turn_of(record, 14)
    for module in (loading, requested):
        monkeypatch.setattr(module, "REACH", 6)
    assert (await turn_of(record, 14))["new"] == whole["new"]
    assert whole["new"]["since"] == 1


# --- pure ------------------------------------------------------------------------------------------------------------


REFS = st.lists(st.sampled_from([ContentRef.of(bytes([number])) for number in range(5)]), max_size=8)


@given(REFS, REFS, REFS)
def test_every_message_of_a_context_is_kept_or_added(before: Any, answered: Any, after: Any):
    change = context_change(before, answered, after, set(before[:2]))
    assert [after[place] for place in sorted(change.added_at)] == change.added
    assert len(change.dropped) + len(change.summarised) <= len(before)
    if after[: len(before) + len(answered)] == [*before, *answered]:
        assert not change.dropped
        assert change.added == after[len(before) + len(answered) :]


@given(*[st.floats(0, 1e4)] * 6, st.integers(0, 20_000), st.floats(0.1, 5))
def test_parts_add_up(
    system: float, tools: float, user: float, model: float, results: float, new: float, whole: int, factor: float
):
    estimates = PartEstimates(system, tools, user, model, results, new)
    assert sum(part["tokens"] for part in estimates.parts(whole, factor)) == whole


def test_of_objects_only_the_fields_that_differ_are_changes():
    assert list(changes_of("a", {"b": {"c": 1}, "d": 2}, {"b": {"c": 1}, "d": 3, "e": 4})) == [
        {"path": "a.d", "before": 2, "after": 3}, {"path": "a.e", "before": None, "after": 4},
    ]  # fmt: skip
    assert list(changes_of("a", 1, 1)) == []

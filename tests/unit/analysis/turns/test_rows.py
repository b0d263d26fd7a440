"""A run line by line: what the lines are, who asked for what, and that pages give what the whole gives."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.model import event as ev
from playhead_collector.analysis.turns import loading, requested, rows
from playhead_collector.analysis.turns.rows import cut_sentence, list_turns
from playhead_collector.read.prices import shipped
from tests.support.readers.agents import AgentsRun

UPDATE = {
    "type": "function",
    "function": {
        "name": "update_flights",
        "parameters": {
            "type": "object",
            "properties": {"cabin": {}, "flights": {}, "payment": {}, "reservation": {}},
            "required": ["reservation", "cabin", "flights"],
        },
    },
}


async def rows_of(record: Any, limit: int = 1_000) -> list[Any]:
    rows: list[Any] = []
    after = 0
    while True:
        page = await list_turns(record, shipped(), limit, after)
        rows += page["items"]
        if page["next_cursor"] is None:
            return rows
        after = int(page["next_cursor"])


def lines(rows: list[Any]) -> list[tuple[str, Any]]:
    said = {"turn": "turn", "user": "text", "agent": "agent", "cut": "text", "wait": "text"}
    return [(row["kind"], row["calls"][0]["name"] if row["kind"] == "call" else row[said[row["kind"]]]) for row in rows]


async def test_a_conversation_has_a_line_for_each_turn_with_the_tools_that_it_called():
    run = AgentsRun(tools=[UPDATE])
    run.says("You help.", role="system")
    run.says("Change my flight")
    arguments = {"cabin": "economy", "flights": [{"number": "HAT1"}], "payment": "card_1", "reservation": "M05KNL"}
    run.turn("Let me see", [("update_flights", "c1", arguments)])
    run.turn("It is changed.")
    run.says("Thanks")
    run.turn("You are welcome.")
    rows = await rows_of(run.done())
    assert lines(rows) == [
        ("user", "Change my flight"), ("turn", 1), ("turn", 2), ("user", "Thanks"), ("turn", 3),
    ]  # fmt: skip
    first, answer = rows[1], rows[2]
    (call,) = first["calls"]
    # As the definition has them: first those that it requires, in its order, then the others.
    assert (call["name"], call["shown"], call["status"]) == (
        "update_flights",
        "M05KNL, economy, […], card_1",
        "completed",
    )
    called = next(event for event in run.events if isinstance(event, ev.ToolCalled))
    assert (call["seq"], call["ended_seq"], call["call_id"]) == (called.seq, called.seq + 1, "c1")
    assert (first["text"], first["to"], answer["text"], answer["to"]) == ("Let me see", None, "It is changed.", "user")
    assert (first["input_tokens"], first["output_tokens"], first["cost"]) == (100, 10, 0.00035)
    # From the model call's start to the end of its tool.
    assert first["elapsed_ms"] == called.seq + 1 - first["seq"]
    assert first["model_ms"] == 1.0
    assert first["started_ms"] == first["seq"] - 1


async def test_agents_are_groups_and_one_that_raised_says_so():
    run = AgentsRun()
    run.turn("I ask two reviewers.")
    one, two = run.agent("security"), run.agent("performance")
    of_one, of_two = run.asks_model(one), run.asks_model(two)
    run.model_answers(of_two, calls=[("query", None, {"sql": "b"})])
    run.model_answers(of_one, calls=[("query", None, {"sql": "a"})])
    tool_of_one, tool_of_two = run.tool("query", {"sql": "a"}, parent=one), run.tool("query", {"sql": "b"}, parent=two)
    run.tool_returns(tool_of_two)
    run.tool_raises(tool_of_one, "TimeoutError", "no answer")
    run.agent_ends(one, ("TimeoutError", "no answer"))
    run.turn("All is well.", agent=two)
    inner = run.agent("helper", two)
    run.agent_ends(inner)
    run.agent_ends(two)
    rows = await rows_of(run.done())
    agents = {row["agent"]: row for row in rows if row["kind"] == "agent"}
    assert {name: row["within"] for name, row in agents.items()} == {
        "security": None,
        "performance": None,
        "helper": two,
    }
    assert [(agents[name]["raised"], agents[name]["status"]) for name in ("security", "performance")] == [
        (True, "failed"), (False, "completed"),
    ]  # fmt: skip
    assert [agents[name]["turns"] for name in ("security", "performance", "helper")] == [1, 2, 0]
    assert agents["performance"]["input_tokens"] == 200
    turns = [row for row in rows if row["kind"] == "turn"]
    assert [row["group"] for row in turns] == [None, one, two, two]
    assert [(row["calls"][0]["shown"], row["raised"]) for row in turns[1:3]] == [("a", True), ("b", False)]
    # What a reviewer answers is not for the user.
    assert [row["to"] for row in turns] == ["user", None, None, None]


async def test_a_tool_that_nobody_asked_for_has_its_own_line_and_one_that_was_not_made_is_open():
    run = AgentsRun()
    run.tool_returns(run.tool("load_settings", {"file": "a.json"}))
    run.turn(calls=[("look_up", "c1", {"case": 7})])
    run.tool_returns(run.tool("look_up", {"case": 8}))
    span = run.asks_model()
    run.model_answers(span, calls=[("delete", "c9", {"case": 7})])
    rows = await rows_of(run.done())
    assert lines(rows) == [("call", "load_settings"), ("turn", 1), ("call", "look_up"), ("turn", 2)]
    assert (rows[0]["calls"][0]["shown"], rows[0]["status"]) == ("a.json", "completed")
    (asked,) = rows[3]["calls"]
    assert (asked["seq"], asked["call_id"], asked["status"], asked["shown"]) == (None, "c9", "open", "7")


async def test_the_answer_of_an_agent_whose_run_returned_it_is_for_the_user():
    run = AgentsRun()
    agent = run.agent("triage")
    run.says("My order is lost", to=agent)
    run.turn("Which one?", agent=agent)
    run.says("AB12CD", to=agent)
    run.turn("It comes tomorrow.", agent=agent)
    run.agent_ends(agent)
    rows = await rows_of(run.done(output=run.store.keep("It comes tomorrow.")))
    assert [row["to"] for row in rows if row["kind"] == "turn"] == ["user", "user"]


async def test_a_summary_is_internal_and_its_message_is_not_the_user_s():
    run = AgentsRun()
    run.says("Hello")
    run.turn("Hi.")
    span = run.asks_model()
    run.model_answers(span, "They said hello.")
    summary = run.store.keep_thread([{"role": "user", "parts": [{"type": "text", "content": "They said hello."}]}])
    ref = summary.nodes[0].message
    run.add(ev.ContextCompressed, "root", origin="declared", summariser=span, summarised=(ref, ref), summary=ref)
    run.says("They said hello.")
    run.turn("So?")
    rows = await rows_of(run.done())
    assert lines(rows) == [("user", "Hello"), ("turn", 1), ("turn", 2), ("cut", "2 messages summarised"), ("turn", 3)]
    assert [(row["internal"], row["to"]) for row in rows if row["kind"] == "turn"] == [
        (False, "user"), (True, None), (False, "user"),
    ]  # fmt: skip


async def test_waits_are_lines_with_their_promise():
    run = AgentsRun()
    promise, other = "1a" * 16, "thread-7"
    agent = run.agent("clerk")
    run.add(ev.ApprovalRequested, agent, approval=promise, action="Delete the table?", tool="delete")
    run.add(ev.ApprovalDenied, agent, approval=promise, waited_ms=250.0)
    run.add(ev.InputRequested, "root", wait=other, prompt=run.store.keep("Which one?"))
    rows = await rows_of(run.record())
    assert lines(rows)[1:] == [("wait", "Delete the table?"), ("wait", "Which one?")]
    denied, waiting = rows[1:]
    assert (denied["promise"], denied["status"], denied["elapsed_ms"], denied["group"]) == (
        promise,
        "denied",
        250.0,
        agent,
    )
    assert (waiting["promise"], waiting["status"], waiting["ended_seq"]) == (None, "open", None)


async def test_what_is_under_way_is_open():
    run = AgentsRun()
    agent = run.agent("clerk")
    span = run.asks_model(agent)
    run.model_answers(span, calls=[("wait", "c1", {})])
    run.tool("wait", {}, "c1", agent)
    run.asks_model()
    rows = await rows_of(run.record())
    assert [(row["kind"], row["status"], row["elapsed_ms"]) for row in rows] == [
        ("agent", "open", None), ("turn", "open", None), ("turn", "open", None),
    ]  # fmt: skip


def test_a_cut_in_words():
    head: dict[str, Any] = {"id": "a", "run": "b", "seq": 1, "time_ns": 1, "origin": "inferred"}
    ref = AgentsRun().store.keep("x")
    assert cut_sentence(ev.ContextCompressed(**head, dropped=(ref,), strategy="window")) == "1 message dropped (window)"
    both = ev.ContextCompressed(**head, summarised=(ref,) * 4, dropped=(ref,) * 2)
    assert cut_sentence(both) == "4 messages summarised, 2 dropped"
    assert cut_sentence(ev.ContextCompressed(**head)) == "messages left the context"


# --- properties ------------------------------------------------------------------------------------------------------

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("turn"), st.integers(0, 2), st.integers(0, 3)),
        st.tuples(st.just("model"), st.integers(0, 2), st.integers(0, 2)),
        st.tuples(st.just("answer"), st.integers(0, 9), st.integers(0, 3)),
        st.tuples(st.just("tool"), st.integers(0, 2), st.integers(0, 2)),
        st.tuples(st.just("end"), st.integers(0, 9), st.integers(0, 1)),
        st.tuples(st.just("user"), st.integers(0, 2), st.integers(0, 0)),
        st.tuples(st.just("cut"), st.integers(0, 0), st.integers(0, 0)),
        st.tuples(st.just("wait"), st.integers(0, 0), st.integers(0, 1)),
    ),
    max_size=40,
)


class Anything:
    """A run of three agents side by side, in which anything may happen at any time. Each tool call has its own id."""

    def __init__(self) -> None:
        self.run = AgentsRun()
        self.agents = [None, self.run.agent("one"), self.run.agent("two")]
        self.models: list[str] = []
        self.tools: list[tuple[str, str | None]] = []
        self.asked: list[tuple[str, str | None]] = []
        self.count = 0

    def happens(self, kind: str, which: int, more: int) -> None:
        self.count += 1
        agent = self.agents[which % 3]
        match kind:
            case "turn":
                self.run.turn("Said" if more % 2 else "", self._calls("t", more), agent)
            case "model":
                self.models.append(self.run.asks_model(agent))
            case "answer" if self.models:
                calls = self._calls("a", more)
                self.run.model_answers(self.models.pop(which % len(self.models)), "Well", calls)
                self.asked += [(name, call_id) for name, call_id, _ in calls]
            case "tool":
                name, call_id = self.asked.pop() if self.asked and more else ("own", f"o{self.count}")
                self.tools.append((self.run.tool(name, {"case": 1}, call_id, agent or self.run.root), agent))
            case "end" if self.tools:
                span, whose = self.tools.pop(which % len(self.tools))
                _ = self.run.tool_raises(span, "E", "no") if more else self.run.tool_returns(span, "r", whose)
            case _:
                self._of_the_run(kind, agent, more)

    def _of_the_run(self, kind: str, agent: str | None, more: int) -> None:
        match kind:
            case "user":
                self.run.says(f"Message {self.count}", to=agent)
            case "cut":
                self.run.add(ev.ContextCompressed, self.run.root, origin="declared")
            case "wait":
                self.run.add(ev.InputRequested, self.run.root, wait=f"w{self.count}")
                if more:
                    self.run.add(ev.InputReceived, self.run.root, wait=f"w{self.count}")
            case _:
                pass

    def _calls(self, letter: str, how_many: int) -> list[tuple[str, str | None, Any]]:
        return [("look_up", f"{letter}{self.count}.{number}", {"case": number}) for number in range(how_many)]


def made(steps: list[tuple[str, int, int]]) -> AgentsRun:
    anything = Anything()
    for step in steps:
        anything.happens(*step)
    return anything.run


@settings(max_examples=60, deadline=None)
@given(STEPS, st.integers(1, 9), st.sampled_from([4, 12, 1_024]))
async def test_pages_join_to_the_whole_and_every_call_is_in_one_line(steps: Any, limit: int, reach: int):
    run = made(steps)
    record = run.done()
    patched = pytest.MonkeyPatch()
    # Pages read no more of the run than they need, also with a reach that is shorter than these runs.
    for module in (loading, requested, rows):
        patched.setattr(module, "REACH", reach)
    try:
        whole = await rows_of(record)
        assert await rows_of(record, limit) == whole
    finally:
        patched.undo()
    seqs = [row["seq"] for row in whole]
    assert seqs == sorted(set(seqs))
    began = [event.seq for event in run.events if isinstance(event, ev.LlmCalled)]
    assert [row["seq"] for row in whole if row["kind"] == "turn"] == began
    assert [row["turn"] for row in whole if row["kind"] == "turn"] == list(range(1, len(began) + 1))
    called = sorted(event.seq for event in run.events if isinstance(event, ev.ToolCalled))
    assert sorted(call["seq"] for row in whole for call in row["calls"] if call["seq"] is not None) == called

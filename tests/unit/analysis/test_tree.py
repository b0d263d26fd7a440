"""The decision tree: its path is the run, and every other run with the same beginning is a branch of it, once."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.model import event as ev
from playhead_collector.analysis.decisions import list_decisions
from playhead_collector.analysis.tree import answer_tree
from playhead_collector.read.record import RunRecord
from tests.support.readers.chat import Chat
from tests.support.readers.fake import RUN, FakeStore, record_of

OTHER, THIRD = "0190ffff" * 4, "0190eeee" * 4
TOOLS = [
    {
        "name": "refund",
        "description": "Pays back",
        "input_schema": {"properties": {"to": {"enum": ["card", "voucher"]}}},
    },
    {"name": "cancel", "description": "Cancels", "input_schema": {}},
]


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


Step = tuple[str, str]
"""What happens, and a value that makes it this one."""


def chat_of(store: FakeStore, steps: list[Step], run: str = RUN) -> tuple[Chat, list[tuple[str, Any]]]:
    """A run of these steps, and the choices that were made in it: (kind, chosen)."""
    chat, made = Chat(store, "You help.", run=run, tools=TOOLS), list[tuple[str, Any]]()
    for what, value in steps:
        match what:
            case "user":
                chat.user(value)
            case "says":
                chat.says(value)
                made.append(("answer", value))
            case "asks":
                chat.asks("refund", {"to": value}, f"paid to {value}")
                made += [("tool_selection", {"to": value}), ("tool_arguments", {"to": value})]
            case "calls":
                chat.calls("log", {"line": value}, "ok")  # by the code: nobody's choice
            case "branch":
                chat.add(ev.OrchestrationDecision, "root", annotation=store.keep({"decision": value}))
                made.append(("branch", value))
            case _:
                chat.add(ev.AgentHandoff, "root", to=value)
                made.append(("handoff", {"to": value}))
    return chat, made


def choices_in(nodes: list[Any]) -> list[tuple[str, Any]]:
    def chosen(node: Any) -> Any:
        match node["kind"]:
            case "answer":
                return node["chosen"]["text"]
            case "tool_selection":
                return node["chosen"]["tools"][0]["arguments"]
            case "tool_arguments":
                return node["chosen"]["arguments"]
            case _:
                return node["chosen"]

    return [(node["kind"], chosen(node)) for node in nodes if node["kind"] != "stop"]


async def whole_tree(record: RunRecord, limit: int) -> tuple[list[Any], list[Any]]:
    """The path of all pages, and the branches behind it."""
    nodes, after = list[Any](), 0
    while True:
        page = await answer_tree(record, limit, after)
        assert len(page["items"]) <= limit
        nodes += page["items"]
        if page["next_cursor"] is None:
            return nodes, page["branches"]
        assert page["branches"] == []
        after = int(page["next_cursor"])


words = st.sampled_from(["card", "voucher", "cash"])
steps = st.lists(st.tuples(st.sampled_from(["user", "says", "asks", "calls", "branch", "handoff"]), words), max_size=12)


@settings(max_examples=100, deadline=None)
@given(steps, st.integers(1, 5))
async def test_the_path_is_what_the_run_chose_in_order_whatever_the_pages(taken: list[Step], limit: int):
    chat, made = chat_of(FakeStore(), taken)
    record = chat.done()
    nodes, _ = await whole_tree(record, limit)
    assert choices_in(nodes) == made
    listed = [each["seq"] for each in (await list_decisions(record, 1000, 0))["items"]]
    assert [node["seq"] for node in nodes if node["kind"] != "tool_arguments"] == listed
    for node in nodes:
        chosen = node["chosen"]
        names = {tool["name"] for tool in chosen.get("tools", [])} if isinstance(chosen, dict) else {chosen}
        assert names.isdisjoint(option["name"] for option in node["untaken"])


@settings(max_examples=100, deadline=None)
@given(steps, steps, steps, st.integers(1, 4))
async def test_a_sibling_stands_once_where_it_chose_otherwise(
    common: list[Step], ours: list[Step], theirs: list[Step], limit: int
):
    store = FakeStore()
    record = chat_of(store, [("user", "go"), *common, ("says", "we"), *ours])[0].done()
    chat_of(store, [("user", "go"), *common, ("says", "they"), *theirs], OTHER)[0].done()
    nodes, behind = await whole_tree(record, limit)
    at = [(node, branch) for node in nodes for branch in node["branches"]]
    assert behind == []
    [(node, branch)] = at
    assert (branch["kind"], branch["run"], branch["same"]) == ("sibling", OTHER, False)
    assert (node["chosen"]["text"], branch["chosen"]["text"]) == ("we", "they")


@settings(max_examples=50, deadline=None)
@given(steps, steps, st.integers(0, 30), st.integers(1, 4))
async def test_a_fork_and_its_parent_stand_once_in_each_other_s_tree_at_the_same_place(
    taken: list[Step], other: list[Step], cut: int, limit: int
):
    store = FakeStore()
    record = chat_of(store, [("user", "go"), *taken])[0].done()
    at = min(cut, len(store.events_of[RUN]) - 1) + 1
    fork = forked(store, at, other)
    for one, kind, another in ((record, "fork", OTHER), (fork, "parent", RUN)):
        nodes, behind = await whole_tree(one, limit)
        branches = [branch for node in nodes for branch in node["branches"]] + behind
        assert [(branch["kind"], branch["run"], branch["at"]) for branch in branches] == [(kind, another, at)]
        place = next((node["seq"] for node in nodes if node["branches"]), None)
        assert place == next((node["seq"] for node in nodes if node["seq"] >= at), None)


def forked(store: FakeStore, at: int, then: list[Step]) -> RunRecord:
    """A fork that shares what came before `at`, and goes on by itself."""
    shared = [event for event in store.events_of[RUN] if event.seq < at]
    chat, _ = chat_of(store, [("user", "something else"), *then], OTHER)
    own = [replace(event, seq=at + n, id=f"{event.id}.f") for n, event in enumerate(chat.events)]
    store.keep_run([*shared, *own], OTHER, fork_of=RUN, fork_at=at, shared=at - 1)
    return record_of(store, OTHER)


async def test_a_sibling_that_chose_the_same_and_met_something_else_is_a_branch_too(store: FakeStore):
    record = chat_of(store, [("user", "go"), ("asks", "card"), ("says", "done")])[0].done()
    other = Chat(store, "You help.", run=OTHER, tools=TOOLS)
    other.user("go")
    other.asks("refund", {"to": "card"}, error="card refused")
    other.says("Sorry.")
    other.done()
    nodes, _ = await whole_tree(record, 100)
    assert [[branch["same"] for branch in node["branches"]] for node in nodes] == [[True], [], [], []]


async def test_what_was_offered_and_not_chosen_is_left_with_what_was_said_of_it(store: FakeStore):
    chat = Chat(store, tools=TOOLS)
    chat.user("I want my money back")
    chat.asks("refund", {"to": "card"}, "paid", said="I could cancel instead.")
    chat.add(
        ev.OrchestrationDecision,
        "root",
        annotation=store.keep({"decision": "escalate", "alternatives": ["wait", "close"]}),
    )
    nodes, _ = await whole_tree(chat.done(), 100)
    assert [[option["name"] for option in node["untaken"]] for node in nodes] == [
        ["cancel"],
        ["to = voucher"],
        ["wait", "close"],
    ]
    assert nodes[0]["untaken"][0]["considered"] == "I could cancel instead."


async def test_the_other_forks_of_a_run_above_are_branches_as_far_as_they_share_the_path(store: FakeStore):
    chat_of(store, [("user", "go"), ("says", "a"), ("user", "on"), ("says", "b")])[0].done()
    fork = forked(store, 8, [])
    own = replace(fork.row, run=THIRD, fork_at=3, shared=2)
    store.rows[THIRD] = own
    store.events_of[THIRD] = store.events_of[RUN][:2]
    store.rows["0190dddd" * 4] = replace(own, run="0190dddd" * 4, fork_at=9, shared=8)
    nodes, behind = await whole_tree(fork, 100)
    branches = [(each["kind"], each["run"], each["at"]) for node in nodes for each in node["branches"]]
    branches += [(each["kind"], each["run"], each["at"]) for each in behind]
    assert sorted(branches) == [("fork", THIRD, 3), ("parent", RUN, 8)]

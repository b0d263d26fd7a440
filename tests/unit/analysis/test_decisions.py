"""Where the agent chose, what else was open, and what was chosen elsewhere in the same context."""

from typing import Any

import pytest

from playhead.model import event as ev
from playhead_collector.analysis.decisions import answer_decision, list_decisions
from playhead_collector.analysis.provenance.attributions import list_attributions
from playhead_collector.errors import Refused
from tests.support.readers.chat import Chat
from tests.support.readers.fake import RUN, FakeStore

TOOLS = [
    {
        "name": "refund",
        "description": "Pays back",
        "input_schema": {"properties": {"to": {"enum": ["card", "voucher"]}}},
    },
    {"name": "cancel", "description": "Cancels", "input_schema": {}},
]
OTHER = "0190ffff" * 4


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


def refunding(store: FakeStore, run: str = RUN, to: str = "card") -> Chat:
    chat = Chat(store, run=run, tools=TOOLS)
    chat.user("I want my money back")
    chat.asks("refund", {"to": to}, "paid", said="I could cancel instead.", thinks="refund is what they ask for")
    chat.says("Done.")
    return chat


async def test_every_kind_of_decision_is_found_in_order(store: FakeStore):
    chat = refunding(store)
    noted = store.keep({"decision": "escalate", "reason": "angry", "alternatives": ["wait", "close"]})
    chat.add(ev.OrchestrationDecision, "root", annotation=noted)
    chat.add(ev.OrchestrationDecision, "root", annotation=store.keep({"note": "no decision"}))
    chat.add(ev.AgentHandoff, "root", to="lead", reason=store.keep("too hard"))
    chat.add(ev.ApprovalRequested, "root", approval="a1")
    chat.add(ev.ApprovalGranted, "root", approval="a1", by="eve")
    found = (await list_decisions(chat.done(), 100, 0))["items"]
    kinds = ["tool_selection", "answer", "branch", "handoff", "approval", "stop"]
    assert [decision["kind"] for decision in found] == kinds
    assert found[0]["chosen"]["tools"] == [{"name": "refund", "arguments": {"to": "card"}}]
    assert (found[2]["chosen"], found[2]["reason"], found[3]["chosen"]) == ("escalate", "angry", {"to": "lead"})
    assert (found[4]["chosen"]["by"], found[5]["chosen"]) == ("eve", {"outcome": "completed"})


async def test_each_choice_of_a_tool_is_listed_once_on_pages_of_any_size(store: FakeStore):
    chat = Chat(store, tools=TOOLS)
    chat.user("I want my money back")
    for _ in range(3):
        chat.asks("refund", {"to": "card"}, "paid")
    record = chat.done()
    whole = (await list_decisions(record, 100, 0))["items"]
    assert [each["kind"] for each in whole] == ["tool_selection"] * 3
    after, paged = 0, list[Any]()
    while True:
        page = await list_decisions(record, 1, after)
        paged += page["items"]
        if page["next_cursor"] is None:
            break
        after = int(page["next_cursor"])
    assert paged == whole


async def test_the_options_are_what_was_offered_and_which_of_it_was_considered(store: FakeStore):
    record = refunding(store).done()
    (selection,) = (await list_decisions(record, 1, 0))["items"]
    detail = await answer_decision(record, str(selection["seq"]))
    assert [(o["name"], o["chosen"], o["considered"]) for o in detail["options"]] == [
        ("refund", True, "refund is what they ask for I could cancel instead."),
        ("cancel", False, "refund is what they ask for I could cancel instead."),
    ]
    assert (detail["reasoning"], detail["reason"]) == ("refund is what they ask for", "I could cancel instead.")
    assert [each["kind"] for each in detail["attributions"]] == ["user_request"]
    assert [record.run, detail["context"]["messages"], len(detail["context"]["new"])] == [RUN, 1, 1]
    called = (await list_attributions(record, 1, 0))["items"][0]
    detail = await answer_decision(record, called["event"])
    assert [(o["name"], o["chosen"]) for o in detail["options"]] == [("to = card", True), ("to = voucher", False)]


async def test_the_alternatives_of_an_annotation_are_options(store: FakeStore):
    chat = refunding(store)
    noted = store.keep({"decision": "escalate", "alternatives": ["wait", "escalate"]})
    seq = chat.add(ev.OrchestrationDecision, "root", annotation=noted).seq
    options = (await answer_decision(chat.done(), str(seq)))["options"]
    assert [(o["name"], o["chosen"]) for o in options] == [("escalate", True), ("wait", False)]


async def test_other_choices_of_the_same_response_are_options(store: FakeStore):
    chat = Chat(store, tools=TOOLS)
    chat.user("both, please")
    part = {"type": "tool_call", "id": "x", "name": "cancel", "arguments": {"n": 1}}
    other = {"type": "tool_call", "id": "y", "name": "refund", "arguments": {"to": "card"}}
    chat._answers({"role": "assistant", "parts": [part, other]})
    called = chat.calls("refund", {"to": "card"}, "ok", call_id="y")
    options = (await answer_decision(chat.done(), str(called.seq)))["options"]
    assert ('cancel({"n":1})', "same_response") in [(o["name"], o["origin"]) for o in options]


async def test_what_was_chosen_elsewhere_in_exactly_this_context_is_told(store: FakeStore):
    for number, to in enumerate(("card", "voucher", "voucher"), 1):
        refunding(store, f"{number:032x}", to).done()
    record = refunding(store).done()
    first = (await list_decisions(record, 1, 0))["items"][0]
    found = (await answer_decision(record, str(first["seq"])))["elsewhere"]
    told: list[Any] = [(e["chosen"]["tools"][0]["arguments"]["to"], e["same"], len(e["calls"])) for e in found]
    assert told == [("voucher", False, 2), ("card", True, 1)]
    assert {call["run"] for call in found[0]["calls"]} == {f"{n:032x}" for n in (2, 3)}
    answer = (await list_decisions(record, 9, 0))["items"][2]
    assert (await answer_decision(record, str(answer["seq"])))["elsewhere"][0]["same"]


async def test_an_event_of_a_call_means_the_decision_made_in_it_and_others_are_refused(store: FakeStore):
    record = refunding(store).done()
    selection = (await list_decisions(record, 1, 0))["items"][0]
    assert (await answer_decision(record, str(selection["call"])))["seq"] == selection["seq"]
    with pytest.raises(Refused, match="part of no decision"):
        await answer_decision(Chat(store, run=OTHER).done(), "1")

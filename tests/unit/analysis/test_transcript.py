"""Pages of long runs are told from the part of the run around them, and say the same as the whole run does."""

from typing import Any

import pytest

from playhead.model import event as ev
from playhead_collector.analysis.causes import answer_causes
from playhead_collector.analysis.decisions import answer_decision, list_decisions
from playhead_collector.analysis.provenance.attributions import answer_attribution, list_attributions
from playhead_collector.analysis.tokens.tokens import answer_tokens
from playhead_collector.analysis.transcript import loading
from playhead_collector.read.prices import shipped
from tests.support.readers.chat import Chat
from tests.support.readers.fake import FakeStore

# Where the user's first message enters the run: after its beginning, the plan, and the system message.
TOLD = 4


def long_chat() -> Chat:
    """What matters is said at the beginning, and used at the end, long after."""
    chat = Chat(FakeStore(), system="You are of help.")
    chat.user("I am mia@example.com, my order is AB12CD.")
    chat.add(ev.PlanCreated, "root", plan=chat.store.keep(["close the ticket"]))
    for number in range(150):
        chat.asks("look_up", {"case": f"case-{number:04}"}, f"case {number} is open")
    chat.asks("find_order", {"order": "AB12CD"}, {"state": "lost"})
    chat.asks("close_ticket", {"reason": "lost"}, "closed")
    chat.says("Your order AB12CD is lost.")
    return chat


@pytest.fixture
def record() -> Any:
    return long_chat().done()


async def pages(ask: Any, record: Any, limit: int) -> list[Any]:
    items: list[Any] = []
    after = 0
    while True:
        page = await ask(record, limit, after)
        assert len(page["items"]) <= limit
        items += page["items"]
        if page["next_cursor"] is None:
            return items
        after = int(page["next_cursor"])


async def tokens(record: Any, limit: int, after: int) -> Any:
    return await answer_tokens(record, shipped(), limit, after)


@pytest.mark.parametrize(
    "ask", [list_decisions, list_attributions, tokens], ids=["decisions", "attributions", "tokens"]
)
async def test_pages_join_to_what_one_page_says_of_all(
    ask: Any, record: Any, monkeypatch: pytest.MonkeyPatch, read_json: Any
):
    whole = read_json((await ask(record, 10_000, 0))["items"])
    monkeypatch.setattr(loading, "_BEFORE", 64)
    assert read_json(await pages(ask, record, 120)) == whole


async def test_what_a_late_call_rests_on_is_found_at_the_beginning(record: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(loading, "_BEFORE", 64)
    called = [event.seq for event in await record.events() if isinstance(event, ev.ToolCalled)][-2:]
    why = await answer_attribution(record, str(called[0]))
    (value,) = why["values"]
    assert (value["source"], value["evidence"][0]["seq"]) == ("user", TOLD)
    assert why["evidence"][0]["seq"] == TOLD
    planned = await answer_attribution(record, str(called[1]))
    assert (planned["kind"], planned["evidence"][0]["quote"]) == ("plan_step", "close the ticket")
    detail = await answer_decision(record, str(called[0]))
    assert detail["attributions"] == [why]


async def test_a_graph_that_leads_beyond_its_page_names_where_to_and_says_that_there_is_more(
    record: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(loading, "_BEFORE", 64)
    found = [event.seq for event in await record.events() if isinstance(event, ev.ToolCalled)][-2]
    graph = await answer_causes(record, str(found), "back")
    assert graph["truncated"]
    (node,) = [node for node in graph["nodes"] if node["seq"] == TOLD]
    assert node["label"] == "user: I am mia@example.com, my order is AB12CD."
    assert TOLD in graph["roots"]
    assert [node["seq"] for node in graph["nodes"]] == sorted(node["seq"] for node in graph["nodes"])


async def test_of_a_very_long_context_the_beginning_and_the_end_are_looked_at(
    record: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(loading, "_FIRST_MESSAGES", 4)
    monkeypatch.setattr(loading, "_LAST_MESSAGES", 20)
    found = [event.seq for event in await record.events() if isinstance(event, ev.ToolCalled)][-2]
    (value,) = (await answer_attribution(record, str(found)))["values"]
    assert value["evidence"][0]["seq"] == TOLD
    story = await loading.read_transcript(record)
    assert len(story.nodes) < 500

"""Why a tool was called: a labelled run for each kind."""

from dataclasses import replace

import pytest

from playhead.model import event as ev
from playhead.model.message import text_message
from playhead.wire.operations.why import Attribution
from playhead_collector.analysis.provenance.attributions import answer_attribution, list_attributions
from playhead_collector.errors import Refused
from tests.support.readers.chat import Chat
from tests.support.readers.fake import FakeStore


@pytest.fixture
def chat() -> Chat:
    return Chat(FakeStore(), system="You are of help. Today is 2024-05-15.")


async def last(chat: Chat) -> Attribution:
    return (await list_attributions(chat.done(), 100, 0))["items"][-1]


async def test_a_user_s_words_are_the_reason_for_a_call_with_their_values(chat: Chat):
    chat.user("Cancel order AB12CD, please")
    called = chat.asks("cancel_order", {"order": "AB12CD"}, "cancelled")
    why = await last(chat)
    assert (why["kind"], why["strength"], why["rule"], why["seq"]) == (
        "user_request",
        "strong",
        "user_just_said",
        called.seq,
    )
    (evidence,) = why["evidence"]
    assert (evidence["what"], evidence["quote"]) == ("message", "Cancel order AB12CD, please")
    assert chat.events[evidence["seq"] - 1].role == "user"  # type: ignore[operator, union-attr]
    assert evidence["quote"][evidence["offset"] :][: evidence["length"]] == "AB12CD"


async def test_a_yes_is_a_request_for_what_the_agent_proposed(chat: Chat):
    chat.user("Cancel my last order")
    chat.asks("find_order", {"which": "last"}, {"order": "AB12CD"})
    chat.says("Shall I cancel AB12CD?")
    chat.user("Yes, do that")
    chat.asks("cancel_order", {"order": "AB12CD"}, "cancelled")
    why = await last(chat)
    assert (why["kind"], why["evidence"][0]["quote"]) == ("user_request", "Yes, do that")
    assert why["values"][0]["source"] == "tool_result"


async def test_values_from_the_result_just_given_make_a_follow_up(chat: Chat):
    chat.user("Where is my parcel? I am mia@example.com")
    chat.asks("find_order", {"email": "mia@example.com"}, {"orders": ["AB12CD"]})
    chat.asks("track", {"order": "AB12CD"}, "on its way")
    why = await last(chat)
    assert (why["kind"], why["rule"], why["evidence"][0]["what"]) == ("follow_up", "new_results", "result")


async def test_a_user_s_values_outlive_results_in_between(chat: Chat):
    chat.user("Fly me to Seattle, code SEA, on 2024-06-01. I am mia_77.")
    chat.asks("get_user", {"user": "mia_77"}, {"name": "Mia"})
    chat.asks("search_flights", {"to": "SEA", "date": "2024-06-01"}, [])
    why = await last(chat)
    assert (why["kind"], why["strength"], why["rule"]) == ("user_request", "likely", "users_values")


async def test_an_error_just_told_makes_a_recovery(chat: Chat):
    chat.user("Pay 250 with card-1111")
    chat.asks("pay", {"card": "card-1111", "amount": 250}, error="card declined")
    chat.asks("pay", {"card": "card-1111", "amount": 125}, "ok")
    why = await last(chat)
    assert (why["kind"], why["rule"], why["evidence"][0]["what"]) == ("error_recovery", "same_tool_failed", "error")
    assert "card declined" in why["reason"]


async def test_a_result_that_only_says_that_it_is_an_error_is_one(chat: Chat):
    chat.user("Pay 250")
    chat.asks("pay", {"amount": 250}, "Error: no card given")
    chat.asks("list_cards", {}, ["card-1111"])
    why = await last(chat)
    assert (why["kind"], why["strength"], why["rule"]) == ("error_recovery", "likely", "other_tool_failed")


STEPS = ["run the tests", "build the package", "publish"]


@pytest.mark.parametrize(
    ("kind", "field", "plan", "more"),
    [
        (ev.StateChanged, "value", STEPS, {"key": "plan"}),
        (ev.PlanCreated, "plan", STEPS, {}),
        (ev.PlanCreated, "plan", [{"text": step, "done": False} for step in STEPS], {}),
        (ev.PlanCreated, "plan", "\n".join(STEPS), {}),
        (ev.OrchestrationDecision, "annotation", {"plan": STEPS}, {}),
    ],
    ids=["state", "plan", "plan of objects", "plan as a text", "annotation"],
)
async def test_a_plan_names_the_tool_that_it_leads_to(chat: Chat, kind: type, field: str, plan: object, more: dict):
    chat.user("Prepare the release")
    chat.says("I will plan first")
    written = chat.add(kind, "root", **{field: chat.store.keep(plan)}, **more)
    chat.user("go on")
    chat.asks("build_package", {"target": "wheel"}, "built")
    why = await last(chat)
    assert (why["kind"], why["evidence"][0]["seq"]) == ("plan_step", written.seq)
    assert why["evidence"][0]["quote"] == "build the package"


async def test_the_model_s_own_wording_is_its_initiative(chat: Chat):
    chat.user("Is it possible to fly with a cello?")
    chat.asks("think", {"thought": "The passenger wants to bring something large"}, "", thinks="I should reflect.")
    why = await last(chat)
    assert (why["kind"], why["evidence"][0]["what"]) == ("agent_initiative", "reasoning")


async def test_nothing_speaks_for_a_call_out_of_nowhere(chat: Chat):
    chat.user("hello")
    chat.asks("get_weather", {"city": "Reykjavik"}, "rain")
    chat.asks("open_door", {"door": "QX-99-ZZ"}, "opened")
    why = await last(chat)
    assert (why["kind"], why["strength"], why["suspects"]) == ("unknown", "weak", ["door"])


async def test_a_call_that_no_model_asked_for_is_traced_to_the_run_s_input():
    chat = Chat(FakeStore())
    chat.events[0] = ev.RunStarted(**{**vars(chat.events[0]), "input": chat.store.keep({"task": "ship AB12CD"})})
    chat.calls("ship", {"order": "AB12CD"}, {"label": "LBL-0042"})
    chat.calls("print_label", {"label": "LBL-0042"}, "printed")
    first, second = (await list_attributions(chat.done(), 100, 0))["items"]
    assert (first["kind"], first["values"][0]["first"]["seq"], first["decided_at"]) == ("user_request", 1, None)  # type: ignore[index]
    assert (second["kind"], second["values"][0]["first"]["seq"]) == ("follow_up", 3)  # type: ignore[index]


async def test_what_the_program_built_is_nobody_s_invention(chat: Chat):
    chat.user("hello")
    chat.says("Hello. I look for news.")
    chat.calls("fetch", {"url": "https://feeds.example.org/QX-99", "limit": 40}, "news")
    why = await last(chat)
    assert [(value["source"], value["suspect"]) for value in why["values"]] == [("program", False)] * 2
    assert (why["suspects"], why["values"][0]["rule"]) == ([], "built_by_program")


async def test_without_the_model_s_answer_nobody_knows_who_built_a_value(chat: Chat):
    chat.user("hello")
    said = chat.says("I look for news.")
    chat.events = [event for event in chat.events if event.seq <= said.seq]  # its answer was not recorded
    chat.calls("fetch", {"url": "https://feeds.example.org/QX-99"}, "news")
    assert [value["source"] for value in (await last(chat))["values"]] == ["invented"]


async def test_attributions_come_in_pages_and_one_by_one(chat: Chat):
    chat.user("Check AB12CD and XY34ZW")
    seqs = [chat.asks("check", {"order": order}, "fine").seq for order in ("AB12CD", "XY34ZW", "AB12CD")]
    record = chat.done()
    page = await list_attributions(record, 2, 0)
    rest = await list_attributions(record, 2, int(page["next_cursor"] or 0))
    assert [item["seq"] for item in (*page["items"], *rest["items"])] == seqs
    assert rest["next_cursor"] is None
    alone = await answer_attribution(record, str(seqs[1] + 1))  # the end of that call
    assert alone == page["items"][1]


async def test_an_event_that_is_part_of_no_tool_call_is_refused(chat: Chat):
    chat.user("hello")
    chat.says("hi")
    with pytest.raises(Refused, match="part of no tool call"):
        await answer_attribution(chat.done(), "1")


async def test_a_context_without_its_contents_is_answered_from_what_is_there(chat: Chat):
    chat.user("Cancel order AB12CD")
    chat.asks("cancel_order", {"order": "AB12CD"}, "cancelled")
    record = chat.done()
    chat.store.bodies.clear()
    assert [item["kind"] for item in (await list_attributions(record, 10, 0))["items"]] == ["unknown"]


async def test_after_a_cut_dropped_messages_are_no_source(chat: Chat):
    chat.user("my code is AB12CD")
    chat.says("thanks")
    chat.thread.clear()
    chat.user("go on")
    chat.asks("use", {"code": "AB12CD"}, "used")
    assert (await last(chat))["suspects"] == ["code"]


async def test_values_from_another_agent_s_plan_are_from_that_agent(chat: Chat):
    chat.new.append(text_message("assistant", "Plan: WebSurfer opens https://example.org/HAT139 and reads the table."))
    chat.asks("open_page", {"url": "https://example.org/HAT139"}, "a table")
    why = await last(chat)
    assert (why["kind"], why["rule"]) == ("agent_message", "other_agents_values")
    assert why["values"][0]["source"] == "assistant"
    assert why["evidence"][0]["quote"].startswith("Plan: WebSurfer opens")


async def test_an_agent_that_had_just_spoken_is_the_reason_for_a_call_without_values(chat: Chat):
    chat.new.append(text_message("assistant", "Look at the page, please."))
    chat.asks("page_down", {}, "more")
    assert (await last(chat))["kind"] == "agent_message"


async def test_values_from_the_agent_s_own_words_are_its_own_initiative(chat: Chat):
    chat.says("I will look into HAT139 next.")
    chat.asks("look_up", {"flight": "HAT139"}, "on time")
    assert (await last(chat))["kind"] == "agent_initiative"


async def test_what_another_agent_said_is_not_a_user_s_request_when_it_is_handed_over_in_a_user_s_role(chat: Chat):
    chat.says("Open https://example.org/HAT139 and read it.")
    chat.thread.clear()
    chat.user("Open https://example.org/HAT139 and read it.")
    for place, event in enumerate(chat.events):
        chat.events[place] = replace(event, actor="planner")
    chat.asks("open_page", {"url": "https://example.org/HAT139"}, "a table")
    why = await last(chat)
    assert (why["kind"], "planner" in why["reason"]) == ("agent_message", True)

"""What each rule finds, at which step, and that its quotes stand where they say."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.model import event as ev
from playhead.model.ref import ContentRef
from playhead.wire.operations.reasoning import Quoted
from playhead.wire.operations.suspects import Suspects
from playhead_collector.analysis.suspects import suspects
from playhead_collector.analysis.suspects.findings import run_steps
from playhead_collector.analysis.suspects.suspects import answer_suspects
from playhead_collector.analysis.suspects.tool_calls import find_lost_facts
from playhead_collector.analysis.texts.passages import ASSISTANT, passage_of, passages_of
from playhead_collector.analysis.transcript.loading import read_transcript
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import fetch
from tests.support.readers.chat import Chat
from tests.support.readers.fake import FakeStore, record_of

OTHER = "0190ffff" * 4
POLICY = """The current time is 2026-05-15 15:00:00.
Before taking any action that changes an order, list its details and obtain explicit confirmation from the user.
Each order has at most two coupons.
Wrapping of a large parcel costs 5 dollars.
Gift wrapping cannot be removed from a parcel that was sealed."""


def tool(name: str, **properties: Any) -> dict[str, Any]:
    return {"name": name, "description": name, "input_schema": {"properties": properties}}


TOOLS = [
    tool("get_order", order_id={"type": "string"}),
    tool("list_offers"),
    tool("calculate"),
    tool("update_order", order_id={"type": "string"}),
    tool("cancel_order", order_id={"type": "string"}),
    tool("add_wrapping", order_id={"type": "string"}),
]
ORDER = {
    "order_id": "W12345",
    "status": "shipped",
    "created_at": "2026-05-02T06:02:08",
    "total": 40,
    "due_on": "2026-05-20",
    "parcels": ["P1", "P2", "P3"],
}
OFFERS = [
    {"offer": "OF1001", "prices": {"plain": 120, "lined": 90}, "stock": {"plain": 4, "lined": 0}},
    {"offer": "OF1002", "prices": {"plain": 80, "lined": 95}, "stock": {"plain": 2, "lined": 1}},
]


def looked(chat: Chat) -> None:
    chat.user("What about my order W12345?")
    chat.asks("get_order", {"order_id": "W12345"}, ORDER)


def value_from_nowhere(chat: Chat) -> int:
    looked(chat)
    return chat.asks("update_order", {"order_id": "W12345", "card": "card_998877"}, "ok").seq


def other_subject(chat: Chat) -> int:
    chat.user("Pay order W12345 with my card")
    chat.asks("get_order", {"order_id": "W99999"}, {"order_id": "W99999", "card": "card_5550001"})
    chat.asks("get_order", {"order_id": "W12345"}, {"order_id": "W12345", "card": "card_7770002"})
    return chat.asks("update_order", {"order_id": "W12345", "card": "card_5550001"}, "ok").seq


def value_unasked(chat: Chat) -> int:
    looked(chat)
    return chat.asks("update_order", {"order_id": "W12345", "coupons": 2}, "ok").seq


def field_contradicted(chat: Chat) -> int:
    looked(chat)
    return chat.says("Here it is:\n- Order: W12345\n- **Status:** delivered").seq


def date_contradicted(chat: Chat) -> int:
    looked(chat)
    return chat.says("- Order: W12345\n- Due on: June 3").seq


def count_contradicted(chat: Chat) -> int:
    looked(chat)
    return chat.says("There are two parcels. They are on their way.").seq


def amount_broken(chat: Chat) -> int:
    looked(chat)
    return chat.asks("add_wrapping", {"order_id": "W12345", "amount": 12}, "ok").seq


def sign_misread(chat: Chat) -> int:
    chat.user("What would it cost?")
    chat.asks("calculate", {"expression": "26 - 140"}, "-114.0")
    return chat.says("That is an additional 114 dollars.").seq


def age_contradicted(chat: Chat) -> int:
    looked(chat)
    return chat.says("Since it was made within the last 24 hours, I can cancel it.").seq


def comparison_false(chat: Chat) -> int:
    looked(chat)
    return chat.says("What is left is $171, which is not more than $100.").seq


def not_the_least(chat: Chat) -> int:
    chat.user("Which is the cheapest plain one?")
    chat.asks("list_offers", {}, OFFERS)
    return chat.says("The cheapest is OF1001 for $120.").seq


def unavailable(chat: Chat) -> int:
    chat.user("I want a lined one")
    chat.asks("list_offers", {}, OFFERS)
    return chat.says("OF1001 lined is available for $90. Would you like it?").seq


def not_done(chat: Chat) -> int:
    looked(chat)
    return chat.says("The wrapping has been added to your order.").seq


def refused_without_looking(chat: Chat) -> int:
    chat.user("What is the balance of my card?")
    return chat.says("I'm unable to read balances.").seq


def demanded_again(chat: Chat) -> int:
    chat.user("Change my order")
    chat.says("Which order id?")
    chat.user("I don't have the order number with me.")
    return chat.says("Please provide the order number.").seq


def tool_not_tried(chat: Chat) -> int:
    looked(chat)
    chat.says("It has shipped.")
    chat.user("Add gift wrapping to it")
    return chat.says("Unfortunately I cannot add wrapping.").seq


def error_ignored(chat: Chat) -> int:
    looked(chat)
    chat.asks("update_order", {"order_id": "W12345"}, error="locked by another process")
    return chat.says("All is well. Goodbye.").seq


def call_failed(chat: Chat) -> int:
    looked(chat)
    return chat.asks("update_order", {"order_id": "W12345"}, error="locked by another process").seq


def call_repeated(chat: Chat) -> int:
    looked(chat)
    return chat.asks("get_order", {"order_id": "W12345"}, ORDER).seq


def order_broken(chat: Chat) -> int:
    chat.user("My order is W12345")
    chat.says("What about it?")
    chat.user("It came late.")
    return chat.asks("cancel_order", {"order_id": "W12345"}, "cancelled").seq


def limit_broken(chat: Chat) -> int:
    looked(chat)
    coupons = ["spring", "summer", "autumn"]
    return chat.asks("update_order", {"order_id": "W12345", "coupons": coupons}, "ok").seq


def against_restriction(chat: Chat) -> int:
    looked(chat)
    return chat.says("The gift wrapping is removed from the sealed parcel.").seq


def outcome_rests_on(chat: Chat) -> int:
    """The offer, not the call that carries it out, nor the answer that asked once more."""
    looked(chat)
    offer = chat.says("I can cancel W12345 and refund $40.00 to 555123. Shall I?")
    chat.user("Yes, please")
    chat.says("To confirm: cancel W12345, refund $40.00 to 555123?")
    chat.user("Yes, go ahead")
    chat.asks("cancel_order", {"order_id": "W12345"}, "cancelled")
    chat.says("Done.")
    return offer.seq


CASES: dict[str, Callable[[Chat], int]] = {
    case.__name__: case
    for case in (
        value_from_nowhere, other_subject, value_unasked, field_contradicted, count_contradicted, amount_broken,
        sign_misread, age_contradicted, comparison_false, not_the_least, unavailable, not_done,
        refused_without_looking, demanded_again, tool_not_tried, error_ignored, call_failed, call_repeated,
        order_broken, limit_broken, against_restriction, outcome_rests_on,
    )
}  # fmt: skip


async def suspects_of(chat: Chat, *siblings: RunRecord, limit: int = 100) -> Suspects:
    return await answer_suspects(chat.done(), *siblings, limit=limit)


@pytest.mark.parametrize("rule", CASES)
async def test_a_rule_finds_its_mistake_at_the_step_that_made_it(rule: str):
    chat = Chat(FakeStore(), POLICY, tools=TOOLS)
    seq = CASES[rule](chat)
    answer = await suspects_of(chat)
    # A tool call stands behind the model call that asked for it.
    step = max(event.seq for event in chat.events if isinstance(event, ev.LlmCompleted) and event.seq <= seq)
    found = {(suspect["seq"], finding["rule"]) for suspect in answer["items"] for finding in suspect["findings"]}
    assert (step, rule) in found
    assert [found_rule for _, found_rule in found].count(rule) == 1
    await check_quotes(chat.store, answer)


VALUES: dict[str, list[tuple[str | None, str | None, str, str, list[str]]]] = {
    "field_contradicted": [
        (None, "status", "shipped", "recorded", ["shipped"]), (None, "Status", "delivered", "said", ["delivered"]),
    ],
    "count_contradicted": [
        (None, "parcels", "2", "said", ["two"]),
        (None, "parcels", "3", "recorded", ['"parcels":["P1","P2","P3"],"sta']),
    ],
    "sign_misread": [(None, None, "-114", "recorded", ["-114.0"]), (None, None, "114", "said", ["114"])],
    "age_contradicted": [
        (None, None, "2026-05-02T06:02:08", "recorded", ["2026-05-02T06:02:08"]),
        (None, None, "within the last 24 hours", "said", ["within the last 24 hours"]),
    ],
    "comparison_false": [(None, None, "171", "said", ["171"]), (None, None, "100", "said", ["100"])],
    "not_the_least": [
        ("OF1002", "prices.plain", "80", "least", ["80"]), ("OF1001", "prices.plain", "120", "said", ["120", "120"]),
    ],
    "unavailable": [
        ("OF1001", "prices.lined", "90", "said", ["90", "90"]), ("OF1001", "stock.lined", "0", "recorded", ["0"]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("rule", VALUES)
async def test_a_finding_has_the_values_that_it_compares_with_their_places(rule: str):
    chat = Chat(FakeStore(), POLICY, tools=TOOLS)
    CASES[rule](chat)
    answer = await suspects_of(chat)
    (finding,) = [found for item in answer["items"] for found in item["findings"] if found["rule"] == rule]
    assert [
        (
            each["entry"],
            each["path"],
            each["value"],
            each["mark"],
            [quote["text"][:31] for quote in each["quotes"]],
        )
        for each in finding["values"]
    ] == VALUES[rule]
    await check_quotes(chat.store, answer)


async def test_of_a_long_listing_the_least_entries_and_those_that_were_said_are_compared():
    chat = Chat(FakeStore(), POLICY, tools=TOOLS)
    chat.user("Which is the cheapest?")
    flights = [[{"flight": f"HAT{n:03}", "price": 100 + n}, {"flight": f"HAT{n + 100}", "price": n}] for n in range(60)]
    chat.asks("list_offers", {}, flights)
    chat.says("The cheapest is HAT015 with HAT115 for $130.")
    answer = await suspects_of(chat)
    (finding,) = [f for item in answer["items"] for f in item["findings"] if f["rule"] == "not_the_least"]
    values = finding["values"]
    assert len(values) == 20
    assert (values[0]["entry"], values[0]["mark"], [quote["text"] for quote in values[0]["quotes"]]) == (
        "HAT000, HAT100", "least", ["100", "0"],
    )  # fmt: skip
    assert [each["value"] for each in values if each["mark"] == "said"] == ["130"]
    await check_quotes(chat.store, answer)


RIGHT = {
    "fields as they are": lambda chat: chat.says(
        "- Order: W12345\n- Status: shipped\n- Total: $40\n- Due on: May 20th"
    ),
    "how many there are": lambda chat: chat.says("There are 3 parcels."),
    "some of them": lambda chat: chat.says("There are two parcels of yours on the way."),
    "an old order": lambda chat: chat.says("It was made more than 24 hours ago."),
    "a condition": lambda chat: chat.says("Orders can be cancelled if they were made within 24 hours."),
    "a true comparison": lambda chat: chat.says("$171 is more than $100."),
    "a refusal after looking": lambda chat: chat.says("Your order has shipped."),
}


async def test_a_multiple_of_an_amount_is_right():
    chat = Chat(FakeStore(), POLICY, tools=TOOLS)
    looked(chat)
    chat.asks("add_wrapping", {"order_id": "W12345", "amount": 10}, "ok")
    found = {f["rule"] for s in (await suspects_of(chat))["items"] for f in s["findings"]}
    assert "amount_broken" not in found


async def test_dates_of_fields_are_compared_in_any_form():
    chat = Chat(FakeStore(), POLICY, tools=TOOLS)
    seq = date_contradicted(chat)
    found = {(s["seq"], f["rule"]) for s in (await suspects_of(chat))["items"] for f in s["findings"]}
    assert found == {(seq, "field_contradicted")}


@pytest.mark.parametrize("what", RIGHT)
async def test_what_is_right_is_not_suspected(what: str):
    chat = Chat(FakeStore(), POLICY, tools=TOOLS)
    looked(chat)
    RIGHT[what](chat)
    assert (await suspects_of(chat))["items"] == []


async def test_the_cheapest_of_what_is_there_is_not_suspected():
    chat = Chat(FakeStore(), tools=TOOLS)
    chat.user("Which lined one is the cheapest?")
    chat.asks("list_offers", {}, OFFERS)
    chat.says("The cheapest that we have is OF1002 for $95.")
    assert (await suspects_of(chat))["items"] == []


async def test_a_run_is_compared_with_siblings_that_succeeded():
    store = FakeStore()
    good = Chat(store, run=OTHER, tools=TOOLS)
    looked(good)
    good.asks("list_offers", {}, OFFERS)
    good.asks("update_order", {"order_id": "W12345", "offer": "OF1002"}, "ok")
    good.says("Done.")
    good.done()
    bad = Chat(store, tools=TOOLS)
    looked(bad)
    offer = bad.says("I can change W12345 to OF1001.")
    bad.user("Yes, OF1001 please")
    bad.asks("update_order", {"order_id": "W12345", "offer": "OF1001"}, "ok")
    bad.says("It is changed.")
    sibling = record_of(store, OTHER)
    answer = await suspects_of(bad, sibling)
    assert (answer["siblings"]["chosen"], answer["siblings"]["runs"]) == ("named", [OTHER])
    first = answer["items"][0]
    assert (first["seq"], first["rule"]) == (offer.seq, "diverged")
    assert "offer" in first["findings"][0]["reason"]
    assert "call_missing" in {finding["rule"] for suspect in answer["items"] for finding in suspect["findings"]}
    with_itself = await answer_suspects(record_of(store), record_of(store), limit=100)
    assert with_itself["siblings"]["runs"] == []


async def test_steps_are_ranked_by_what_speaks_against_them_and_the_list_may_be_cut():
    chat = Chat(FakeStore(), POLICY, tools=TOOLS)
    chat.user("Hello")
    chat.says("I cannot do that.")
    looked(chat)
    worst = chat.says("Since it was made within the last 24 hours, $171 is not more than $100.")
    answer = await suspects_of(chat)
    assert [suspect["rank"] for suspect in answer["items"]] == list(range(1, answer["total"] + 1))
    points = [suspect["points"] for suspect in answer["items"]]
    assert points == sorted(points, reverse=True)
    assert answer["items"][0]["seq"] == worst.seq
    cut = await suspects_of(chat, limit=1)
    assert (cut["items"], cut["total"]) == (answer["items"][:1], answer["total"])
    assert cut["total"] >= 2


async def test_a_step_that_needed_a_lost_fact_is_suspected():
    chat = Chat(FakeStore(), tools=TOOLS)
    looked(chat)
    chat.user("Where is it?")
    needed = chat.says("Which order number was it?")
    chat.done()
    steps = run_steps(await read_transcript(record_of(chat.store)))
    quote: Quoted = {"seq": 3, "ref": None, "part": 0, "start": 0, "end": 6, "text": "W12345"}
    need = {"how": "asked_again", "seq": needed.seq, "quotes": [], "strength": "strong"}
    fact = {"text": "W12345", "quotes": [quote], "needed": [need]}
    audit: Any = {"seq": 7, "lost": [fact]}
    (found,) = find_lost_facts(steps, [audit])
    assert (steps.steps[found.step].seq, found.rule.name, found.quotes) == (needed.seq, "fact_lost", (quote,))
    assert found.rule.strength == "strong"
    assert found.reason == "'W12345' had left the context at event 7, and the user was asked for it again"


# --- any run ----------------------------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    ["I cannot", "$171 is not more than $100.", "within 24 hours", "the cheapest is", "has been updated", "W12345",
     "yes", "OF1001", "120", "-114", "\ud800", "- Status: delivered", "[", "{", '"', "\n", "I don't have it",
     "Please provide it"]
)  # fmt: skip
TEXT = st.one_of(st.lists(WORDS, max_size=8).map(" ".join), st.text(max_size=60))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
STEP = st.one_of(
    st.tuples(st.just("user"), TEXT, st.none()),
    st.tuples(st.just("says"), TEXT, st.none()),
    st.tuples(st.just("asks"), JSON, st.one_of(JSON, st.just(OFFERS), st.just([OFFERS, OFFERS]), st.just(ORDER))),
    st.tuples(st.just("fails"), JSON, TEXT),
)


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(STEP, max_size=12), system=st.sampled_from(["", POLICY]))
async def test_any_run_is_answered_and_every_quote_stands_where_it_says(steps: list[Any], system: str):
    chat = Chat(FakeStore(), system, tools=TOOLS)
    for number, (what, given_, result) in enumerate(steps):
        name = TOOLS[number % len(TOOLS)]["name"]
        match what:
            case "user":
                chat.user(given_)
            case "says":
                chat.says(given_)
            case "asks":
                chat.asks(name, given_, result)
            case _:
                chat.asks(name, given_, error=result or "failed")
    answer = await suspects_of(chat)
    assert [s["points"] for s in answer["items"]] == sorted((s["points"] for s in answer["items"]), reverse=True)
    assert len(answer["items"]) == answer["total"] <= answer["steps"]
    await check_quotes(chat.store, answer)


async def check_quotes(store: FakeStore, answer: Suspects) -> None:
    """Every finding has a quote, and each quote is what stands in the content's part."""
    for suspect in answer["items"]:
        for finding in suspect["findings"]:
            assert finding["quotes"], finding
            for quote in [*finding["quotes"], *(quote for value in finding["values"] for quote in value["quotes"])]:
                assert quote["seq"] is not None
                assert await text_at(store, quote) == quote["text"]


async def text_at(store: FakeStore, quote: Quoted) -> str:
    assert quote["ref"] is not None
    ref = ContentRef.parse(quote["ref"])
    cache = await fetch(store, 1, [ref])
    message = cache.parsed_message(ref)
    if message is None:
        text = passage_of(ref, 0, ASSISTANT, cache.parsed(ref)).text
    elif message["parts"][quote["part"]].get("type") == "tool_call":
        text = passage_of(ref, 0, ASSISTANT, message["parts"][quote["part"]].get("arguments") or {}).text
    else:
        text = next(each.text for each in passages_of(ref, message) if each.part == quote["part"])
    return text[quote["start"] : quote["end"]]


async def test_of_a_very_long_run_the_end_is_looked_at_and_the_answer_says_so(monkeypatch: pytest.MonkeyPatch):
    def long_chat() -> Chat:
        chat = Chat(FakeStore(), POLICY, tools=TOOLS)
        chat.user("Hello")
        chat.says("Is $171 more than $100? $171 is not more than $100.")
        for number in range(20):
            chat.user(f"What about my order W{number:05}?")
            chat.asks("get_order", {"order_id": f"W{number:05}"}, {"order_id": f"W{number:05}", "status": "open"})
        chat.says("As said, $271 is not more than $100.")
        return chat

    whole = await suspects_of(long_chat())
    monkeypatch.setattr(suspects, "MOST_EVENTS", 32)
    end = await suspects_of(long_chat())
    assert (whole["steps"], whole["looked_at"]) == (22, 22)
    assert end["steps"] == 22
    assert 3 < end["looked_at"] < 8
    false = [[item for item in answer["items"] if item["rule"] == "comparison_false"] for answer in (whole, end)]
    assert [item["turn"] for item in false[0]] == [1, 22]
    # What is found in the end is the same as in the whole run.
    assert [{**item, "rank": 0} for item in false[1]] == [{**item, "rank": 0} for item in false[0][1:]]

"""Where values are from: one labelled case for each rule, and what holds for all values."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.model.message import Message, message_contents, text_message
from playhead_collector.analysis.provenance import rules
from playhead_collector.analysis.provenance.value_search import Origin, trace_values
from playhead_collector.analysis.texts.passages import ContextIndex, passages_of
from playhead_collector.analysis.texts.words import dates_in, numbers_in, words_in
from playhead_collector.analysis.transcript.arguments import TracedCall, definitions_of, scalars
from tests.support.processor_time import assert_takes_at_most

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "book",
            "description": "Books a flight, such as HAT001.",
            "parameters": {
                "type": "object",
                "properties": {
                    "cabin": {"type": "string", "enum": ["basic_economy", "economy", "business"]},
                    "currency": {"type": "string", "default": "EUR"},
                    "refundable": {"type": "boolean"},
                    "flight": {"type": "string", "description": "like ZRH-4711"},
                },
            },
        },
    }
]
SYSTEM = "The current time is 2024-05-15 15:00:00. Each extra baggage is 50 dollars. Write to desk-7 for help."


def result(value: Any) -> Message:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": value}]}


def index_of(messages: list[Message]) -> tuple[ContextIndex, dict[Any, int]]:
    index, visible = ContextIndex(), dict[Any, int]()
    for place, message in enumerate(messages):
        ref = message_contents(message)[0].ref
        index.add(passages_of(ref, message))
        visible.setdefault(ref, place)
    return index, visible


def traced(arguments: Any, *messages: Message, system: str = SYSTEM, name: str = "book") -> dict[str, Origin]:
    index, visible = index_of([text_message("system", system), *messages])
    asked = TracedCall(name, arguments, visible, definitions_of(TOOLS).get(name))
    return {origin.path: origin for origin in trace_values(index, asked)}


def user(text: str) -> Message:
    return text_message("user", text)


LABELLED: list[tuple[str, Any, list[Message], str, str]] = [
    ("id", "mia_li_3668", [user("I am mia_li_3668.")], "user", "exact", "user_said"),
    ("name", "José Núñez", [user("my name is JOSE  NUNEZ")], "user", "normalised", "user_said"),
    ("name", "O'Brien", [user("It is O\u2019Brien")], "user", "normalised", "user_said"),
    ("trip", "round_trip", [user("A round trip, please")], "user", "normalised", "user_said"),
    ("amount", 1250, [user("I paid $1,250.00 for it")], "user", "normalised", "user_said"),
    ("bags", 3, [user("I have three checked bags.")], "user", "normalised", "small_user_said"),
    ("total_baggages", 3, [user("There are 7 of us. I have 3 bags.")], "user", "exact", "small_user_said"),
    ("insurance", "no", [user("I do not want any insurance.")], "user", "implied", "implied_clearly"),
    ("insurance", True, [text_message("assistant", "Insurance?"), user("Yes please")], "user", "implied", "implied"),
    ("order", "#W9502126", [user("It is order 9502126, please")], "user", "normalised", "user_said"),
    ("order", "#W9502126", [result({"id": "#W1111111"}), result({"order": 9502126})],
     "tool_result", "normalised", "beside_in_result"),
    ("order", 9502126, [user("my order is #W9502126")], "user", "normalised", "user_said"),
    ("order", "9502126", [user("my order is w9502126.")], "user", "normalised", "user_said"),
    ("order", "AB-12 CD", [user("order ab12cd")], "user", "normalised", "user_said"),
    ("phone", "5551234567", [user("call (555) 123-4567")], "user", "normalised", "user_said"),
    ("phone", "555-123-4567", [user("call 5551234567")], "user", "normalised", "user_said"),
    ("trip", "roundTrip", [user("A round trip, please")], "user", "normalised", "user_said"),
    ("trip", "round_trip", [user("ROUNDTRIP")], "user", "normalised", "user_said"),
    ("amount", 1250, [user("I paid 1.250 € for it")], "user", "normalised", "user_said"),
    ("amount", 1250000, [user("it was 1 250 000 in all")], "user", "normalised", "user_said"),
    ("reservation", "H8Q05L", [result({"reservations": ["H8Q05L"]})], "tool_result", "exact", "identifier_in_result"),
    ("amount", 375, [result("375.0")], "tool_result", "normalised", "beside_in_result"),
    ("date", "2024-05-20", [user("on May 20th")], "derived", "date_format", "date_this_year"),
    ("date", "2024-05-20", [user("on the 20th of May")], "derived", "date_format", "date_this_year"),
    ("date", "2024-05-27", [user("May 24th and 27th")], "derived", "date_format", "date_this_year"),
    ("date", "1990-04-05", [user("born April 5, 1990")], "derived", "date_format", "date_other_form"),
    ("date", "2024-05-16", [user("tomorrow")], "derived", "date_format", "date_relative"),
    ("date", "2024-05-22", [user("between May 20 and May 24")], "derived", "date_range", "date_between"),
    ("date", "2024-05-24", [result('{"date": "2024-05-23"}'), user("the day after, please")],
     "derived", "date_shift", "date_shifted"),
    ("amount", 290, [text_message("assistant", "$123 and $167")], "derived", "computed", "computed"),
    ("amount", 155, [user("It is 255, and I have a voucher of 100")], "derived", "computed", "computed"),
    ("amount", 548, [user("two seats at 274 each")], "derived", "computed", "computed"),
    ("passengers_count", 2, [user("hello")], "derived", "computed", "list_length"),
    ("cabin", "economy", [user("the cheapest one")], "derived", "enum", "definition_allows"),
    ("cabin", "economy", [user("basic economy")], "derived", "enum", "definition_allows"),
    ("refundable", False, [user("the cheapest one")], "derived", "enum", "definition_allows"),
    ("currency", "EUR", [user("the cheapest one")], "derived", "default", "definition_default"),
    ("first_name", "Mia", [user("I am mia_li_3668")], "derived", "part", "part"),
    ("last_four", "7447", [user("my card 551237447")], "derived", "part", "part"),
    ("name", "Noah Brown", [result({"first_name": "Noah", "last_name": "Brown"})], "derived", "joined", "joined"),
    ("city", "NYC", [user("to New York City")], "derived", "abbreviation", "abbreviation"),
    ("city", "SEA", [user("to Seattle")], "derived", "abbreviation", "abbreviation"),
    ("expression", "123 + 167", [result({"a": 123, "b": 167})], "derived", "composed", "facts_known"),
    ("summary", "User asks to cancel H8Q05L today", [user("cancel H8Q05L for me today")],
     "derived", "composed", "facts_known"),
    ("flight", "HAT139", [text_message("assistant", "I suggest HAT139.")], "assistant", "exact", "agent_said"),
    ("desk", "desk-7", [user("help")], "system", "exact", "system_said"),
    ("flight", "ZRH-4711", [user("any flight")], "definition", "exact", "definition_only"),
    ("payment", "credit_card_5634", [user("my credit card"), result({"id": "gift_card_5634"})],
     "invented", "nowhere", "nowhere"),
    ("order", "#W9502126", [user("order 19502126")], "invented", "nowhere", "nowhere"),
    ("order", "#W9502126", [user("my order is #X9502126")], "invented", "nowhere", "nowhere"),
    ("order", "#W9502126", [result({"price": 9502126})], "invented", "nowhere", "nowhere"),
    ("payment", "credit_card_56345", [user("my card 56345")], "invented", "nowhere", "nowhere"),
    ("phone", "555-123-4567", [user("call 5551234568")], "invented", "nowhere", "nowhere"),
    ("order", "9502126", [result({"id": "gift_card_9502126"})], "derived", "part", "part"),
    ("code", "123456", [user("rows 12, 34 and 56")], "invented", "nowhere", "nowhere"),
    ("amount", 4321.5, [user("hello")], "invented", "nowhere", "nowhere"),
    ("note", "Refund of 777 sent to AB12CD for Zoltan", [user("hello")], "invented", "composed", "facts_unknown"),
    ("cabin", "business", [result([{"cabin": "business"}])], "tool_result", "exact", "listed_in_result"),
    ("amount", 4411, [result([{"x": 1}, {"y": 4411}])], "tool_result", "exact", "alone_in_result"),
    ("bags", 3, [result({"bags": 3})], "tool_result", "exact", "small_in_result"),
    ("bags", 3, [text_message("assistant", "that makes 3 bags")], "assistant", "exact", "small_beside"),
    ("bags", 3, [user("at 3 pm")], "user", "exact", "small_by_chance"),
    ("bags", 4, [user("hello")], "invented", "nowhere", "small_nowhere"),
    ("note", "", [user("hello")], "derived", "default", "empty"),
    ("date", "2025-01-02", [user("on January 2nd")], "derived", "date_format", "date_next_year"),
    ("date", "2024-05-27", [user("on the 27th")], "derived", "date_format", "date_this_month"),
    ("amount", 600, [user("100, 200 and 300 dollars")], "derived", "computed", "computed_indirectly"),
    ("amount", 600, [user("60, 100, 120, 150, 200, 300, 400, 500")], "derived", "computed", "computed_ambiguously"),
    ("name", "Noah Brown", [result("first: Noah"), result("last: Brown")], "derived", "joined", "joined_from_texts"),
    ("query", "please think about it carefully today", [user("think about it carefully")],
     "derived", "composed", "wording_known"),
    ("query", "summer beach holidays somewhere warm", [user("hello")], "invented", "composed", "wording_unknown"),
    ("summary", "Refund AB12CD and XY99ZZ, 120", [user("AB12CD, 120")], "derived", "composed", "facts_mostly_known"),
    ("code", "print('AB12CD')\nprint('XY99ZZ', 55555)\n", [user("AB12CD")], "derived", "code", "code_unknown"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "messages", "source", "how", "rule"), LABELLED)
def test_each_rule_says_where_a_value_is_from(
    name: str, value: Any, messages: list[Message], source: str, how: str, rule: str
):
    arguments = {name: value, "passengers": [{"age": None}, {"age": None}]}
    origin = traced(arguments, *messages)[name]
    assert (origin.source, origin.how, origin.rule.name) == (source, how, rule), origin


def test_a_date_rests_on_the_words_and_on_the_year_of_the_current_date():
    (words, today) = traced({"date": "2024-05-20"}, user("on May 20th, please"))["date"].evidence
    assert (words.text, today.text) == ("May 20th", "2024-05-15")
    assert (words.passage.source, today.passage.source) == ("user", "system")


def test_first_and_last_are_where_it_stands_whoever_said_it():
    origin = traced(
        {"id": "AB12CD"}, result("AB12CD found"), user("yes, AB12CD"), text_message("assistant", "ok, AB12CD")
    )
    place = origin["id"]
    assert place.first is not None
    assert place.last is not None
    assert (place.source, place.first.passage.source, place.last.passage.source) == ("user", "tool_result", "assistant")


def test_the_place_in_the_same_object_counts_more_than_the_first_one():
    flights = [{"flight": "HAT110", "date": "2024-06-21"}, {"flight": "HAT220", "date": "2024-06-21"}]
    origin = traced({"flights": [{"flight": "HAT220", "date": "2024-06-21"}]}, result(flights))["flights[0].date"]
    text = origin.evidence[0].passage.text
    assert origin.evidence[0].start > text.index("HAT110", 20) - 40
    assert "HAT110" not in text[origin.evidence[0].start :]


def test_facts_of_a_text_that_stand_nowhere_are_named():
    origin = traced({"summary": "Refund AB12CD and also XY99ZZ, 120 each"}, user("refund AB12CD, 120 each"))["summary"]
    assert (origin.source, origin.unfounded) == ("derived", ("XY99ZZ",))


def test_what_a_call_did_not_see_is_no_source():
    messages = [user("first"), user("the id is AB12CD")]
    index, visible = index_of(messages)
    before = {ref: place for ref, place in visible.items() if place == 0}
    (origin,) = trace_values(index, TracedCall("t", {"id": "AB12CD"}, before))
    assert origin.source == "invented"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(json_values, st.text(max_size=200), st.text(max_size=200))
def test_every_value_has_one_origin_and_every_place_is_what_stands_there(arguments: Any, said: str, found: str):
    index, visible = index_of([user(said), result(found)])
    origins = trace_values(index, TracedCall("book", arguments, visible, definitions_of(TOOLS)["book"]))
    assert [(o.path, repr(o.value)) for o in origins] == [(path, repr(value)) for path, value in scalars(arguments)]
    for origin in origins:
        assert origin.rule in vars(rules).values()
        assert (origin.source == "invented") <= (not origin.evidence or origin.how == "composed")
        for hit in origin.evidence:
            assert hit.text
            assert 0 <= hit.start < hit.end <= len(hit.passage.text)


@settings(max_examples=60, deadline=None)
@given(st.from_regex(r"[a-z]{3}[0-9]{4}[a-z]{3}", fullmatch=True), st.text(max_size=100), st.text(max_size=100))
def test_a_value_that_a_user_wrote_is_the_user_s_whatever_stands_around_it(value: str, before: str, after: str):
    origin = traced({"key": value}, user(f"{before} {value} {after}"), result({"key": value}))["key"]
    assert (origin.source, origin.how) == ("user", "exact")
    assert origin.evidence[0].text == value


def test_numbers_and_dates_are_read_as_people_write_them():
    assert [n for n, _, _ in numbers_in("1,250.50 or -3; not 2024-05-01, 13:45, AB12 or v1.2.3")] == ["1250.5", "-3"]
    found = [(m.year, m.month, m.day) for m in dates_in("2024-05-01, May 2nd, 3 June 2025, 7/4, May 10-12")]
    assert found == [(2024, 5, 1), (None, 5, 2), (2025, 6, 3), (None, 7, 4), (None, 5, 10), (None, 5, 12)]
    assert [w for w, _, _ in words_in("HAT001 Crème_brûlée")] == ["hat", "001", "creme", "brulee"]


def test_a_thousand_messages_are_read_once():
    def hundred_values_in(count: int) -> Callable[[], None]:
        messages = [
            user(f"order {n} of {n * 37} for user_{n}_{n * 7}: " + "words and more words " * 25) for n in range(count)
        ]
        index, visible = index_of(messages)

        def work() -> None:
            for n in range(0, count, count // 100):
                (origin,) = trace_values(index, TracedCall("t", {"id": f"user_{n}_{n * 7}"}, visible))
                assert origin.source == "user"

        return work

    # The same for ten times the messages; reading them for each value would take ten times as long.
    assert_takes_at_most(4, hundred_values_in(1_000), hundred_values_in(100))


@pytest.mark.parametrize("digits", [4_299, 4_300, 20_000])
def test_an_integer_of_very_many_digits_is_a_value_like_others(digits: int):
    value = 10**digits  # Python refuses to write integers of more than 4,300 digits
    arguments = {"order_id": value, "flight": "HAT001", "currency": "EUR", "orders": [{"id": value, "n": 3}]}
    found = traced(arguments, user("Book HAT001, please."), result({"order_id": "5551234", "flight": "HAT001"}))
    assert (found["order_id"].source, found["order_id"].value) == ("invented", value)
    assert found["flight"].source == "user"

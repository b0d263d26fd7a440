"""Values that stand in the context with another subject than the one that a call names."""

import json
from typing import Any

import pytest

from playhead_collector.analysis.provenance.attributions import list_attributions
from playhead_collector.analysis.texts.json_records import json_records
from tests.support.readers.chat import Chat
from tests.support.readers.fake import FakeStore

ONE = {"order_id": "#W1000001", "items": [{"item_id": "LMP-4471"}], "payments": [{"payment_id": "paypal_11"}]}
OTHER = {"order_id": "#W2000002", "items": [{"item_id": "MUG-0815"}], "payments": [{"payment_id": "card_22"}]}
CALL = {"order_id": "#W1000001", "payment_id": "card_22"}


async def found(results: list[tuple[Any, Any]], arguments: Any = CALL, said: str = "Change it, please") -> Any:
    """`another_subject` of the payment that a call gives, after calls with these arguments and results."""
    chat = Chat(FakeStore())
    chat.user(said)
    for asked, result in results:
        chat.asks("look_up", asked, result)
    chat.asks("pay", arguments, "ok")
    why = (await list_attributions(chat.done(), 100, 0))["items"][-1]
    values = {value["path"]: value for value in why["values"]}
    payment = next(value for path, value in values.items() if path.endswith("payment_id"))
    told = payment["another_subject"]
    assert (payment["path"] in why["suspects"]) == (told is not None)
    assert told is None or payment["note"].startswith("stands in the context only with")
    return told


TOLD = {"path": "order_id", "value": "#W1000001", "others": ["#W2000002"]}


@pytest.mark.parametrize(
    "results",
    [
        [({}, ONE), ({}, OTHER)],
        [({}, json.dumps([ONE, OTHER], indent=1))],
        [({}, {"orders": {"#W1000001": {"by": "paypal_11"}, "#W2000002": {"by": "card_22"}}})],
        [({}, {"orders": [{"id": "#W1000001", "by": "paypal_11"}, {"id": "#W2000002", "by": "card_22"}]})],
        [({"order_id": "#W1000001"}, "paid by paypal_11"), ({"order_id": "#W2000002"}, "paid by card_22")],
        [({}, OTHER)],
    ],
)
async def test_a_card_of_another_order_is_told_with_whose_it_is(results: list[tuple[Any, Any]]):
    assert await found(results) == TOLD


@pytest.mark.parametrize(
    ("results", "arguments", "said"),
    [
        ([({}, OTHER)], CALL, "Take my card_22 for it"),
        ([({}, OTHER), ({}, {"user": "u1", "cards": ["card_22", "paypal_11"]})], CALL, "Change it"),
        ([({}, {**ONE, "also": "card_22"}), ({}, OTHER)], CALL, "Change it"),
        ([({}, ONE), ({}, OTHER)], {"order_id": "#W2000002", "payment_id": "card_22"}, "Change it"),
        ([({}, ONE), ({}, OTHER)], {"payment_id": "card_22"}, "Change it"),
        ([({}, ONE), ({}, OTHER)], {"day": "2024-05-20", "payment_id": "card_22"}, "Change it"),
        ([({}, {"payment_id": "card_22", "limit": 5}), ({}, ONE)], CALL, "Change it"),
        ([({}, "paid by card_22"), ({}, ONE)], CALL, "Change it"),
        ([({}, {"orders": [{"id": "#W1000001"}], "cards": [{"id": "card_22"}]})], CALL, "Change it"),
        ([({}, {"day": "2024-05-21", "payment_id": "card_22"})], {"day": "2024-05-20", "payment_id": "card_22"}, "Hi"),
    ],
)  # fmt: skip
async def test_a_value_that_may_be_its_own_is_not_told_of(results: list[tuple[Any, Any]], arguments: Any, said: str):
    assert await found(results, arguments, said) is None


async def test_the_agent_s_own_words_do_not_make_it_the_other_s():
    chat = Chat(FakeStore())
    chat.user("Change it, please")
    chat.asks("look_up", {}, [ONE, OTHER])
    chat.says("I will take card_22 for #W1000001.")
    chat.user("Hm")
    chat.asks("pay", CALL, "ok")
    why = (await list_attributions(chat.done(), 100, 0))["items"][-1]
    assert why["suspects"] == ["payment_id"]


@pytest.mark.parametrize("text", ["", "no", "[1, 2", '{"a": {"b": "x', '}}]]{"a"', '[{"a":[[{"b":1}', "{" * 5_000])
def test_a_text_that_was_cut_or_is_no_json_is_read_as_far_as_it_goes(text: str):
    records = json_records(text)
    for place in range(0, len(text), 50):
        record = records.at(place)
        assert record is None or len(list(record.chain())) <= 65


def test_a_record_has_its_members_and_what_is_around_it():
    text = '{"user": "u1", "orders": [{"id": 7, "tags": ["a", "b"], "of": {"x": "\\"q\\""}}, {"id": 8}], "end": null}'
    records = json_records(text)
    inner = records.at(text.index("q"))
    assert inner is not None
    assert [record.key for record in inner.chain()] == ["of", "orders", ""]
    order, whole = list(inner.chain())[1:]
    assert (order.members, order.in_list) == ({"id": "7"}, True)
    assert whole.members == {"user": "u1", "end": "null"}
    assert records.at(text.index('"end"')) is whole


async def test_a_value_at_the_very_beginning_of_a_result_is_placed():
    assert await found([({}, {"a": "card_22"})]) is None

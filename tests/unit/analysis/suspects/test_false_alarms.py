"""What rules said wrongly of runs that they were not written on, and the real mistakes beside it that they find."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from playhead.model import event as ev
from playhead.model.message import Message, text_message
from tests.support.readers.chat import Chat
from tests.support.readers.fake import FakeStore
from tests.unit.analysis.suspects.test_findings import TOOLS, check_quotes, suspects_of, tool

LAPTOPS = {
    "product_id": "9523456873",
    "name": "Laptop",
    "variants": {
        "4900661478": {"item_id": "4900661478", "options": {"screen": "15-inch", "color": "silver"}, "price": 2463.68},
        "3265035808": {"item_id": "3265035808", "options": {"screen": "15-inch", "color": "black"}, "price": 2530.72},
        "2216662955": {"item_id": "2216662955", "options": {"screen": "13-inch", "color": "black"}, "price": 2520.52},
    },
}
ORDERS = [
    {"order_id": "#W2890441", "status": "pending", "items": [{"item_id": "2366567022", "price": 54.04}]},
    {"order_id": "#W7449508", "status": "delivered", "items": [{"item_id": "1646531091", "price": 232.49}]},
]
ADDRESS = {"address1": "445 Maple Drive", "city": "Fort Worth", "zip": "76165"}
HOME = {"address1": "129 Oak Street", "city": "Austin", "zip": "78701"}
STORE_TOOLS = [
    *TOOLS,
    tool("modify_address", order_id={"type": "string"}),
    tool("web_search"),
    tool("WikipediaSearch"),
    tool("flights.lookup"),
    tool("document_retriever"),
    tool("search_and_book"),
]


def a_chat() -> Chat:
    return Chat(FakeStore(), tools=STORE_TOOLS)


async def rules_of(chat: Chat) -> set[str]:
    answer = await suspects_of(chat)
    await check_quotes(chat.store, answer)
    return {finding["rule"] for suspect in answer["items"] for finding in suspect["findings"]}


# --- field_contradicted ----------------------------------------------------------------------------------------------


def a_variant_by_its_options(chat: Chat) -> None:
    chat.user("Which laptops do you have?")
    chat.asks("get_order", {"order_id": "9523456873"}, LAPTOPS)
    chat.says(
        "Two of them:\n1. **Screen:** 15-inch\n   - Color: silver\n   - Price: $2463.68\n2. 15-inch\n   - Color: black"
    )


def an_identifier_below_its_fields(chat: Chat) -> None:
    chat.user("Which orders do I have?")
    chat.asks("get_order", {"order_id": "all"}, ORDERS)
    chat.says("- Status: pending\n- Order: #W2890441\n\n- Status: delivered\n- Order: #W7449508")


def what_a_change_would_make_of_it(chat: Chat) -> None:
    chat.user("Ship #W2890441 to Austin")
    chat.asks("get_order", {"order_id": "#W2890441"}, {"order_id": "#W2890441", "city": "Houston"})
    chat.says("I will change it. Order #W2890441\n- City: Austin")


def what_a_call_made_of_it(chat: Chat) -> None:
    chat.user("Cancel order #W2890441")
    chat.asks("get_order", {"order_id": "#W2890441"}, {"order_id": "#W2890441", "status": "pending"})
    chat.asks("cancel_order", {"order_id": "#W2890441"}, {"done": "cancelled"})
    chat.says("- Order: #W2890441\n- Status: cancelled")


def a_total_of_several_records(chat: Chat) -> None:
    chat.user("What do they cost?")
    orders = [{"order_id": "#W2890441", "price": 54}, {"order_id": "#W7449508", "price": 232}]
    chat.asks("get_order", {"order_id": "all"}, orders)
    chat.says("I added #W2890441 and #W7449508 up:\n- Price: $286 in total")


def a_record_that_was_not_read(chat: Chat) -> None:
    chat.user("Which orders do I have?")
    chat.asks("get_order", {"order_id": "all"}, ORDERS)
    chat.says("1. **Order ID: #W2890441**\n2. **Order ID: #W5550001**\n   - Status: shipped")


@pytest.mark.parametrize(
    "said",
    [
        a_record_that_was_not_read,
        a_variant_by_its_options,
        an_identifier_below_its_fields,
        what_a_change_would_make_of_it,
        what_a_call_made_of_it,
        a_total_of_several_records,
    ],
)
async def test_a_field_is_contradicted_only_by_the_record_of_its_own_identifier(said: Callable[[Chat], None]):
    chat = a_chat()
    said(chat)
    assert "field_contradicted" not in await rules_of(chat)


RECORD = {
    "order_id": "#W2890441", "status": "pending", "country": "US", "active": "true", "currency": "EUR",
    "city": "Munich", "color": "gray", "total": "1234.5", "count": "3", "created": "2024-05-02", "month": "May",
    "phone": "5551234567", "price": 1000, "duration": "90",
}  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "Status: ausstehend", "Status: Not yet shipped", "Status: awaiting payment", "Status: n/a",
        "Country: United States", "Active: yes", "Currency: euros", "City: M\u00fcnchen", "Color: grey",
        "Total: $1,234.50", "Total: 1.234,50 \u20ac", "Count: three", "Created: May 2nd, 2024", "Created: 02/05/2024",
        "Month: 5", "Phone: (555) 123-4567", "Price: $1k", "Price: \u20ac1.000", "Price: 1 000", "Price: 900 + 100",
        "Price: $800 after the discount", "Duration: 1.5 hours", "**Total:** **$1,234.50**",
    ],
)  # fmt: skip
async def test_a_field_in_other_words_or_another_notation_is_not_contradicted(line: str):
    chat = a_chat()
    chat.user("Which order?")
    chat.asks("get_order", {"order_id": "x"}, RECORD)
    chat.says(f"Here it is.\n- Order: #W2890441\n- {line}")
    assert "field_contradicted" not in await rules_of(chat)


@pytest.mark.parametrize(
    "line",
    [
        "Status: shipped", "Status: Canceled", "Total: $1,324.50", "Count: 4", "Created: May 3rd, 2024",
        "Created: 2024-06-02", "Price: **$900**", "City: Bergen",
    ],
)  # fmt: skip
async def test_another_number_date_state_or_value_of_another_record_contradicts(line: str):
    chat = a_chat()
    chat.user("Which order?")
    other = {"order_id": "#W7449508", "city": "Bergen"}
    chat.asks("get_order", {"order_id": "x"}, [RECORD, other])
    chat.says(f"Here it is.\n- Order: #W2890441\n- {line}")
    assert "field_contradicted" in await rules_of(chat)


async def test_a_wrong_field_among_right_ones_is_found_with_both_places():
    chat = a_chat()
    chat.user("Which orders do I have?")
    chat.asks("get_order", {"order_id": "all"}, ORDERS)
    seq = chat.says("- Order: #W2890441\n- Status: shipped\n\n- Order: #W7449508\n- Status: delivered").seq
    answer = await suspects_of(chat)
    (finding,) = [
        f for s in answer["items"] if s["seq"] == seq for f in s["findings"] if f["rule"] == "field_contradicted"
    ]
    assert [quote["text"] for quote in finding["quotes"]] == ["pending", "shipped"]
    assert finding["strength"] == "likely"


# --- other_subject ---------------------------------------------------------------------------------------------------


async def test_an_address_that_was_copied_as_a_whole_is_no_mistake():
    chat = a_chat()
    chat.user("Ship both of my orders to the same place, please")
    chat.asks("get_order", {"order_id": "#W2890441"}, {"order_id": "#W2890441", "address": HOME})
    chat.asks("get_order", {"order_id": "#W7449508"}, {"order_id": "#W7449508", "address": ADDRESS})
    chat.asks("modify_address", {"order_id": "#W2890441", **ADDRESS}, "ok")
    assert "other_subject" not in await rules_of(chat)


async def test_a_single_value_of_another_subject_is_still_found_and_is_not_strong():
    chat = a_chat()
    chat.user("Pay order #W2890441 with my card")
    chat.asks("get_order", {"order_id": "#W7449508"}, {"order_id": "#W7449508", "card": "card_5550001"})
    chat.asks("get_order", {"order_id": "#W2890441"}, {"order_id": "#W2890441", "card": "card_7770002"})
    chat.asks("update_order", {"order_id": "#W2890441", "card": "card_5550001"}, "ok")
    found = [f for s in (await suspects_of(chat))["items"] for f in s["findings"] if f["rule"] == "other_subject"]
    assert [finding["strength"] for finding in found] == ["likely"]


# --- comparison_false ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "The total of $1,530.50 (3 tickets at $510.17) is more than $1,500.",
        "Your refund of $99.50 is less than $99.75.",
        "The fare ($120.00 plus 20 % tax) is more than $130.00.",
        "5 lb is less than 3 kg.",
        "90 minutes is less than 2 hours.",
        "All 3 items are over $100.",
        "The 2 passengers are under 18.",
        "Flight 415 is over $200.",
        "Version 2.10 is higher than 2.9.",
        "The price (down from $300) is lower than $250.",
        "$2.50 each is more than $2.05 each.",
        "Item 12 is below $5.",
        "In 2024 it was less than 1,000.",
        "12 of 20 were more than 5 days late.",
        "It costs $114 in total, which is within your $100 per person.",
        "Tell me whether $50 is more than $60.",
        "2 x $30 is more than $50.",
        "$30 + $25 is more than $50.",
        "$30 plus $25 is more than $50.",
        "Three nights at $30 are more than $80.",
        "30 kg and 25 kg is more than 50 kg.",
        "Between $20 and $30 is less than $25 on average.",
        "$40, not $60, is less than $50.",
        "$15 is less than $10 more than last year.",
        "With $20 off, $60 is less than $50 plus tax.",
        "$1.5 million is more than $2,000.",
        "$2k is more than $1,500.",
        "2 million km is more than 3 km.",
        "\u20ac1.234 is more than \u20ac999.",
        "1,5 kg is less than 2 kg.",
    ],
)
async def test_a_comparison_is_false_only_between_numbers_that_are_compared(text: str):
    chat = a_chat()
    chat.user("How much is it?")
    chat.says(text)
    assert "comparison_false" not in await rules_of(chat)


@pytest.mark.parametrize(
    "text",
    [
        "$1,530.50 (3 tickets at $510.17) is less than $1,500.",
        "Your refund of $99.50 is more than $99.75.",
        "3 hours is less than 150 minutes.",
        "What is left is $171.25, which is not more than $100.",
        "The fare of $120.40 was higher than $120.50.",
        "If we use it, the balance will be $171, which is not more than $100.",
        "\u20ac1.234 is more than \u20ac1.999.",
        "1,500 m is less than 900 m.",
    ],
)
async def test_false_comparisons_are_found_with_parentheses_decimals_and_units(text: str):
    chat = a_chat()
    chat.user("How much is it?")
    chat.says(text)
    found = [f for s in (await suspects_of(chat))["items"] for f in s["findings"]]
    assert [(finding["rule"], finding["strength"]) for finding in found] == [("comparison_false", "likely")]


# --- outcome_rests_on ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["web_search", "WikipediaSearch", "flights.lookup", "document_retriever", "google", "calculator", "getWeather"],
)
async def test_an_outcome_rests_on_no_search(name: str):
    chat = a_chat()
    chat.user("Who wrote it?")
    chat.asks(name, {"query": "who wrote it"}, "somebody")
    chat.says("Somebody.")
    assert "outcome_rests_on" not in await rules_of(chat)


@pytest.mark.parametrize("name", ["search_and_book", "send_report", "bookings.cancel", "update_order"])
async def test_an_outcome_rests_on_what_changes_something(name: str):
    chat = a_chat()
    chat.user("Do it")
    chat.asks(name, {"query": "who wrote it"}, "ok")
    chat.says("Done.")
    assert "outcome_rests_on" in await rules_of(chat)


# --- error_ignored ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        ("gift card balance is insufficient", "The balance of your gift card is too low for this order."),
        ("non-delivered order cannot be returned", "Only orders that were delivered can be returned."),
        ("timeout after 30 s", "The shop took too long to answer. Shall I try it again?"),
        ("order already cancelled", "It seems that it was cancelled already."),
        ("user has no permission", "Leider fehlt Ihnen die Berechtigung dafür."),
        ("payment declined by bank", "Your bank declined the payment. Do you have another card?"),
        ("invalid zip code", "Which zip code is it? The one you gave is invalid."),
        ("ValueError: not found", "There is no order with the number 1."),
        ("timeout", "The order system is down at the moment. Please come back later."),
        ("403", "I lack the permission to see it."),
        ("KeyError: 'W1'", "I could find nothing under that number. Is it W2?"),
        ("rate limited", "Let me use what I have: could you tell me the number once more?"),
        ("ValueError: not found", "Zu dieser Nummer gibt es keine Bestellung."),
        ("ValueError: not found", "ご注文が見つかりませんでした。"),
        ("ValueError: not found", "找不到该订单。"),
        ("ValueError: not found", "Заказ не найден."),
        ("ValueError: not found", "No encuentro el pedido con ese número."),
        ("ValueError: not found", "Je ne trouve pas cette commande."),
    ],
)
async def test_an_answer_that_explains_the_error_does_not_ignore_it(error: str, answer: str):
    chat = a_chat()
    chat.user("Do it")
    chat.asks("update_order", {"order_id": "W12345"}, error=error)
    chat.says(answer)
    assert "error_ignored" not in await rules_of(chat)


@pytest.mark.parametrize(
    "answer", ["Your order is on its way. Have a nice day.", "Your order ships on Monday.", "Done!"]
)
async def test_an_answer_that_goes_on_as_if_nothing_had_happened_does(answer: str):
    chat = a_chat()
    chat.user("Do it")
    chat.asks("update_order", {"order_id": "W12345"}, error="locked by another process")
    chat.says(answer)
    found = [f for s in (await suspects_of(chat))["items"] for f in s["findings"] if f["rule"] == "error_ignored"]
    assert [finding["strength"] for finding in found] == ["likely"]


# --- agents side by side ---------------------------------------------------------------------------------------------


class Agents:
    """Agents of one run, each with a thread of its own, whose calls alternate."""

    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        self._threads: dict[str, tuple[list[Message], list[Message]]] = {}

    @contextmanager
    def at(self, name: str) -> Iterator[Chat]:
        chat = self.chat
        before = len(chat.events)
        chat.thread, chat.new = self._threads.get(name, ([], [text_message("system", f"You are {name}.")]))
        yield chat
        self._threads[name] = (chat.thread, chat.new)
        chat.events[before:] = [self._of(event, name) for event in chat.events[before:]]

    @staticmethod
    def _of(event: Any, name: str) -> Any:
        if isinstance(event, ev.LlmCalled):
            return replace(event, actor=name, parent=f"agent-{name}")
        return replace(event, actor=name)


@pytest.mark.parametrize("names", [("researcher", "writer", "checker"), ("worker 1", "worker 2", "worker 3")])
async def test_the_error_of_an_agent_is_not_ignored_by_another_one_beside_it(names: tuple[str, str, str]):
    agents = Agents(a_chat())
    first, second, third = names
    for name in names:
        with agents.at(name) as chat:
            chat.user(f"Do the part of {name}")
    with agents.at(first) as chat:
        chat.asks("get_order", {"order_id": "W1"}, error="connection reset by peer")
    with agents.at(second) as chat:
        chat.says("The report is complete. All figures add up.")
    with agents.at(third) as chat:
        chat.says("The summary is complete.")
    answer = await suspects_of(agents.chat)
    assert "error_ignored" not in {finding["rule"] for suspect in answer["items"] for finding in suspect["findings"]}
    assert [suspect["actor"] for suspect in answer["items"]][:1] == [first]


async def test_the_agent_that_saw_the_error_is_the_one_that_ignores_it():
    agents = Agents(a_chat())
    with agents.at("a") as chat:
        chat.user("Do it")
        chat.asks("update_order", {"order_id": "W1"}, error="connection reset by peer")
    with agents.at("b") as chat:
        chat.user("Do something else")
        chat.says("That is complete.")
    with agents.at("a") as chat:
        seq = chat.says("All is well.").seq
    answer = await suspects_of(agents.chat)
    assert [s["seq"] for s in answer["items"] for f in s["findings"] if f["rule"] == "error_ignored"] == [seq]


async def test_a_confirmation_belongs_to_the_agent_whose_user_gave_it():
    agents = Agents(a_chat())
    with agents.at("a") as chat:
        chat.user("Cancel W12345")
        offer = chat.says("I can cancel W12345 and refund $40.00. Shall I?").seq
    with agents.at("b") as chat:
        chat.user("How is the weather?")
        chat.says("It rains in W12345, $40.00.")
    with agents.at("a") as chat:
        chat.user("Yes, please")
        chat.asks("cancel_order", {"order_id": "W12345"}, "cancelled")
    answer = await suspects_of(agents.chat)
    assert [s["seq"] for s in answer["items"] for f in s["findings"] if f["rule"] == "outcome_rests_on"] == [offer]


async def test_agents_side_by_side_may_make_the_same_call_and_have_results_of_their_own():
    agents = Agents(a_chat())
    listings = {"a": (120, 130), "b": (80, 120)}
    for name, prices in listings.items():
        with agents.at(name) as chat:
            chat.user(f"Look at the orders, {name}")
            chat.asks("get_order", {"order_id": "W1"}, "shipped")
            chat.asks("list_offers", {"of": name}, [{"offer": f"OF100{n}", "price": n} for n in prices])
    with agents.at("a") as chat:
        chat.says("The cheapest costs $120.")
    assert not await rules_of(agents.chat) & {"call_repeated", "not_the_least"}


# --- places of evidence ----------------------------------------------------------------------------------------------


async def test_the_evidence_is_the_entry_that_is_cheaper_however_far_behind_it_stands():
    chat = a_chat()
    chat.user("Which is the cheapest?")
    offers = [{"offer": f"OF{n}", "note": "x" * 60, "prices": {"plain": 300 + n}} for n in range(20)]
    offers[15]["prices"] = {"plain": 207}
    chat.asks("list_offers", {}, offers)
    chat.says("The cheapest is OF0 for $300.")
    (finding,) = [f for s in (await suspects_of(chat))["items"] for f in s["findings"] if f["rule"] == "not_the_least"]
    assert "207" in [quote["text"] for quote in finding["quotes"]]


async def test_the_evidence_of_an_unavailable_entry_is_its_count():
    chat = a_chat()
    chat.user("I want a lined one")
    offers = [
        {"offer": f"OF100{n}", "note": "x" * 80, "prices": {"lined": 90 + n}, "stock": {"lined": 0 if n == 7 else 5}}
        for n in range(9)
    ]
    chat.asks("list_offers", {}, offers)
    chat.says("OF1007 lined is available for $97. Would you like it?")
    answer = await suspects_of(chat)
    (finding,) = [f for s in answer["items"] for f in s["findings"] if f["rule"] == "unavailable"]
    assert {"97", "0"} <= {quote["text"] for quote in finding["quotes"]}


async def test_the_evidence_of_a_count_is_the_list_that_has_another_one():
    chat = a_chat()
    chat.user("How many parcels?")
    chat.asks("get_order", {"order_id": "W12345"}, {"notes": "n" * 400, "parcels": ["P1", "P2", "P3"]})
    chat.says("There are two parcels. They are on their way.")
    (finding,) = [
        f for s in (await suspects_of(chat))["items"] for f in s["findings"] if f["rule"] == "count_contradicted"
    ]
    assert '"P1","P2","P3"' in finding["quotes"][1]["text"].replace(" ", "")


# --- runs to which no rule applies -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answers",
    [
        ["Thought: I look it up.\nAction: Search[Rome]", "Thought: done.\nAction: Finish[Rome]"],
        ['Thought: search\nAction: search\nAction Input: {"q": "Rome"}', "Final Answer: Rome"],
        ["<action>open_door</action>", "<action>go(north)</action>"],
        ["```python\nresult = search('Rome')\nprint(result)\n```", "```python\nfinal_answer('Rome')\n```"],
        [
            "Code:\n```py\nanswer = web_search(query='Rome')\n```<end_code>",
            "Code:\n```py\nfinal_answer(1)\n```<end_code>",
        ],
    ],
)
async def test_a_run_that_acts_in_its_texts_is_said_to_be_of_a_kind_without_rules(answers: list[str]):
    chat = Chat(FakeStore(), "Answer in the form of the protocol. You must not open the door of the cellar.")
    for answer in answers:
        chat.user("Observation: it is $171, which is not more than $100.")
        chat.says(answer)
    answer = await suspects_of(chat)
    assert answer["items"] == []
    assert (answer["note"] or "").startswith("no rule applies to this kind of run")


@pytest.mark.parametrize(
    "text", ["Here is an example:\n```python\nprint(1)\n```", "Rome is the capital.", "Action is needed."]
)
async def test_a_run_with_tools_or_plain_answers_has_no_such_note(text: str):
    chat = a_chat()
    chat.user("Hello")
    chat.says(text)
    assert (await suspects_of(chat))["note"] is None

"""What counts as a fact, where it stands, what it is called, and whether it was said elsewhere in other words."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead_collector.analysis.compression.facts import KINDS, FactIndex, facts_in, label_words


def found(text: str) -> list[tuple[str, str]]:
    return [(fact.kind, fact.text) for fact in facts_in(text)]


def stock(*texts: str) -> FactIndex:
    stock = FactIndex()
    for text in texts:
        stock.add(text)
    return stock


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("my order is #W2378156, see", [("identifier", "W2378156")]),
        ("write to ada.l@example.org now", [("identifier", "ada.l@example.org")]),
        ("account 77812345 it is", [("identifier", "77812345")]),
        ("run 550e8400-e29b-41d4-a716-446655440000 failed", [("identifier", "550e8400-e29b-41d4-a716-446655440000")]),
        ("it cost $1,250.00, not 3 times that", [("number", "1,250.00")]),
        ("due on May 3rd, 2026 or 2026-06-01", [("date", "May 3rd, 2026"), ("date", "2026-06-01")]),
        ("I spoke with Maria Lopez in Berlin", [("name", "Maria Lopez"), ("name", "Berlin")]),
        ("Hello Ada. Thanks. The weather is fine.", [("name", "Ada")]),
        ("see /etc/app/conf.yaml and src/app/main.py", [("path", "/etc/app/conf.yaml"), ("path", "src/app/main.py")]),
        ("at https://ci.example.com/job/77?x=1.", [("url", "https://ci.example.com/job/77?x=1")]),
        ('he said "the blue door" to me', [("quoted", "the blue door")]),
        ("call `retry()` or parseConfig", [("code", "retry()"), ("code", "parseConfig")]),
        ("the max_size is reached", [("code", "max_size")]),
        ("in 10am, 2nd, 3 items, and so on", []),
        ("it doesn't matter what you're told, isn't it", []),
    ],
)  # fmt: skip
def test_facts_are_what_cannot_be_said_in_other_words(text: str, facts: list[tuple[str, str]]):
    assert found(text) == facts


def test_in_json_values_are_facts_and_keys_are_what_they_are_called():
    value = {
        "order_id": "W2378156",
        "status": "delivered",
        "lines": [{"sku": "LMP-1", "price": 15.5}, {"sku": "LMP-2"}],
    }
    facts = {fact.text: (fact.kind, fact.label) for fact in facts_in(json.dumps(value))}
    assert facts == {
        "W2378156": ("identifier", "order_id"),
        "delivered": ("quoted", "status"),
        "LMP-1": ("identifier", "sku"),
        "15.5": ("number", "price"),
        "LMP-2": ("identifier", "sku"),
    }


def test_in_prose_a_fact_is_called_by_the_word_before_it():
    labels = {fact.text: fact.label for fact in facts_in("My order number is W2378156. The account: 77812345")}
    assert labels == {"W2378156": "order", "77812345": "account"}
    assert label_words("order_id") & label_words("orderNumber")
    assert not label_words("order_id") & label_words("account_id")
    assert not label_words("")
    assert label_words("id") == {"id"}  # a label of nothing but such words is compared as it stands


@pytest.mark.parametrize(
    ("text", "elsewhere", "there"),
    [
        ("for $1,250.00", "it costs 1250", True),
        ("for $1,250.00", "it costs 1,251", False),
        ("on May 3rd", "since 2026-05-03", True),
        ("on 2026-05-03", "since May 3, 2025", False),
        ("flight HAT-001", "flight hat 001", True),
        ("flight HAT001", "flight HAT0011", False),
        ("for Maria Lopez", "MARIA LOPEZ called", True),
        ("for Maria Lopez", "Maria and Lopez called", False),
        ("in src/app/main.py", "the file `src/app/main.py`", True),
    ],
)
def test_a_fact_is_found_in_whatever_form_it_is_written(text: str, elsewhere: str, there: bool):
    (fact,) = facts_in(text)
    assert stock("something else", elsewhere).has(fact) is there


@given(st.text(max_size=300))
def test_any_text_has_facts_at_their_places_and_none_twice(text: str):
    end = 0
    for fact in facts_in(text):
        assert fact.start >= end
        assert fact.kind in KINDS
        end = fact.end
        assert stock(text).has(fact)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Don't go. I've seen it, I'll come, and they Didn\u2019t say.", []),
        ("I'm Maria Lopez, and we've met.", ["Maria Lopez"]),
        ("It was Maria's. You're late, and He's Ken Ito's friend.", ["Maria", "Ken Ito"]),
        ("we saw John'll and can\u2019t tell", ["John"]),
        ("at the Queen's Head", ["Queen's Head"]),
    ],
)
def test_contractions_are_no_names(text: str, names: list[str]):
    facts = [fact for fact in facts_in(text) if fact.kind == "name"]
    assert [fact.text for fact in facts] == names
    assert all(text[fact.start : fact.end] == fact.text for fact in facts)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("C'est bien. D'accord, je pense qu'il vient. Qu'il vienne.", []),
        ("Bonjour, je suis José Núñez de l'Hôtel Ritz, avec Zoé.", ["José Núñez", "Hôtel Ritz", "Zoé"]),
        ("Меня зовут Мария Иванова.", ["Мария Иванова"]),
        ("Είμαι η Ελένη Παπαδοπούλου.", ["Ελένη Παπαδοπούλου"]),
        ("I wrote to Łukasz Żak.", ["Łukasz Żak"]),
    ],
)
def test_names_of_other_languages_are_names_and_words_with_an_elision_are_none(text: str, names: list[str]):
    assert [fact.text for fact in facts_in(text) if fact.kind == "name"] == names


@pytest.mark.parametrize("phone", ["+49 170 1234567", "(555) 123-4567", "555-123-4567", "0170/123 4567"])
def test_a_telephone_number_is_one_fact_however_it_is_grouped(phone: str):
    (fact,) = facts_in(f"Call me, it is {phone}.")
    assert (fact.kind, fact.text) == ("identifier", phone)
    assert stock("His number: +491701234567, 5551234567 or 01701234567").has(fact)
    assert stock("phone +49 170 / 1234567, 555 123 4567, 0170 1234567").has(fact)
    assert not stock("His number: +491701234568 or 01701234568").has(fact)


@pytest.mark.parametrize("text", ["100 200 300 items", "09:00-10:30", "2020 2021 2022", "at 0.55 12"])
def test_other_numbers_in_a_row_are_no_telephone_number(text: str):
    assert [fact for fact in facts_in(text) if fact.kind == "identifier"] == []

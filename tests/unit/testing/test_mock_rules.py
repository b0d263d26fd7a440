"""Which requests a rule matches."""

from __future__ import annotations

import re

import pytest

from playhead.testing import (
    ChatRequest,
    Rule,
    any_request,
    contains,
    context_exceeds,
    regex,
    sequence,
    tool_requested,
    tool_result_received,
)
from playhead.testing.request import JsonObject


def request_of(*messages: JsonObject, number: int = 1, **body: object) -> ChatRequest:
    return ChatRequest(number, {"model": "m", "messages": list(messages), **body})


def user(content: object) -> JsonObject:
    return {"role": "user", "content": content}


def calling(name: str, call_id: str = "c1") -> JsonObject:
    call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def result(call_id: str = "c1", **more: object) -> JsonObject:
    return {"role": "tool", "tool_call_id": call_id, "content": "found", **more}


def test_contains_looks_at_every_message_whoever_wrote_it() -> None:
    rule = contains("refund")
    assert rule.matches(request_of({"role": "system", "content": "no refunds"}, user("hi")))
    assert rule.matches(request_of(user([{"type": "text", "text": "a refund"}, {"type": "image_url"}])))
    assert not rule.matches(request_of(user("Refund"), user(None)))


def test_contains_can_be_narrowed_to_a_role_and_to_the_last_message() -> None:
    request = request_of(user("refund"), {"role": "assistant", "content": "which order?"}, user("A1"))
    assert contains("refund", role="user").matches(request)
    assert not contains("refund", role="system").matches(request)
    assert not contains("refund", last=True).matches(request)
    assert contains("order", role="assistant", last=True).matches(request)
    assert not contains("x", role="tool", last=True).matches(request)


def test_regex_searches_with_the_flags_of_a_compiled_pattern() -> None:
    assert regex(r"order [A-Z]\d+").matches(request_of(user("my order A1 please")))
    assert regex(re.compile("REFUND", re.IGNORECASE)).matches(request_of(user("refund")))
    assert not regex("^A1$", role="user").matches(request_of(user("order A1")))


def test_a_result_of_any_tool_is_recognised_in_the_history_or_as_the_last_message() -> None:
    answered = request_of(user("hi"), calling("lookup"), result())
    later = request_of(user("hi"), calling("lookup"), result(), user("thanks"))
    assert tool_result_received().matches(answered)
    assert tool_result_received(last=True).matches(answered)
    assert tool_result_received().matches(later)
    assert not tool_result_received(last=True).matches(later)
    assert not tool_result_received().matches(request_of(user("hi"), calling("lookup")))
    assert tool_result_received("lookup", last=True).matches(answered)
    assert not tool_result_received("other", last=True).matches(answered)
    assert not tool_result_received("lookup", last=True).matches(later)
    assert [str(tool_result_received(*name, last=True)) for name in ((), ("lookup",))] == [
        "tool_result_received(last=True)",
        "tool_result_received('lookup', last=True)",
    ]


def test_a_tool_is_requested_when_an_assistant_message_asks_for_it() -> None:
    assert tool_requested("lookup").matches(request_of(user("hi"), calling("lookup")))
    assert not tool_requested("lookup").matches(request_of(user("lookup"), calling("other")))
    legacy = {"role": "assistant", "content": None, "function_call": {"name": "lookup", "arguments": "{}"}}
    assert tool_requested("lookup").matches(request_of(legacy))
    custom = {"role": "assistant", "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "lookup"}}]}
    assert tool_requested("lookup").matches(request_of(custom))


def test_a_tool_result_is_known_by_the_id_of_its_call_or_by_its_own_name() -> None:
    rule = tool_result_received("lookup")
    assert rule.matches(request_of(calling("lookup"), result()))
    assert rule.matches(request_of(result("unknown", name="lookup")))
    assert rule.matches(request_of({"role": "function", "name": "lookup", "content": "x"}))
    assert not rule.matches(request_of(calling("lookup")))
    assert not rule.matches(request_of(calling("lookup", "c1"), calling("other", "c2"), result("c2")))


def test_sequence_counts_requests_from_one() -> None:
    assert sequence(3).matches(request_of(user("x"), number=3))
    assert not sequence(3).matches(request_of(user("x"), number=2))
    with pytest.raises(ValueError, match="counted from 1"):
        sequence(0)


def test_context_exceeds_estimates_four_bytes_a_token_tools_included() -> None:
    small = request_of(user("x" * 400))
    assert context_exceeds(100).matches(small)
    assert not context_exceeds(150).matches(small)
    assert context_exceeds(150).matches(request_of(user("x" * 400), tools=[{"function": {"name": "y" * 400}}]))
    assert context_exceeds(150).matches(request_of(user("é" * 300)))


def test_rules_combine_with_and_or_not() -> None:
    rule = (contains("a") & ~contains("b")) | sequence(9)
    assert rule.matches(request_of(user("a")))
    assert not rule.matches(request_of(user("ab")))
    assert rule.matches(request_of(user("ab"), number=9))
    assert any_request().matches(request_of(user("")))
    assert str(rule) == "((contains('a') & ~contains('b')) | sequence(9))"


def test_a_rule_refuses_to_be_combined_with_words() -> None:
    with pytest.raises(TypeError, match="combine rules with &"):
        _ = contains("a") and contains("b")


def test_users_write_rules_of_their_own() -> None:
    assert Rule("is streamed", lambda request: request.stream).matches(request_of(user("x"), stream=True))

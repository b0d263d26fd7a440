"""Answers as OpenAI's JSON and server-sent events."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.testing import (
    ChatRequest,
    malformed_tool_call,
    rate_limit,
    server_error,
    text,
    thinking,
    tool_call,
    tool_calls,
)
from playhead.testing.answers import AssistantMessage
from playhead.testing.completion import Completion, finish_reason_of
from playhead.testing.http_response import Response, cut
from playhead.testing.protocols import openai_chat
from playhead.testing.protocols.openai_http import error_response
from playhead.testing.request import JsonObject

REQUEST = ChatRequest(7, {"model": "m", "messages": [{"role": "user", "content": "hi"}]})


def completion_of(answer: AssistantMessage, request: ChatRequest = REQUEST) -> Completion:
    return Completion.of(answer, request, created=1000, cached_tokens=0, thinks=True)


def read_back(response: Response) -> Any:
    assert response.status == 200
    return orjson.loads(response.parts[0])


def chunks_in(response: Response) -> list[JsonObject]:
    assert response.parts[-1] == b"data: [DONE]\n\n"
    return [orjson.loads(part.removeprefix(b"data: ")) for part in response.parts[:-1]]


def added_up(deltas: list[JsonObject]) -> JsonObject:
    """The message that a client gets who adds up deltas by OpenAI's rules: text is appended, calls go by index."""
    total: JsonObject = {}
    for delta in deltas:
        _add(total, delta)
    calls: list[JsonObject] = total.get("tool_calls") or []
    for call in calls:
        del call["index"]
    return total


def _add(total: JsonObject, delta: JsonObject) -> None:
    for key, value in delta.items():
        before = total.get(key)
        if key == "tool_calls":
            calls = total.setdefault(key, [])
            for call in value:
                if call["index"] == len(calls):
                    calls.append({"index": call["index"]})
                _add(calls[call["index"]], call)
        elif isinstance(before, str) and isinstance(value, str):
            total[key] = before + value
        elif isinstance(before, dict):
            _add(total[key], value)
        elif key != "index":
            total[key] = deepcopy(value)


def test_what_was_said_composes_into_one_message() -> None:
    answer = thinking("hm, ") + text("Let me ") + tool_calls(tool_call("a", {"x": 1}), tool_call("b", call_id="mine"))
    body = read_back(openai_chat.whole(completion_of(answer + text("see.") + thinking("ok"))))
    choice = body["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] == "Let me see."
    assert choice["message"]["reasoning_content"] == "hm, ok"
    first, second = choice["message"]["tool_calls"]
    assert first["function"] == {"name": "a", "arguments": '{"x":1}'}
    assert first["id"].startswith("call_")
    assert second["id"] == "mine"


def test_what_was_not_said_is_null() -> None:
    message = read_back(openai_chat.whole(completion_of(tool_call("a"))))["choices"][0]["message"]
    assert message["content"] is None
    assert "reasoning_content" not in message


def test_the_finish_reason_is_that_of_the_message_unless_it_was_given() -> None:
    assert completion_of(text("x")).finish_reasons == ["stop"]
    assert completion_of(text("x", finish_reason="length")).finish_reasons == ["length"]
    assert finish_reason_of({"role": "assistant", "function_call": {"name": "f"}}) == "function_call"


def test_equal_requests_get_equal_bytes_and_other_numbers_other_ids() -> None:
    again = ChatRequest(8, REQUEST.body)
    answer = tool_calls(tool_call("a"), tool_call("a"))
    one, same, other = (completion_of(answer, request) for request in (REQUEST, REQUEST, again))
    assert openai_chat.whole(one) == openai_chat.whole(same)
    ids = [call["id"] for completion in (one, other) for call in completion.messages[0]["tool_calls"]]
    assert len({*ids, one.number, other.number}) == 6


def test_every_choice_asked_for_is_given() -> None:
    request = ChatRequest(1, {**REQUEST.body, "n": 2})
    completion = completion_of(tool_call("a"), request)
    body = read_back(openai_chat.whole(completion))
    assert [choice["index"] for choice in body["choices"]] == [0, 1]
    ids = {choice["message"]["tool_calls"][0]["id"] for choice in body["choices"]}
    assert len(ids) == 2
    streamed = chunks_in(openai_chat.streamed(completion, include_usage=False, piece_characters=9))
    assert {chunk["choices"][0]["index"] for chunk in streamed} == {0, 1}


def test_usage_counts_four_bytes_a_token() -> None:
    completion = completion_of(thinking("12345678") + text("1234") + tool_call("name", {"a": 1}))
    usage = openai_chat.usage_object(completion.usage)
    assert usage["prompt_tokens"] == -(-len(b'{"role":"user","content":"hi"}') // 4)
    assert usage["completion_tokens_details"] == {"reasoning_tokens": 2}
    assert usage["completion_tokens"] == 2 + -(-len('1234name{"a":1}') // 4)
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


def test_a_stream_has_a_role_pieces_a_finish_reason_and_usage_when_asked() -> None:
    completion = completion_of(text("one two three"))
    *pieces, last, usage = chunks_in(openai_chat.streamed(completion, include_usage=True, piece_characters=5))
    assert [chunk["choices"][0]["delta"] for chunk in pieces] == [
        {"role": "assistant", "content": ""},
        {"content": "one t"},
        {"content": "wo th"},
        {"content": "ree"},
    ]
    assert last["choices"][0] == {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}
    assert (usage["choices"], usage["usage"]) == ([], openai_chat.usage_object(completion.usage))
    assert all(chunk["usage"] is None for chunk in [*pieces, last])
    quiet = chunks_in(openai_chat.streamed(completion, include_usage=False, piece_characters=5))
    assert not any("usage" in chunk for chunk in quiet)
    assert {chunk["id"] for chunk in quiet} == {f"chatcmpl-{completion.number}"}


def test_arguments_are_streamed_in_pieces_even_if_they_are_not_json() -> None:
    answer = tool_call("a", {"order": "A1"}) + malformed_tool_call("b", '{"order": ')
    completion = completion_of(answer)
    found = list(openai_chat.deltas(completion.messages[0], 4))
    assert len(found) == 1 + (1 + 4) + (1 + 3)
    assert added_up(found) == completion.messages[0]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
FUNCTIONS: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {"name": st.text(max_size=4), "arguments": st.text(max_size=30)}
)
CALLS: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {"id": st.text(max_size=4), "type": st.just("function"), "function": FUNCTIONS}
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": st.none() | st.text(max_size=30)},
    optional={
        "reasoning_content": st.text(min_size=1, max_size=30),
        "tool_calls": st.lists(CALLS, min_size=1, max_size=3),
        "function_call": FUNCTIONS,
        "x-unknown": JSON_VALUES,
    },
)


@given(MESSAGES, st.integers(1, 12))
def test_a_streamed_message_adds_up_to_the_whole_one(message: JsonObject, piece_characters: int) -> None:
    assert added_up(list(openai_chat.deltas(message, piece_characters))) == message


def test_a_cut_response_always_ends_before_its_end() -> None:
    streamed = openai_chat.streamed(completion_of(text("x")), include_usage=False, piece_characters=5)
    assert cut(streamed, 2).cut_after == 2
    assert cut(streamed, 99).cut_after == len(streamed.parts) - 1
    whole = cut(openai_chat.whole(completion_of(text("x"))), 5)
    assert (len(whole.parts), whole.cut_after) == (2, 1)


def test_errors_have_openais_form() -> None:
    response = error_response(rate_limit(retry_after=0.2))
    assert response.status == 429
    assert response.headers == {"retry-after": "1", "retry-after-ms": "200"}
    error = orjson.loads(response.parts[0])["error"]
    assert (error["type"], error["code"], error["param"]) == ("requests", "rate_limit_exceeded", None)


def test_a_server_error_is_a_5xx() -> None:
    assert error_response(server_error(503)).status == 503
    with pytest.raises(ValueError, match="500 to 599"):
        server_error(404)

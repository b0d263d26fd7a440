"""Responses items: nothing is lost, and what is one item has one ref."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.dialect import openai_chat, openai_responses
from playhead.model.canonical import canonical_json, parse_json
from playhead.model.message import Message, message_contents
from tests.unit.dialect.test_dialect_openai import an_object, json_texts, said, urls
from tests.unit.model.values import anything, checked, shuffled, texts

# --- what counts as the same native item -----------------------------------------------------------------------------


THEMSELVES = ("message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output")


def meant(native: Any) -> Any:
    """Without what says nothing."""
    kind = native.get("type")
    is_message = kind in (None, "message") and isinstance(native.get("role"), str)
    told = said(native)
    if told.get("status") == "completed":
        del told["status"]
    if (is_message or kind in THEMSELVES) and isinstance(told.get("id"), str):
        del told["id"]
    return _meant_message(told) if is_message else told


def _meant_message(told: Any) -> Any:
    told = {key: value for key, value in told.items() if key != "type"}
    if told["role"] == "assistant" and isinstance(told.get("content"), str):
        told["content"] = [{"type": "output_text", "text": told["content"]}]
    if isinstance(told.get("content"), list):
        told["content"] = [_bare_text(part) for part in told["content"]]
    return told


def _bare_text(part: Any) -> Any:
    if not isinstance(part, dict) or not isinstance(part.get("text"), str):
        return part
    if part.get("type") not in ("input_text", "output_text"):
        return part
    return {key: value for key, value in part.items() if key not in ("annotations", "logprobs") or value != []}


def assert_nothing_is_lost(native: dict[str, Any]) -> Message:
    message = openai_responses.to_message(native)
    again = openai_responses.from_message(message)
    assert meant(again) == meant(native)
    stored = parse_json(canonical_json(message))
    assert openai_responses.from_message(stored) == parse_json(canonical_json(again))
    return message


def ref_of(message: Message) -> str:
    return message_contents(message)[0].ref


# --- any item --------------------------------------------------------------------------------------------------------

OTHERS = ("item_reference", "web_search_call", "computer_call_output", "mcp_approval_response", "text", "x", 5)
element_types = st.sampled_from([
    "input_text", "output_text", "input_image", "input_file", "input_audio", "refusal", "playhead.ref", "blob", "file",
    "playhead.as_is", "tool_call", "tool_call_response", "reasoning", "reasoning_text", "text", "x",
])  # fmt: skip
elements = an_object(
    type=element_types,
    text=texts,
    refusal=texts,
    image_url=urls,
    file_id=texts,
    file_url=texts,
    file_data=urls,
    detail=texts,
    annotations=st.just([]) | st.just([{"type": "url_citation", "url": "u"}]),
    logprobs=st.just([]),
)
thoughts = st.lists(an_object(type=st.sampled_from(["summary_text", "reasoning_text"]), text=texts), max_size=2)
statuses = st.sampled_from(["completed", "incomplete", "in_progress"])
items = an_object(
    type=st.sampled_from(["message", "function_call", "function_call_output", "custom_tool_call", "reasoning",
                          "custom_tool_call_output", *OTHERS]),
    role=st.sampled_from(["system", "developer", "user", "assistant", "tool", "critic", "unknown"]),
    content=texts | st.lists(elements | anything, max_size=3) | thoughts,
    summary=thoughts,
    id=texts,
    status=statuses,
    call_id=texts,
    name=texts,
    arguments=json_texts,
    input=texts,
    output=texts | st.lists(elements, max_size=2),
    encrypted_content=texts,
    phase=texts,
)  # fmt: skip


@checked
@given(items)
def test_no_item_loses_anything(native: dict[str, Any]):
    assert_nothing_is_lost(native)


@checked
@given(items, st.randoms(use_true_random=False))
def test_neither_the_order_of_keys_nor_nulls_change_a_ref(native: dict[str, Any], order: Any):
    other = {**native, **{key: None for key in ("phase", "namespace", "caller") if key not in native}}
    to_message = openai_responses.to_message
    assert ref_of(to_message(shuffled(other, order))) == ref_of(to_message(native))


# --- the forms that there are ----------------------------------------------------------------------------------------

ANSWER: dict[str, Any] = {
    "id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
    "content": [{"type": "output_text", "text": "done", "annotations": [], "logprobs": []}],
}  # fmt: skip
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "search", "arguments": '{"q": "SFO"}'}


def test_an_answer_is_one_message_however_a_client_sends_it_back():
    undecorated = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
    message, reasoning = openai_responses.output_message(ANSWER)
    assert message == openai_chat.to_message({"role": "assistant", "content": "done"})
    assert reasoning is None
    for native in (undecorated, {"role": "assistant", "content": "done"}):
        assert openai_responses.to_message(native) == message
    assert openai_responses.to_message({**ANSWER, "content": [{"type": "output_text", "text": "Done"}]}) != message


def test_an_answer_that_was_cut_off_is_another_than_one_that_was_completed():
    assert openai_responses.to_message({**ANSWER, "status": "incomplete"}) != openai_responses.to_message(ANSWER)


def test_a_call_and_its_result_are_the_parts_that_they_are_in_every_dialect():
    call = openai_responses.to_message({**CALL, "status": "completed"})
    function = {"name": "search", "arguments": '{"q":"SFO"}'}
    chat = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    assert call == openai_chat.to_message(chat)
    result = openai_responses.to_message({"type": "function_call_output", "call_id": "c1", "output": "found"})
    assert result == openai_chat.to_message({"role": "tool", "tool_call_id": "c1", "content": "found"})


def test_what_users_and_instructions_say_is_what_it_is_in_chats():
    for native in ({"role": "user", "content": "hi"}, {"role": "system", "content": "be kind"}):
        assert openai_responses.to_message(native) == openai_chat.to_message(native)


def test_reasoning_is_read_and_kept_with_what_only_the_server_can_read():
    native = {
        "type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA",
        "summary": [{"type": "summary_text", "text": "first"}, {"type": "summary_text", "text": "then"}],
        "content": [{"type": "reasoning_text", "text": "raw"}],
    }  # fmt: skip
    message, reasoning = openai_responses.output_message(native)
    assert reasoning == "first\n\nthen\n\nraw"
    assert [part["type"] for part in message["parts"]] == ["reasoning"] * 3
    assert openai_responses.from_message(message) == native
    sealed = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    assert openai_responses.output_message(sealed)[1] is None
    assert openai_responses.from_message(openai_responses.to_message(sealed)) == sealed


@pytest.mark.parametrize(
    ("native", "role"),
    [
        ({"type": "item_reference", "id": "msg_1"}, "assistant"),
        ({"type": "web_search_call", "id": "ws_1", "action": {"query": "q"}, "status": "completed"}, "assistant"),
        ({"type": "computer_call_output", "call_id": "c", "output": {"image_url": "u"}}, "tool"),
        ({"type": "mcp_approval_response", "approve": True}, "user"),
        ({"type": "blob", "content": "looks like ours"}, "assistant"),
        ({"neither": "role nor type"}, "unknown"),
    ],
)
def test_items_that_nobody_knows_are_kept_as_they_came(native: dict[str, Any], role: str):
    message = openai_responses.to_message(native)
    assert message["role"] == role
    assert openai_responses.from_message(message) == native


def test_images_and_files_are_the_parts_that_they_are_in_chats():
    pixel = "data:image/png;base64,iVBORw0KGgo="
    native = {"role": "user", "content": [{"type": "input_image", "image_url": pixel, "detail": "low"}]}
    [part] = openai_responses.to_message(native)["parts"]
    assert part["type"] == "blob"
    chat = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": pixel}}]}
    assert {**part, "extra": None} == {**openai_chat.to_message(chat)["parts"][0], "extra": None}
    assert openai_responses.from_message(openai_responses.to_message(native)) == native

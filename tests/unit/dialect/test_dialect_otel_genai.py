"""Messages in the parts shape, as different emitters spell them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.dialect import openai_chat, otel_genai
from playhead.model.canonical import canonical_json, parse_json
from playhead.model.message import Message, message_contents
from tests.unit.dialect.test_dialect_openai import CALL, an_object, json_texts, said
from tests.unit.model.values import anything, checked, shuffled, texts


def said_by_message(native: dict[str, Any]) -> Any:
    return said({key: value for key, value in native.items() if key != "finish_reason"})


def ref_of(message: Message) -> str:
    return message_contents(message)[0].ref


parts = an_object(
    type=st.sampled_from(
        ["text", "reasoning", "tool_call", "tool_call_response", "x", "playhead.ref", "playhead.as_is"]
    ),
    content=texts,
    id=texts,
    name=texts,
    arguments=json_texts,
    response=anything,
    result=anything,
    extra=anything,
)
natives = an_object(
    role=st.sampled_from(["system", "user", "assistant", "tool", "model"]),
    parts=st.lists(parts | anything, max_size=4),
    name=texts,
    finish_reason=texts,
)


@checked
@given(natives)
def test_no_message_loses_anything_but_its_finish_reason(native: dict[str, Any]):
    message = otel_genai.to_message(native)
    assert said_by_message(otel_genai.from_message(message)) == said_by_message(native)
    stored = parse_json(canonical_json(message))
    assert said_by_message(otel_genai.from_message(stored)) == said_by_message(native)


@checked
@given(natives, st.randoms(use_true_random=False))
def test_neither_the_order_of_keys_nor_nulls_nor_the_finish_reason_change_a_ref(native: dict[str, Any], order: Any):
    other = {**native, "finish_reason": "stop"} | ({} if "name" in native else {"name": None})
    if isinstance(native.get("parts"), list):
        other["parts"] = [{**p, "id": p.get("id")} if isinstance(p, dict) else p for p in native["parts"]]
    assert ref_of(otel_genai.to_message(shuffled(other, order))) == ref_of(otel_genai.to_message(native))


def of(*several: Any, role: str = "assistant", **fields: Any) -> dict[str, Any]:
    return {"role": role, "parts": list(several), **fields}


CALL_PART = {"type": "tool_call", "id": "c1", "name": "search", "arguments": {"q": "SFO"}}


@pytest.mark.parametrize(
    ("native", "canonical"),
    [
        (of({"type": "text", "content": "hi"}), of({"type": "text", "content": "hi"})),
        (of(CALL_PART | {"id": None}, name=None), of({k: v for k, v in CALL_PART.items() if k != "id"})),
        (
            of(CALL_PART | {"arguments": {"a": None}}, finish_reason="tool_call"),
            of(CALL_PART | {"arguments": {"a": None}}),
        ),
        (
            of(CALL_PART | {"arguments": '{"q": "SFO"}'}),
            of(CALL_PART | {"extra": {"encoded": "arguments"}}),
        ),
        (of(CALL_PART | {"arguments": "SFO"}), of(CALL_PART | {"arguments": "SFO"})),
        (
            of({"type": "tool_call_response", "result": {"a": None}}, role="tool"),
            of({"type": "tool_call_response", "response": {"a": None}, "extra": {"key": "result"}}, role="tool"),
        ),
        (of({"type": "compaction", "id": None, "new": [1]}), of({"type": "compaction", "new": [1]})),
        (of({"text": "from Gemini"}, role="model"), of({"text": "from Gemini"}, role="model")),
        (of("text"), of({"type": "playhead.as_is", "value": "text"})),
        ({"content": "hi"}, {"role": "unknown", "parts": [], "extra": {"role": None, "parts": None, "content": "hi"}}),
    ],
    ids=repr,
)  # fmt: skip
def test_each_spelling_has_its_canonical_form(native: dict[str, Any], canonical: dict[str, Any]):
    message = otel_genai.to_message(native)
    assert message == canonical
    assert said_by_message(otel_genai.from_message(message)) == said_by_message(native)


def test_an_answer_has_one_ref_as_output_and_as_input():
    native = of({"type": "reasoning", "content": "hm"}, {"type": "text", "content": "4"}, finish_reason="stop")
    message, reasoning = otel_genai.output_message(native)
    assert (reasoning, otel_genai.finish_reason(native)) == ("hm", "stop")
    assert ref_of(message) == ref_of(otel_genai.to_message(of({"type": "text", "content": "4"}, name=None)))
    signed = {"type": "reasoning", "content": "hm", "signature": "x"}
    assert otel_genai.output_message(of(signed))[1] == [signed]
    assert otel_genai.output_message(of())[1] is None


def test_a_message_has_one_ref_whether_it_came_from_openai_or_from_opentelemetry():
    ours = openai_chat.to_message({"role": "assistant", "content": None, "tool_calls": [CALL]})
    theirs = of({"type": "tool_call", "id": "c1", "name": "search", "arguments": {"q": "SFO", "n": 3}})
    assert ref_of(ours) == ref_of(otel_genai.to_message(theirs))


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        ([1], [1]),
        ("[1]", [1]),
        (b"[1]", [1]),
        (json.dumps("[1]"), [1]),
        (json.dumps(json.dumps('{"a":1}')), {"a": 1}),
        (json.dumps("{a text"), "{a text"),
        ('"text"', "text"),
    ],
)
def test_an_attribute_says_the_same_structured_as_text_and_encoded_twice(value: Any, meaning: Any):
    assert otel_genai.structured(value) == meaning


@pytest.mark.parametrize("value", ["", "text", '[{"role":', b"\xff"])
def test_text_that_is_no_json_is_refused(value: Any):
    with pytest.raises(ValueError, match=r".+"):
        otel_genai.structured(value)


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        ('{"a": 1}', {"a": 1}),
        (json.dumps('{"a": 1}'), {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ("42", "42"),
        ("42 flights", "42 flights"),
        ('"quoted" text', '"quoted" text'),
        ('"quoted"', '"quoted"'),
        ('{"a":1,"a":2}', '{"a":1,"a":2}'),
        ("", ""),
        (5, 5),
    ],
)
def test_a_tool_is_given_what_the_text_spells_or_the_text(value: Any, meaning: Any):
    assert otel_genai.tool_value(value) == meaning


def test_nulls_of_a_tool_definition_go_and_those_of_its_schema_stay():
    native = {"type": "function", "name": "f", "description": None, "parameters": {"default": None}}
    assert otel_genai.tool_definitions([native, "f"]) == [
        {"type": "function", "name": "f", "parameters": {"default": None}},
        "f",
    ]

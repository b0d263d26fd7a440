"""Generations as Langfuse's SDKs and its server keep them: each framework's form of messages becomes parts."""

import json
from typing import Any

import pytest

from playhead.lift import Lifted, lift
from playhead.model import names
from tests.unit.lift.spans import a_span, messages, value

OBSERVATION = "langfuse.observation."
ASKED = {"role": "user", "content": "Rain?"}
ARGUMENTS = {"city": "Oslo"}
AS_TEXT = json.dumps(ARGUMENTS)
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": AS_TEXT}}

# Our parts of the same conversation in every form.
PROMPT = ("user", [{"type": "text", "content": "Rain?"}])
ASKS = ("assistant", [{"type": "tool_call", "id": "c1", "name": "look", "arguments": ARGUMENTS}])
ANSWER = [{"type": "text", "content": "It rains."}]
SAID = ("assistant", ANSWER)


def a_generation(**fields: Any) -> Lifted:
    attributes = {
        OBSERVATION + key: item if isinstance(item, str) else json.dumps(item)
        for key, item in {"type": "generation", "model.name": "m", **fields}.items()
    }
    return lift(a_span(attributes, scope="langfuse-sdk"))


def parts(lifted: Lifted, name: str) -> list[tuple[str, Any]]:
    return [(message["role"], message["parts"]) for message in messages(lifted, lifted.span.attributes[name])]


WITH_TEXT = {"role": "assistant", "content": "It rains."}
AI_SDK = [{"toolCallId": "c1", "toolName": "look", "input": AS_TEXT}]
OPEN_INFERENCE = {"tool_call": {"id": "c1", "function": {"name": "look", "arguments": AS_TEXT}}}


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ({**WITH_TEXT, "tool_calls": json.dumps(AI_SDK)}, [*ANSWER, *ASKS[1]]),
        ({"role": "assistant", "content": "", "tool_calls": json.dumps(AI_SDK)}, ASKS[1]),
        ({"role": "assistant", "content": "", "tool_calls": AI_SDK}, ASKS[1]),
        ([{"role": "assistant", "tool_calls": [{"id": "c1", "name": "look", "arguments": AS_TEXT}]}], ASKS[1]),
        ([{"message": {**WITH_TEXT, "tool_calls": [OPEN_INFERENCE]}}], [*ANSWER, *ASKS[1]]),
        ({"message": {"role": "assistant", "tool_calls": [OPEN_INFERENCE]}}, ASKS[1]),
        ({"message": json.dumps([{"text": "It rains."}]), "finish_reason": "end_turn"}, ANSWER),
        ({"message": "It rains.", "finish_reason": "end_turn"}, ANSWER),
        ([{"index": 0, "message": WITH_TEXT, "event.name": "gen_ai.choice"}], ANSWER),
        ([{"content": {"parts": [{"text": "It rains."}], "role": "model"}, "finishReason": "STOP"}], ANSWER),
        ({"output": {"message": {"role": "assistant", "content": [{"text": "It rains."}]}}, "stopReason": "x"}, ANSWER),
        ({"role": "ai", "content": "It rains."}, ANSWER),
    ],
    ids=[
        "AI SDK, text and calls", "AI SDK, empty text", "AI SDK, list of calls", "OpenLLMetry", "OpenInference",
        "OpenInference, one", "Strands", "Strands, text", "pydantic-ai, list", "Gemini, candidates", "Bedrock", "ai",
    ],
)  # fmt: skip
def test_an_answer_is_a_message_with_its_parts(output: Any, said: list[Any]):
    assert parts(a_generation(input=[ASKED], output=output), names.OUTPUT_MESSAGES_REF) == [("assistant", said)]


@pytest.mark.parametrize("value", [{"message": "It rains.", "city": "Oslo"}, {"message": "Rate limit reached"}])
def test_an_object_with_a_message_is_no_answer_of_strands(value: dict[str, str]):
    odd = json.dumps(value)
    assert parts(a_generation(input=[ASKED], output=odd), names.OUTPUT_MESSAGES_REF) == [
        ("assistant", [{"type": "text", "content": odd}])
    ]


def result(**ids: str) -> tuple[str, list[Any]]:
    return "tool", [{"type": "tool_call_response", **ids, "response": "Rain."}]


OF_LANGCHAIN = {"role": "assistant", "content": "", "tool_calls": [{"name": "look", "args": ARGUMENTS, "id": "c1"}]}
USE = {"toolUse": {"toolUseId": "c1", "name": "look", "input": ARGUMENTS}}
RESULT = {"toolResult": {"toolUseId": "c1", "content": [{"text": "Rain."}]}}
BEDROCK: list[tuple[str, Any]] = [("user", [{"text": "Rain?"}]), ("assistant", [USE]), ("user", [RESULT])]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (
            [ASKED, OF_LANGCHAIN, {"role": "look", "content": "Rain.", "additional_kwargs": {}}],
            [PROMPT, ASKS, result()],
        ),
        ([ASKED, OF_LANGCHAIN, {"content": "Rain.", "additional_kwargs": {}}], [PROMPT, ASKS, result()]),
        ([{"role": "human", "content": "Rain?"}, {"role": "ai", "content": "It rains."}], [PROMPT, SAID]),
        (["Rain?"], [PROMPT]),
        (
            [
                {"message": ASKED},
                {"message": {"role": "assistant", "tool_calls": [OPEN_INFERENCE]}},
                {"message": {"role": "tool", "content": "Rain.", "tool_call_id": "c1"}},
                {"message": {"role": "user", "contents": [{"message_content": {"type": "text", "text": "Rain?"}}]}},
            ],
            [PROMPT, ASKS, result(id="c1"), PROMPT],
        ),
        ({"messages": [{"role": role, "content": blocks} for role, blocks in BEDROCK], "system": []}, None),
        ([{"role": role, "content": json.dumps(blocks)} for role, blocks in BEDROCK], None),
        ({"contents": [{"role": "user", "parts": ["Rain?"]}]}, [PROMPT]),
    ],
    ids=[
        "LangChain.js, a tool's name as role", "LangChain.js, no role", "human, ai", "a list of one text",
        "OpenInference", "Bedrock", "Strands", "Gemini, texts as parts",
    ],
)  # fmt: skip
def test_a_request_is_a_list_of_messages_with_their_parts(asked: Any, expected: list[Any] | None):
    lifted = a_generation(input=asked, output="It rains.")
    assert parts(lifted, names.INPUT_MESSAGES_REF) == (expected or [PROMPT, ASKS, result(id="c1")])


def test_a_message_that_only_looks_like_bedrocks_blocks_stays_as_it_is():
    text = json.dumps([{"text": "Rain?"}])
    lifted = a_generation(input=[{"role": "system", "content": "Read JSON."}, {"role": "user", "content": text}])
    assert parts(lifted, names.INPUT_MESSAGES_REF)[1] == ("user", [{"type": "text", "content": text}])


def test_a_message_of_another_role_with_arguments_of_langchain_keeps_its_role():
    critic = {"role": "critic", "content": "No.", "additional_kwargs": {"mood": "bad"}}
    assert parts(a_generation(input=[ASKED, critic]), names.INPUT_MESSAGES_REF)[1][0] == "critic"


@pytest.mark.parametrize(
    "definition",
    [
        {"type": "function", "function": {"name": "look"}},
        {"name": "look", "description": "Looks.", "input_schema": {"type": "object"}},
        {"type": "function", "name": "look", "parameters": {}},
        {"toolSpec": {"name": "look", "inputSchema": {"json": {}}}},
        {"function_declarations": [{"name": "look"}]},
    ],
    ids=["Chat Completions", "Anthropic", "flat", "Bedrock", "Gemini"],
)
def test_a_definition_that_is_sent_as_a_message_is_no_message(definition: dict[str, Any]):
    lifted = a_generation(input=[ASKED, {"role": "tool", "content": definition}], output="It rains.")
    assert parts(lifted, names.INPUT_MESSAGES_REF) == [PROMPT]
    assert value(lifted, lifted.span.attributes[names.TOOL_DEFINITIONS_REF]) == [definition]


def test_a_result_that_says_which_call_it_answers_is_no_definition():
    native = {"role": "tool", "tool_call_id": "c1", "content": {"name": "Oslo", "parameters": {"rain": True}}}
    lifted = a_generation(input=[ASKED, {"role": "assistant", "tool_calls": [CALL]}, native])
    assert [role for role, _ in parts(lifted, names.INPUT_MESSAGES_REF)] == ["user", "assistant", "tool"]
    assert names.TOOL_DEFINITIONS_REF not in lifted.span.attributes

"""Generations of Langfuse's exports: what Langfuse shows as messages is messages here, whoever sent it.

Langfuse parses JSON in the values that it stores, so arguments of tool calls are objects in its exports.  The forms are
those of the integrations that Langfuse's documentation names; the values are made up.
"""

import json
from typing import Any

import pytest

from playhead.archive import langfuse
from playhead.lift import Lifted, lift
from playhead.model import names
from playhead.model.span import Span
from tests.unit.lift.spans import messages, value

CALLS = [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": {"city": "Oslo"}}}]
DEFINITION = {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {}}}
# Messages in our form.
SYSTEM = {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]}
ASKED = {"role": "user", "parts": [{"type": "text", "content": "Rain?"}]}
CALLED = {
    "role": "assistant",
    "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"city": "Oslo"}}],
}
FOUND = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "Rain."}]}
ANSWERED = {"role": "assistant", "parts": [{"type": "text", "content": "It rains."}]}
# Gemini finds a call by the tool's name.
GEMINI_CALLED = {"role": "assistant", "parts": [{"type": "tool_call", "name": "look", "arguments": {"city": "Oslo"}}]}
GEMINI_FOUND = {"role": "tool", "parts": [{"type": "tool_call_response", "response": {"result": "Rain."}}]}


def imported(**fields: Any) -> Lifted:
    """A generation of an export, lifted."""
    row = {
        "id": "b" * 16,
        "traceId": "a" * 32,
        "type": "GENERATION",
        "name": "call",
        "level": "DEFAULT",
        "startTime": "2026-01-02T03:04:05.000Z",
        "endTime": "2026-01-02T03:04:06.000Z",
        "model": "m",
        "parentObservationId": None,
        **fields,
    }
    [span] = langfuse.spans_of_row(row)
    assert isinstance(span, Span)
    return lift(span)


def read(lifted: Lifted, name: str) -> list[Any]:
    return [*messages(lifted, lifted.span.attributes[name])] if name in lifted.span.attributes else []


LANGCHAIN = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Rain?"},
    {"role": "assistant", "content": "", "additional_kwargs": {"tool_calls": CALLS, "refusal": None}},
    {"role": "tool", "content": "Rain.", "tool_call_id": "c1"},
]
NEWER = [
    *LANGCHAIN[:2],
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"name": "look", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}],
        "additional_kwargs": {"tool_calls": CALLS, "refusal": None},
    },
    LANGCHAIN[3],
]
OF_ANTHROPIC = [
    *LANGCHAIN[:2],
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {"city": "Oslo"}}],
        "tool_calls": [{"name": "look", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}],
    },
    LANGCHAIN[3],
]
OLDER = [
    {"type": "system", "content": "Be brief.", "additional_kwargs": {}},
    {"type": "human", "content": "Rain?", "additional_kwargs": {}},
    {"type": "ai", "content": "", "additional_kwargs": {"tool_calls": CALLS}, "tool_calls": []},
    {"type": "tool", "content": "Rain.", "tool_call_id": "c1", "name": "look"},
]
PYDANTIC = [
    {
        "content": "Be brief.",
        "role": "system",
        "gen_ai.system": "openai",
        "gen_ai.message.index": 0,
        "event.name": "gen_ai.system.message",
    },
    {
        "content": "Rain?",
        "role": "user",
        "gen_ai.system": "openai",
        "gen_ai.message.index": 0,
        "event.name": "gen_ai.user.message",
    },
    {"role": "assistant", "tool_calls": CALLS, "gen_ai.message.index": 1, "event.name": "gen_ai.assistant.message"},
    {
        "content": "Rain.",
        "role": "tool",
        "tool_call_id": "c1",
        "gen_ai.message.index": 2,
        "event.name": "gen_ai.tool.message",
    },
]
SEMANTIC_KERNEL = [
    {
        "role": "system",
        "gen_ai.system": "openai",
        "gen_ai.event.content": json.dumps({"role": "system", "content": "Be brief."}),
    },
    {"role": "user", "gen_ai.event.content": json.dumps({"role": "User", "content": "Rain?"})},
    {"role": "assistant", "gen_ai.event.content": json.dumps({"role": "Assistant", "tool_calls": CALLS})},
    {"role": "tool", "gen_ai.event.content": json.dumps({"role": "tool", "content": "Rain.", "tool_call_id": "c1"})},
]
VERCEL = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Rain?"}]},
    {
        "role": "assistant",
        "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": {"city": "Oslo"}}],
    },
    {
        "role": "tool",
        "content": [
            {
                "type": "tool-result",
                "toolCallId": "c1",
                "toolName": "look",
                "output": {"type": "text", "value": "Rain."},
            }
        ],
    },
]


@pytest.mark.parametrize(
    "raw",
    [
        LANGCHAIN,
        {"messages": LANGCHAIN},
        NEWER,
        OF_ANTHROPIC,
        OLDER,
        PYDANTIC,
        SEMANTIC_KERNEL,
        VERCEL,
        {"messages": VERCEL},
    ],
    ids=[
        "LangChain",
        "in an object",
        "newer",
        "Anthropic's blocks",
        "older",
        "pydantic-ai",
        "Semantic Kernel",
        "AI SDK",
        "AI SDK 2",
    ],
)
def test_the_messages_of_a_request_are_read_in_each_form(raw: Any):
    assert read(imported(input=raw), names.INPUT_MESSAGES_REF) == [SYSTEM, ASKED, CALLED, FOUND]


@pytest.mark.parametrize(
    "raw", [[*LANGCHAIN, {"role": "tool", "content": DEFINITION}], {"messages": LANGCHAIN, "tools": [DEFINITION]}]
)
def test_definitions_of_tools_are_no_messages(raw: Any):
    lifted = imported(input=raw)
    assert read(lifted, names.INPUT_MESSAGES_REF) == [SYSTEM, ASKED, CALLED, FOUND]
    assert value(lifted, lifted.span.attributes[names.TOOL_DEFINITIONS_REF]) == [DEFINITION]


def test_a_tools_result_that_looks_like_a_definition_stays_a_message():
    result = {"role": "tool", "content": DEFINITION, "tool_call_id": "c1"}
    [message] = read(imported(input=[result]), names.INPUT_MESSAGES_REF)
    assert message["parts"][0]["response"] == DEFINITION


GEMINI = [
    {"role": "user", "parts": [{"text": "Rain?"}]},
    {"role": "model", "parts": [{"function_call": {"name": "look", "args": {"city": "Oslo"}}}]},
    {"role": "user", "parts": [{"function_response": {"name": "look", "response": {"result": "Rain."}}}]},
]


@pytest.mark.parametrize(
    ("raw", "asked"),
    [
        ({"model": "g", "contents": "Rain?"}, [ASKED]),
        ({"model": "g", "contents": ["Rain?"]}, [ASKED]),
        ({"model": "g", "contents": [{"text": "Rain?"}]}, [ASKED]),
        ({"model": "g", "contents": GEMINI[0]}, [ASKED]),
        ({"model": "g", "contents": GEMINI}, [ASKED, GEMINI_CALLED, GEMINI_FOUND]),
    ],
    ids=["a text", "a list of texts", "a part", "a content", "contents"],
)
def test_contents_of_gemini_are_messages(raw: Any, asked: Any):
    found = read(imported(input=raw), names.INPUT_MESSAGES_REF)
    assert [_without_names(message) for message in found] == asked


def _without_names(message: Any) -> Any:
    parts = [
        {key: item for key, item in part.items() if key not in ("name", "extra") or part["type"] == "tool_call"}
        for part in message["parts"]
    ]
    return {**message, "parts": parts}


@pytest.mark.parametrize("instruction", ["Be brief.", {"parts": [{"text": "Be brief."}]}], ids=["a text", "a content"])
@pytest.mark.parametrize("apart", [True, False])
def test_instructions_and_tools_of_gemini_stand_in_its_config(instruction: Any, apart: bool):
    tools = [{"function_declarations": [{"name": "look"}]}]
    config = {"system_instruction": instruction, "tools": tools, "temperature": 0.5}
    lifted = imported(input={"model": "g", "contents": GEMINI, **({"config": config} if apart else config)})
    attributes = lifted.span.attributes
    said = value(lifted, attributes[names.SYSTEM_INSTRUCTIONS_REF])
    assert said in ("Be brief.", [{"type": "text", "content": "Be brief."}])
    assert value(lifted, attributes[names.TOOL_DEFINITIONS_REF]) == tools
    assert value(lifted, attributes[names.REQUEST_REF])["temperature"] == 0.5


CANDIDATE = {"content": {"parts": [{"text": "It rains."}], "role": "model"}, "finish_reason": "STOP", "index": 0}


@pytest.mark.parametrize(
    ("raw", "reasons"),
    [
        ({"candidates": [CANDIDATE], "model_version": "g-1", "usage_metadata": {"total_token_count": 9}}, ["stop"]),
        ({"content": CANDIDATE["content"], "finish_reason": "STOP", "usage_metadata": {}}, ["stop"]),
        ({"content": {"parts": [{"text": "It rains."}]}}, None),
        (
            {
                "index": 0,
                "message": {"role": "assistant", "content": "It rains."},
                "gen_ai.system": "openai",
                "event.name": "gen_ai.choice",
                "finish_reason": "stop",
            },
            ["stop"],
        ),
        (
            {
                "gen_ai.event.content": json.dumps(
                    {"index": 0, "message": {"role": "Assistant", "content": "It rains."}, "finish_reason": "Stop"}
                )
            },
            ["stop"],
        ),
        ({"role": "assistant", "content": "It rains.", "additional_kwargs": {"refusal": None}}, None),
        ("It rains.", None),
    ],
    ids=["Gemini", "ADK", "ADK without a reason", "pydantic-ai", "Semantic Kernel", "LangChain", "a text"],
)
def test_the_message_of_an_answer_is_read_in_each_form(raw: Any, reasons: Any):
    lifted = imported(output=raw)
    assert read(lifted, names.OUTPUT_MESSAGES_REF) == [ANSWERED]
    assert lifted.span.attributes.get(names.FINISH_REASONS) == reasons


@pytest.mark.parametrize(
    "raw",
    [
        [{"toolCallId": "c1", "toolName": "look", "input": {"city": "Oslo"}}],
        [{"toolCallType": "function", "toolCallId": "c1", "toolName": "look", "args": {"city": "Oslo"}}],
        {"role": "assistant", "content": "", "additional_kwargs": {"tool_calls": CALLS, "refusal": None}},
        {"index": 0, "message": {"role": "assistant", "tool_calls": CALLS}, "gen_ai.system": "openai"},
        {"gen_ai.event.content": json.dumps({"index": 0, "message": {"role": "Assistant", "tool_calls": CALLS}})},
    ],
    ids=["AI SDK", "AI SDK 4", "LangChain", "pydantic-ai", "Semantic Kernel"],
)
def test_the_tool_calls_of_an_answer_are_read_in_each_form(raw: Any):
    assert read(imported(output=raw), names.OUTPUT_MESSAGES_REF) == [CALLED]


def test_a_tool_call_that_koog_writes_as_a_tools_message_is_the_models():
    [message] = read(imported(input=[{"role": "tool", "content": CALLS}]), names.INPUT_MESSAGES_REF)
    assert message == CALLED


def test_what_langchain_adds_otherwise_is_kept():
    more = {"tool_calls": CALLS, "citations": [1], "name": "clerk"}
    [message] = read(
        imported(output={"role": "assistant", "content": "", "name": "clerk", "additional_kwargs": more}),
        names.OUTPUT_MESSAGES_REF,
    )
    assert message == {**CALLED, "name": "clerk", "extra": {"additional_kwargs": {"citations": [1]}}}


@pytest.mark.parametrize(
    ("fields", "counts"),
    [
        ({"usageDetails": {"input": 40, "input_cached_tokens": 60, "output": 5, "total": 105}}, (100, 5)),
        ({"usage_details": '{"input": 40, "input_cache_read": 60, "output": 5}'}, (100, 5)),
        ({"usageDetails": {}, "inputUsage": 100, "outputUsage": 5, "totalUsage": 105}, (100, 5)),
        ({"usageDetails": {}, "inputUsage": 0, "outputUsage": 0, "totalUsage": 0}, (None, None)),
        ({"usage": {"promptTokens": 100, "completionTokens": 5}}, (100, 5)),
    ],
)
def test_tokens_are_counted_as_langfuse_does(fields: dict[str, Any], counts: tuple[Any, Any]):
    attributes = imported(**fields).span.attributes
    assert (attributes.get(names.INPUT_TOKENS), attributes.get(names.OUTPUT_TOKENS)) == counts

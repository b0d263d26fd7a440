"""Generations as Langfuse's SDK for JavaScript sends them, with `observeOpenAI`, and usage in the words of its SDKs."""

import json
from typing import Any

import pytest

from playhead.lift import Lifted, lift
from playhead.model import names
from playhead.model.span import STATUS_ERROR, STATUS_OK, STATUS_UNSET
from playhead.projection.attributes import failure_of, has_failed
from playhead.projection.counted_run import run_calls
from tests.unit.lift.spans import a_span, messages, value

OBSERVATION = "langfuse.observation."


def a_generation(**fields: Any) -> Lifted:
    """A lifted generation. Values other than texts are sent as JSON."""
    attributes = {
        f"{OBSERVATION}{key.replace('__', '.')}": item if isinstance(item, str) else json.dumps(item)
        for key, item in {"type": "generation", "model__name": "gpt-5-mini", **fields}.items()
    }
    return lift(a_span(attributes, scope="langfuse-sdk"))


def texts(lifted: Lifted, name: str) -> list[tuple[str, Any]]:
    return [
        (message["role"], [part.get("content", part.get("arguments")) for part in message["parts"]])
        for message in messages(lifted, lifted.span.attributes[name])
    ]


# --- usage -----------------------------------------------------------------------------------------------------------

COUNTS = (
    names.INPUT_TOKENS,
    names.OUTPUT_TOKENS,
    names.CACHE_READ_TOKENS,
    names.CACHE_WRITE_TOKENS,
    names.REASONING_TOKENS,
)


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        # Chat Completions and Responses by observeOpenAI: each token once.
        (
            {
                "input": 0,
                "output": 4,
                "total": 478,
                "input_cached_tokens": 462,
                "input_audio_tokens": 0,
                "output_reasoning_tokens": 12,
                "output_audio_tokens": 0,
            },
            (462, 16, 462, None, 12),
        ),
        (
            {"input": 90, "output": 8, "total": 98, "input_cached_tokens": 0, "output_reasoning_tokens": 0},
            (90, 8, 0, None, 0),
        ),
        (
            {"input": 10, "output": 5, "total": 27, "input_cached_tokens": 7, "input_cache_write_tokens": 5},
            (22, 5, 7, 5, None),
        ),
        # Whole counts beside their parts, as `total` tells.
        (
            {"input": 100, "output": 20, "total": 120, "input_cached_tokens": 60, "output_reasoning_tokens": 5},
            (100, 20, 60, None, 5),
        ),
        # LangChain's callbacks: counts by priority repeat others.
        (
            {"input": 3, "output": 2, "total": 25, "input_cache_read": 20, "input_priority_cache_read": 20},
            (23, 2, 20, None, None),
        ),
        # Anthropic's usage, by hand, and as Langfuse's server splits it.
        (
            {"input": 2, "output": 7, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 8},
            (50, 7, 40, 8, None),
        ),
        ({"input_tokens": 2, "output_tokens": 7, "cache_read_input_tokens": 40}, (42, 7, 40, None, None)),
        (
            {
                "input": 2,
                "output": 7,
                "total": 57,
                "input_cached_tokens": 40,
                "input_cache_creation": 0,
                "input_cache_creation_1h": 8,
            },
            (50, 7, 40, 8, None),
        ),
        # OpenAI's own words.
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 3,
                "total_tokens": 12,
                "prompt_tokens_details": {"cached_tokens": 4},
            },
            (9, 3, 4, None, None),
        ),
        (
            {
                "input_tokens": 9,
                "output_tokens": 3,
                "input_tokens_details": {"cached_tokens": 4},
                "output_tokens_details": {"reasoning_tokens": 1},
            },
            (9, 3, 4, None, 1),
        ),
        # What Langfuse made of OpenInference's counts.
        (
            {"input": 6, "output": 2055, "total": 2061, "completion_details.reasoning": 1104},
            (6, 2055, None, None, 1104),
        ),
        ({"input": -1, "output": True}, (None, None, None, None, None)),
    ],
)
def test_counts_are_whole_however_the_sender_splits_them(usage: Any, counts: tuple[int | None, ...]):
    attributes = a_generation(usage_details=usage).span.attributes
    assert tuple(attributes.get(name) for name in COUNTS) == counts


# --- failures --------------------------------------------------------------------------------------------------------


def test_an_observation_of_level_error_has_failed_whatever_its_span_says():
    lifted = a_generation(level="ERROR", status_message="429 Rate limit", input={"messages": []})
    assert lifted.span.status == STATUS_ERROR
    assert has_failed(lifted.span)
    assert failure_of(lifted.span)[1] == "429 Rate limit"


@pytest.mark.parametrize(
    ("level", "status", "expected"),
    [("ERROR", STATUS_OK, STATUS_OK), ("WARNING", STATUS_UNSET, STATUS_UNSET), ("DEFAULT", STATUS_UNSET, STATUS_UNSET)],
)
def test_a_status_that_was_set_stays(level: str, status: int, expected: int):
    assert lift(a_span({OBSERVATION + "level": level}, status=status)).span.status == expected


# --- messages --------------------------------------------------------------------------------------------------------

CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": '{"city":"Oslo"}'}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "It rains.", "annotations": []}],
}


def test_a_response_of_openai_has_its_prompt_its_instructions_and_its_answer():
    lifted = a_generation(
        input="What is the weather?",
        output="It rains.",
        metadata__instructions="Be brief.",
        metadata__tools=[{"type": "function", "name": "look", "parameters": {}}],
        metadata__reasoning={"effort": "low"},
    )
    attributes = lifted.span.attributes
    assert texts(lifted, names.INPUT_MESSAGES_REF) == [("user", ["What is the weather?"])]
    assert texts(lifted, names.OUTPUT_MESSAGES_REF) == [("assistant", ["It rains."])]
    assert value(lifted, attributes[names.SYSTEM_INSTRUCTIONS_REF]) == "Be brief."
    assert [tool["name"] for tool in value(lifted, attributes[names.TOOL_DEFINITIONS_REF])] == ["look"]
    assert value(lifted, attributes[OBSERVATION + "metadata.reasoning_ref"]) == {"effort": "low"}


def test_instructions_that_stand_before_the_messages_are_not_said_twice():
    asked = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello!"}]
    lifted = a_generation(input=asked, output="Hi.", metadata__instructions="Be brief.")
    assert texts(lifted, names.INPUT_MESSAGES_REF) == [("system", ["Be brief."]), ("user", ["Hello!"])]
    assert names.SYSTEM_INSTRUCTIONS_REF not in lifted.span.attributes


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (CALL, [("assistant", [{"city": "Oslo"}])]),
        ([CALL, SAID], [("assistant", [{"city": "Oslo"}]), ("assistant", ["It rains."])]),
        ('{"city": "Oslo"}', [("assistant", ['{"city": "Oslo"}'])]),
        ("[1, 2]", [("assistant", ["[1, 2]"])]),
        ("{not JSON", None),
    ],
)
def test_an_answer_is_a_message_in_each_form(output: Any, said: Any):
    lifted = a_generation(input="Hello!", output=output)
    if said is None:
        assert value(lifted, lifted.span.attributes[names.OUTPUT_REF]) == output
    else:
        assert texts(lifted, names.OUTPUT_MESSAGES_REF) == said


def test_embeddings_of_openai_are_no_model_calls():
    lifted = a_generation(model__name="text-embedding-3-small", input=["rain", "snow"], output="")
    assert lifted.span.attributes[names.KIND] == "embedding"
    assert value(lifted, lifted.span.attributes[names.INPUT_REF]) == ["rain", "snow"]
    answered = a_generation(model__name="embed-and-chat", input="Hello!", output="Hi.")
    assert answered.span.attributes[names.KIND] == "llm"


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"input": ["rain", "snow"], "output": ""}, "embedding"),
        ({"input": ["rain"], "output": "It rains."}, "llm"),
        ({"input": ["rain"]}, "llm"),  # it may have failed
        ({"input": [], "output": ""}, "llm"),
        ({"input": [{"role": "user", "content": "rain"}], "output": ""}, "llm"),
        ({"input": "[", "output": ""}, "llm"),
    ],
)
def test_embeddings_of_a_model_that_does_not_say_so_have_texts_and_no_answer(fields: dict[str, Any], kind: str):
    assert a_generation(model__name="voyage-3", **fields).span.attributes[names.KIND] == kind


@pytest.mark.parametrize("fields", [{}, {"model__name": ""}], ids=["a model", "a name only"])
def test_a_generation_without_messages_is_a_model_call(fields: dict[str, Any]):
    span = a_generation(**fields).span
    assert [node.kind for node in run_calls(span.trace_id, [span], []).tree.nodes] == ["llm"]

"""What kind of call a span is, and of which model, where its sender says it in a way of its own."""

import json
from typing import Any

import pytest

from playhead.lift import lift
from playhead.model import names
from playhead.model.span import Span
from playhead.projection.attributes import usage_of
from playhead.projection.counted_run import run_calls
from tests.unit.lift.spans import a_span, attributes_of, messages, value

TRACE = "a" * 32
ASKED = {"role": "user", "parts": [{"type": "text", "content": "Rain?"}]}
SAID = {"role": "assistant", "parts": [{"type": "text", "content": "It rains."}]}


def counted(*spans: Span) -> list[str | None]:
    """The kinds under which the spans count, in the order of their start."""
    return [node.kind for node in run_calls(TRACE, [lift(span).span for span in spans], []).tree.nodes]


def span(number: int, parent: int | None, attributes: dict[str, Any]) -> Span:
    above = None if parent is None else f"{parent:016x}"
    return Span(TRACE, f"{number:016x}", above, "call", number, 100 - number, attributes, scope="theirs")


# --- model calls that name a model and nothing else -------------------------------------------------------------------


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.request.model": "m"},
        {"gen_ai.response.model": "m"},
        {"gen_ai.operation.name": "chat"},
        {"gen_ai.operation.name": "completion", "gen_ai.request.model": "m"},
        {"gen_ai.operation.name": "generate"},
        {"langfuse.observation.type": "generation"},
        {"langfuse.observation.type": "span", "langfuse.observation.model.name": "m"},
        {"langfuse.observation.type": "span", "langfuse.observation.usage_details": '{"input": 1}'},
        {"openinference.span.kind": "LLM"},
    ],
    ids=", ".join,
)
def test_a_model_call_may_say_no_more_than_its_model_or_its_name(attributes: dict[str, Any]):
    assert counted(a_span(attributes)) == ["llm"]


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.agent.name": "clerk", "gen_ai.request.model": "m"},
        {"agent_name": "clerk", "model_name": "m"},
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": "m"},
        {"gen_ai.tool.name": "look", "gen_ai.request.model": "m"},
        {"langfuse.observation.type": "span"},
        {"gen_ai.request.model": ""},
        {"http.method": "POST"},
    ],
    ids=", ".join,
)
def test_a_model_does_not_make_a_model_call_of_everything(attributes: dict[str, Any]):
    assert attributes_of(attributes).get(names.KIND) != "llm"


def test_a_span_that_names_the_model_of_the_call_around_it_is_no_second_call():
    outer = span(
        1, None, {names.OPERATION: "chat", names.REQUEST_MODEL: "m", names.INPUT_TOKENS: 3, names.OUTPUT_TOKENS: 1}
    )
    assert counted(outer, span(2, 1, {names.REQUEST_MODEL: "m"})) == ["llm", None]


def test_several_calls_that_name_a_model_count_each():
    outer = span(1, None, {"langfuse.observation.type": "generation", "langfuse.observation.input": "Rain?"})
    assert counted(outer, *(span(number, 1, {names.REQUEST_MODEL: "m"}) for number in (2, 3)))[1:] == ["llm", "llm"]


# --- what others say of a request -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        {"openinference.span.kind": "LLM", "input.value": json.dumps({"model": "m", "contents": "Rain?"})},
        {"langfuse.observation.type": "generation", "langfuse.observation.model.parameters": '{"temperature": 0}'},
        {"model_request_parameters": '{"allow_text_output": true}', "model_name": "m"},
    ],
    ids=["OpenInference", "Langfuse", "pydantic-ai"],
)
def test_settings_that_others_tell_are_no_body_that_was_sent(said: dict[str, Any]):
    lifted = lift(a_span({**said, "llm.token_count.prompt": 3}))
    assert names.REQUEST_REF in lifted.span.attributes
    assert value(lifted, lifted.span.attributes[names.EXACT_REF]) == {"sent": False}
    assert lift(lifted.span).span == lifted.span


def test_a_request_with_a_ref_of_its_own_is_left_alone():
    ref = "sha256:" + "ab" * 32
    attributes = attributes_of({names.REQUEST_REF: ref, names.OPERATION: "chat", names.REQUEST_MODEL: "m"})
    assert attributes[names.REQUEST_REF] == ref
    assert names.EXACT_REF not in attributes


# --- the whole prompt and answer in one attribute ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "prompt",
    [
        "Rain?",
        json.dumps([{"role": "user", "content": "Rain?"}]),
        json.dumps({"messages": [{"role": "user", "content": "Rain?"}]}),
    ],
)
@pytest.mark.parametrize(
    "answer",
    [
        "It rains.",
        json.dumps([{"role": "assistant", "content": "It rains."}]),
        json.dumps({"choices": [{"message": {"role": "assistant", "content": "It rains."}}]}),
    ],
)
def test_a_whole_prompt_and_answer_are_messages(prompt: str, answer: str):
    lifted = lift(a_span({names.REQUEST_MODEL: "m", "gen_ai.prompt": prompt, "gen_ai.completion": answer}))
    attributes = lifted.span.attributes
    assert not {"gen_ai.prompt", "gen_ai.completion"} & attributes.keys()
    assert messages(lifted, attributes[names.INPUT_MESSAGES_REF]) == [ASKED]
    assert messages(lifted, attributes[names.OUTPUT_MESSAGES_REF]) == [SAID]


def test_a_prompt_that_is_no_message_is_content_all_the_same():
    lifted = lift(a_span({names.OPERATION: "chat", "gen_ai.prompt": '{"city": "Oslo"}', "gen_ai.completion": '{"x'}))
    attributes = lifted.span.attributes
    assert value(lifted, attributes[names.INPUT_REF]) == {"city": "Oslo"}
    assert value(lifted, attributes[names.OUTPUT_REF]) == '{"x'
    assert not {"gen_ai.prompt", "gen_ai.completion"} & attributes.keys()


def test_the_prompt_of_an_agent_of_pydantic_ai_is_its_input():
    lifted = lift(a_span({"agent_name": "clerk", "model_name": "m", "prompt": "Rain?"}, scope="pydantic-ai"))
    assert value(lifted, lifted.span.attributes[names.INPUT_REF]) == "Rain?"
    assert "prompt" not in lifted.span.attributes
    assert attributes_of({"prompt": "short"})["prompt"] == "short"  # somebody else's


# --- OpenInference's spans of single clients --------------------------------------------------------------------------


def test_a_stream_of_groq_has_its_model():
    asked = {"messages": [{"role": "user", "content": "Rain?"}], "model": "llama-4", "stream": True}
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.provider": "groq",
        "llm.invocation_parameters": json.dumps({"model": "llama-4", "stream": True}),
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "Rain?",
        "input.value": json.dumps(asked),
        "output.value": "<groq.Stream object at 0x7f401f30c1d0>",
    }
    assert attributes_of(attributes)[names.REQUEST_MODEL] == "llama-4"
    assert attributes_of({**attributes, "llm.model_name": "llama-4-70b"})[names.REQUEST_MODEL] == "llama-4-70b"


def test_tools_that_mistrals_client_was_not_given_are_no_definitions():
    asked = {"model": "small", "messages": [{"role": "user", "content": "Rain?"}], "temperature": 0.5, "tools": ""}
    attributes = {"openinference.span.kind": "LLM", "input.value": json.dumps(asked), "llm.model_name": "small"}
    assert names.TOOL_DEFINITIONS_REF not in attributes_of({**attributes, "llm.token_count.prompt": 3})
    tools = [{"type": "function", "function": {"name": "look"}}]
    lifted = lift(
        a_span({**attributes, "input.value": json.dumps({**asked, "tools": tools}), "llm.token_count.prompt": 3})
    )
    assert value(lifted, lifted.span.attributes[names.TOOL_DEFINITIONS_REF]) == tools


# --- the AI SDK -------------------------------------------------------------------------------------------------------


def test_an_embedding_of_the_ai_sdk_has_its_tokens_and_its_tags():
    attributes = attributes_of(
        {
            "ai.operationId": "ai.embed.doEmbed",
            "ai.model.id": "embed-1",
            "ai.telemetry.metadata.tags": ["shop", "test"],
            "ai.telemetry.metadata.sessionId": "s-1",
            "ai.usage.tokens": 10,
            "ai.values": ['"sunny day"'],
            "ai.embeddings": ["[0.1,0.2]"],
        }
    )
    assert (attributes[names.KIND], attributes[names.INPUT_TOKENS]) == ("embedding", 10)
    assert usage_of(attributes).input_tokens == 10
    assert (attributes[names.RUN_TAGS], attributes[names.CONVERSATION]) == (["shop", "test"], "s-1")

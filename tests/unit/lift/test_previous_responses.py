"""Model calls that continue a response which the server keeps: their spans have the new messages alone."""

import json
from typing import Any

import pytest

from playhead.lift import lift, lift_log
from playhead.model import names
from playhead.model.span import Span
from playhead.model.thread import extend
from playhead.projection.inputs import RunInput
from playhead.projection.projector import ProjectSettings, project
from tests.unit.lift.spans import a_log, a_span, messages, value

RESPONSE = "resp_0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f6071"
ASKED = {"role": "user", "parts": [{"type": "text", "content": "And tomorrow?"}]}
ELSEWHERE = {"role": "system", "parts": [{"type": "playhead.elsewhere", "previous_response_id": RESPONSE}]}
CALL = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "m",
    "gen_ai.input.messages": json.dumps([ASKED]),
}


@pytest.mark.parametrize(
    "said",
    [{"gen_ai.conversation.id": RESPONSE}, {"gen_ai.request.previous_response.id": RESPONSE}],
    ids=["agent framework", "conventions"],
)
def test_a_call_that_continues_a_response_says_that_its_context_is_partial(said: dict[str, Any]):
    lifted = lift(a_span(CALL | said))
    assert messages(lifted, lifted.span.attributes[names.INPUT_MESSAGES_REF]) == [ELSEWHERE, ASKED]
    assert lifted.span.attributes[names.PREVIOUS_RESPONSE] == RESPONSE
    assert names.CONVERSATION not in lifted.span.attributes
    assert lift(lifted.span).span == lifted.span


def test_an_event_with_the_details_of_a_call_says_it_too():
    attributes = CALL | {"gen_ai.conversation.id": RESPONSE}
    lifted = lift_log(a_log(attributes, name="gen_ai.client.inference.operation.details"))
    assert messages(lifted, lifted.log.attributes[names.INPUT_MESSAGES_REF]) == [ELSEWHERE, ASKED]
    assert names.CONVERSATION not in lifted.log.attributes


def test_a_response_is_no_session_of_an_agent():
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": RESPONSE}
    lifted = lift(a_span(agent | {"gen_ai.input.messages": json.dumps([ASKED])}))
    assert names.CONVERSATION not in lifted.span.attributes
    assert messages(lifted, lifted.span.attributes[names.INPUT_MESSAGES_REF]) == [ASKED]
    assert names.CONVERSATION not in lift(a_span(agent)).span.attributes  # without content


@pytest.mark.parametrize("conversation", ["conv_68e9", "chat-7", "respond", ["resp_1"]], ids=str)
def test_another_conversation_stays_a_session(conversation: Any):
    lifted = lift(a_span(CALL | {"gen_ai.conversation.id": conversation}))
    assert lifted.span.attributes[names.CONVERSATION] == conversation
    assert messages(lifted, lifted.span.attributes[names.INPUT_MESSAGES_REF]) == [ASKED]


def test_a_session_beside_a_previous_response_stays():
    said = {"gen_ai.conversation.id": "chat-7", "gen_ai.request.previous_response.id": RESPONSE}
    attributes = lift(a_span(CALL | said)).span.attributes
    assert (attributes[names.CONVERSATION], attributes[names.PREVIOUS_RESPONSE]) == ("chat-7", RESPONSE)


@pytest.mark.parametrize(
    "said",
    [
        {
            "openinference.span.kind": "LLM",
            "llm.token_count.prompt": 3,
            "input.value": json.dumps(
                {"input": [{"role": "user", "content": "And tomorrow?"}], "previous_response_id": RESPONSE}
            ),
        },
        {
            "langfuse.observation.type": "generation",
            "langfuse.observation.input": "And tomorrow?",
            "langfuse.observation.metadata.previous_response_id": RESPONSE,
        },
    ],
    ids=["OpenInference", "Langfuse's SDK for JavaScript"],
)
def test_other_senders_name_the_response_in_their_own_words(said: dict[str, Any]):
    lifted = lift(a_span(said))
    assert messages(lifted, lifted.span.attributes[names.INPUT_MESSAGES_REF]) == [ELSEWHERE, ASKED]
    assert lifted.span.attributes[names.PREVIOUS_RESPONSE] == RESPONSE
    assert lift(lifted.span).span == lifted.span


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def test_calls_that_continue_responses_are_no_compressions():
    calls = [
        CALL
        | {
            "gen_ai.conversation.id": f"resp_{number}" if number else "chat",
            "gen_ai.response.id": f"resp_{number + 1}",
            "gen_ai.input.messages": json.dumps([said("user", f"{number}.{place}") for place in range(8 - 2 * number)]),
            "gen_ai.output.messages": json.dumps([said("assistant", f"answer {number}")]),
        }
        for number in range(4)
    ]
    lifted = [
        lift(Span("a" * 32, f"{n + 1:016x}", None, "chat", 10 * n + 1, 10 * n + 9, call, scope="agent_framework"))
        for n, call in enumerate(calls)
    ]
    spans = [each.span for each in lifted]
    threads = [thread for each in lifted for thread in each.threads]
    nodes = {node.ref: node for thread in threads for node in extend(thread.messages, thread.parent)}
    read = {ref: value(each, ref) for each in lifted for thread in each.threads for ref in thread.messages}
    roles = {ref: message["role"] for ref, message in read.items()}
    work = RunInput("a" * 32, spans, [], nodes, roles, None, 100, read)
    kinds = [event.kind for event in project(work, 0, ProjectSettings()).events]
    assert kinds.count("llm_called") == 4
    assert "context_compressed" not in kinds

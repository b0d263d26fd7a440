"""What Semantic Kernel sends of a model call: in Python a log record for each message, whose body is JSON text; in .NET
events of the span, whose only attribute is."""

import json
from typing import Any

import pytest

from playhead.lift import lift, lift_logs
from playhead.model import names
from playhead.model.canonical import value_of
from playhead.model.span import LogEvent, Span
from playhead.projection.attributes import kind_of
from playhead.projection.counted_run import run_calls
from tests.unit.lift.spans import a_span, an_event, messages

TRACE, SPAN = "a" * 32, "b" * 16
CALL = {"id": "c1", "type": "function", "function": {"name": "weather-look", "arguments": '{"city": "Oslo"}'}}
SENT: list[tuple[str, dict[str, Any]]] = [
    ("gen_ai.system.message", {"role": "system", "content": "Be brief."}),
    ("gen_ai.user.message", {"role": "user", "content": "Rain?"}),
    ("gen_ai.assistant.message", {"role": "assistant", "tool_calls": [CALL], "name": "clerk"}),
    ("gen_ai.tool.message", {"role": "tool", "content": "Rain.", "tool_call_id": "c1"}),
]
ANSWER = {"message": {"role": "assistant", "content": "It rains.", "name": "clerk"}, "finish_reason": "stop"}
ASKS = {"message": {"role": "assistant", "tool_calls": [CALL]}, "finish_reason": "tool_calls", "index": 0}
ASKED = [
    {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
    {"role": "user", "parts": [{"type": "text", "content": "Rain?"}]},
    {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "c1", "name": "weather-look", "arguments": {"city": "Oslo"}}],
        "name": "clerk",
    },
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "Rain."}]},
]
SAID = {"role": "assistant", "parts": [{"type": "text", "content": "It rains."}], "name": "clerk"}
OF_CALL = {
    names.OPERATION: "chat.completions",
    names.SYSTEM: "openai",
    names.REQUEST_MODEL: "gpt-4o",
    "gen_ai.response.finish_reason": "FinishReason.STOP",
    names.INPUT_TOKENS: 20,
    names.OUTPUT_TOKENS: 4,
}


def record(name: str, body: Any, time_ns: int) -> LogEvent:
    attributes = {names.LOG_BODY: json.dumps(body), "gen_ai.system": "openai", names.LOG_SEVERITY: 9}
    return LogEvent(name, time_ns, TRACE, SPAN, attributes, "semantic_kernel.utils.telemetry")


def seen(answer: Any) -> tuple[Any, Any, Any]:
    """The call as it is counted, and its messages."""
    logs = [record(name, body, time) for time, (name, body) in enumerate([*SENT, ("gen_ai.choice", answer)], 1)]
    lifted = lift_logs(logs)
    span = lift(Span(TRACE, SPAN, None, "chat.completions gpt-4o", 1, 9, dict(OF_CALL), scope="semantic_kernel")).span
    [node] = run_calls(TRACE, [span], [one.log for one in lifted]).tree.nodes
    contents = {content.ref: value_of(content) for one in lifted for content in one.contents}
    threads = {thread.ref: [contents[ref] for ref in thread.messages] for one in lifted for thread in one.threads}
    attributes = node.span.attributes
    return node, threads[attributes[names.INPUT_MESSAGES_REF]], threads[attributes[names.OUTPUT_MESSAGES_REF]]


def test_a_model_call_has_its_messages_and_its_answer():
    node, asked, said = seen(ANSWER)
    assert (node.kind, asked, said) == ("llm", ASKED, [SAID])
    assert node.span.attributes[names.FINISH_REASONS] == ["stop"]


def test_an_answer_may_be_a_tool_call():
    _, _, said = seen(ASKS)
    assert said == [{key: value for key, value in ASKED[2].items() if key != "name"}]


@pytest.mark.parametrize(
    "operation",
    ["chat.completions", "chat.streaming_completions", "text.completions", "text.streaming_completions", "chat"],
)
def test_each_of_its_operations_is_a_model_call(operation: str):
    assert kind_of(lift(a_span({names.OPERATION: operation, names.REQUEST_MODEL: "m"})).span) == "llm"


@pytest.mark.parametrize(
    ("sent", "reasons"),
    [
        ("FinishReason.STOP", ["stop"]),
        ("FinishReason.TOOL_CALLS,FinishReason.STOP", ["tool_calls", "stop"]),
        ("ToolCalls", ["tool_calls"]),
        ("Stop", ["stop"]),
        ("MAX_TOKENS", ["MAX_TOKENS"]),
        ("stop", ["stop"]),
        ("a,b", ["a,b"]),
    ],
)
def test_finish_reasons_are_in_the_conventions_words(sent: str, reasons: list[str]):
    attributes = lift(a_span({names.OPERATION: "chat", "gen_ai.response.finish_reason": sent})).span.attributes
    assert attributes[names.FINISH_REASONS] == reasons


def test_events_of_the_span_hold_the_same_in_dotnet():
    sent = [(name, {**body, "role": str(body["role"]).title()}) for name, body in SENT]
    answer = {
        "index": 0,
        "message": {"role": "Assistant", "content": "It rains.", "name": "clerk"},
        "finish_reason": "Stop",
    }
    events = [
        an_event(name, **{"gen_ai.event.content": json.dumps(body), "gen_ai.system": "openai"})
        for name, body in [*sent, ("gen_ai.choice", answer)]
    ]
    lifted = lift(a_span({names.OPERATION: "chat.completions", names.REQUEST_MODEL: "m"}, events=events))
    assert messages(lifted, lifted.span.attributes[names.INPUT_MESSAGES_REF]) == ASKED
    assert messages(lifted, lifted.span.attributes[names.OUTPUT_MESSAGES_REF]) == [SAID]
    assert not any("gen_ai.event.content" in event.attributes for event in lifted.span.events)

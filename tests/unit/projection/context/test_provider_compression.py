"""What a provider itself does to a context: answers that are compactions, and edits before the model sees it."""

import json
from typing import Any

import pytest

from playhead.lift import lift
from playhead.model import event as ev
from playhead.model import names
from playhead.model.message import Message, message_contents
from tests.unit.lift.spans import a_span
from tests.unit.projection.recording import Recording

HISTORY = ["system: be brief", "user: one", "assistant: first", "user: two", "assistant: second", "user: three"]


def compressions(r: Recording) -> list[ev.ContextCompressed]:
    return [event for event in r.events() if isinstance(event, ev.ContextCompressed)]


@pytest.mark.parametrize("compacted", [True, False])
def test_a_cut_behind_a_compaction_is_the_providers(compacted: bool):
    r = Recording()
    said: dict[str, Any] = {"gen_ai__conversation__compacted": True} if compacted else {}
    with r.root():
        r.answer(r.ask(HISTORY), "assistant: third", tokens=900, **said)
        r.answer(
            r.ask(["system: be brief", "user: three", "assistant: third", "user: four"]), "assistant: 4", tokens=90
        )
    [compressed] = compressions(r)
    assert compressed.origin == ("provider" if compacted else "inferred")
    assert len(compressed.dropped) == 4
    assert (compressed.tokens_before, compressed.tokens_after) == (900, 90)


@pytest.mark.parametrize("is_dropped", [True, False])
def test_a_readable_compaction_is_a_compression_of_the_call_that_answered_with_it(is_dropped: bool):
    """Anthropic's: the program may send everything before it again, or leave it out; it is reported once."""
    r = Recording()
    answer: Message = {
        "role": "assistant",
        "parts": [{"type": "compaction", "content": "One, two, three."}, {"type": "text", "content": "third"}],
    }
    with r.root():
        span = r.ask(HISTORY)
        r.answer(
            span, tokens=90, gen_ai__output__messages_ref=r.thread_of(answer), gen_ai__conversation__compacted=True
        )
        before = [] if is_dropped else [r.messages[r.message(message)] for message in HISTORY]
        given = r.thread_of(*before, answer, r.messages[r.message("user: four")])
        then = r.ask(HISTORY)
        then.attributes[names.INPUT_MESSAGES_REF] = given
        r.answer(then, "assistant: 4", tokens=99)
    [compressed] = compressions(r)
    assert (compressed.origin, compressed.strategy, compressed.span) == ("provider", "summary", span.span_id)
    assert list(compressed.summarised) == [r.message(message) for message in HISTORY[1:]]
    assert (compressed.summary, compressed.summariser) == (message_contents(answer)[0].ref, span.span_id)
    assert (compressed.before, compressed.tokens_after) == (span.attributes[names.INPUT_MESSAGES_REF], 90)


def test_an_edit_of_the_provider_is_a_compression_of_the_call_that_it_was_made_for():
    r = Recording()
    with r.root():
        span = r.ask(HISTORY)
        r.answer(span, "assistant: third", tokens=90)
        span.attributes |= {names.CONTEXT_EDITS: "clear_tool_uses_20250919", names.CONTEXT_CLEARED_TOKENS: 800}
        r.answer(r.ask([*HISTORY, "assistant: third", "user: four"]), "assistant: fourth", tokens=99)
    [compressed] = compressions(r)
    assert (compressed.origin, compressed.strategy) == ("provider", "clear_tool_uses_20250919")
    assert (compressed.tokens_before, compressed.tokens_after) == (890, 90)
    assert compressed.before == compressed.after == span.attributes[names.INPUT_MESSAGES_REF]
    assert compressed.span == span.span_id


ANTHROPIC = {
    "id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "end_turn",
    "content": [{"type": "text", "text": "done"}],
    "context_management": {
        "applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 8, "cleared_input_tokens": 50000}]
    },
}  # fmt: skip
OPENAI = {"id": "resp_1", "output": [{"type": "compaction", "id": "cmp_1", "encrypted_content": "AAAA"}]}
PARTS = [{"role": "assistant", "parts": [{"type": "compaction", "id": "cmp_1", "content": "all so far"}]}]


def test_an_answer_says_on_its_span_what_the_provider_did():
    kind = {"openinference.span.kind": "LLM", "llm.input_messages.0.message.role": "user"}
    edited = lift(a_span({**kind, "output.value": json.dumps(ANTHROPIC)})).span.attributes
    assert (edited[names.CONTEXT_EDITS], edited[names.CONTEXT_CLEARED_TOKENS]) == ("clear_tool_uses_20250919", 50000)
    assert lift(a_span({**kind, "output.value": json.dumps(OPENAI)})).span.attributes[names.COMPACTED] is True
    assert lift(a_span({names.OUTPUT_MESSAGES: json.dumps(PARTS)})).span.attributes[names.COMPACTED] is True
    assert names.COMPACTED not in lift(a_span({names.OUTPUT_MESSAGES: "[]"})).span.attributes

"""Spans of other people's instrumentations, lifted, in the destinations' own words: what they say is all there.

What a destination would read is read back by our own reader of its vocabulary.
"""

import json
from typing import Any

import pytest

from playhead.dialect.otel_genai import tool_value
from playhead.lift import Lifted, lift
from playhead.model import names
from playhead.model.canonical import value_of
from playhead.model.ref import is_ref
from playhead.model.span import Span
from playhead.outbound.contents import OutboundContents
from playhead.outbound.encoding import encode, media_of
from playhead.outbound.options import OutboundOptions
from playhead.outbound.otlp import traces_request
from playhead.outbound.span import outbound_span
from playhead.outbound.vocabularies.chat import ChatEntry, chat_of
from playhead.projection.counted_run import run_calls
from playhead.projection.span_tree import SpanNode
from tests.senders.catalogue import SENDERS
from tests.senders.losses import NO_CONTENT
from tests.senders.sent import Sent, sent

USAGE = (names.INPUT_TOKENS, names.OUTPUT_TOKENS, names.CACHE_READ_TOKENS, names.REASONING_TOKENS)
# Its records have prompts and tools only.
NO_MESSAGES = {*NO_CONTENT, "codex"}
every_sender = pytest.mark.parametrize("name", sorted(SENDERS))
every_vocabulary = pytest.mark.parametrize("vocabulary", ["langfuse", "phoenix", "otlp"])


def contents_of(it: Sent) -> OutboundContents:
    contents = OutboundContents()
    for ref, content in it.contents.items():
        contents.add(ref, content)
    for ref in it.nodes:
        contents.add_thread(ref, it.thread(ref))
    return contents


def chat(messages: list[Any] | None) -> list[dict[str, Any]] | None:
    """What a reader sees: who said what, asked for what, and got what; without reasoning."""
    return None if messages is None else [shown(entry) for entry in chat_of(messages)]


def shown(entry: ChatEntry) -> dict[str, Any]:
    calls = [(call.id, call.name, json.loads(call.arguments)) for call in entry.calls]
    media = [piece.url for piece in entry.pieces if piece.url]
    return {"role": entry.role, "text": entry.text, "calls": calls, "answers": entry.answers, "media": media}


def messages_of(lifted: Lifted, name: str) -> list[Any] | None:
    ref = lifted.span.attributes.get(name)
    contents = {content.ref: content for content in lifted.contents}
    threads = [thread for thread in lifted.threads if thread.ref == ref]
    return [value_of(contents[message]) for message in threads[0].messages] if threads else None


def counts(span: Span, vocabulary: str) -> dict[str, Any]:
    """The tokens of a call. Langfuse is sent no count of 0."""
    found = {key: span.attributes.get(key) for key in USAGE}
    return {key: count or None for key, count in found.items()} if vocabulary == "langfuse" else found


def bare_text(it: Sent, ref: Any, role: str) -> list[dict[str, Any]] | None:
    """The message that a text by itself becomes."""
    text = it.value(ref) if is_ref(ref) else None
    said = {"role": role, "text": text, "calls": [], "answers": None, "media": []}
    return [said] if isinstance(text, str) else None


def with_system(it: Sent, span: Span, held: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
    """Instructions that stand apart go first."""
    ref = span.attributes.get(names.SYSTEM_INSTRUCTIONS_REF)
    if held is None or not is_ref(ref) or any(message["role"] == "system" for message in held):
        return held
    said = it.value(ref)
    listed = said if isinstance(said, list) else [said]
    texts = [one.get("content") if isinstance(one, dict) else one for one in listed]
    first = {"role": "system", "text": "\n".join(map(str, texts)), "calls": [], "answers": None, "media": []}
    return [first, *held]


def nodes_of(it: Sent) -> list[SpanNode]:
    """All spans as they count in their runs, those that are made of log records included."""
    found: list[SpanNode] = []
    for run in it.traces():
        spans = [one.span for one in it.lifted if one.span.trace_id == run]
        found += run_calls(run, spans, [one.log for one in it.lifted_logs if one.log.trace_id == run]).tree.nodes
    return found


@every_sender
@every_vocabulary
def test_messages_tools_and_usage_reach_the_destination(name: str, vocabulary: Any):
    it = sent(name)
    contents, options = contents_of(it), OutboundOptions(vocabulary)
    seen = 0
    for node in nodes_of(it):
        outgoing = outbound_span(node.span, kind=node.kind or "step")
        encoded = encode(outgoing, contents, options)
        traces_request([encoded])  # OTLP can express it
        assert media_of(outgoing, contents, options) == []
        again = lift(encoded)
        kinds = {again.span.attributes.get(names.KIND), outgoing.kind}
        assert len(kinds) == 1 or outgoing.kind == "step"
        if outgoing.kind == "llm":
            for attribute, instructions in ((names.INPUT_MESSAGES_REF, True), (names.OUTPUT_MESSAGES_REF, False)):
                ref = outgoing.attributes.get(attribute)
                held = chat(it.messages(ref)) if is_ref(ref) else None
                if instructions and vocabulary != "otlp":
                    held = with_system(it, outgoing.span, held)
                seen += held is not None
                if held is None and vocabulary == "langfuse":  # a generation's bare text is its prompt, or its answer
                    bare = (outgoing.input, "user") if instructions else (outgoing.output, "assistant")
                    held = bare_text(it, *bare)
                assert chat(messages_of(again, attribute)) == held
            assert counts(again.span, vocabulary) == counts(node.span, vocabulary)
        if outgoing.kind == "tool":
            assert _tool(again.span) == outgoing.tool
            for attribute in (names.TOOL_ARGUMENTS_REF, names.TOOL_RESULT_REF):
                if is_ref(ref := node.span.attributes.get(attribute)):
                    assert _value(again, attribute) == _unquoted(it.value(ref))
    assert bool(seen) == (name not in NO_MESSAGES)


def _tool(span: Span) -> Any:
    return span.attributes.get(names.TOOL_NAME) or span.name.removeprefix("execute_tool ")


def _value(lifted: Lifted, attribute: str) -> Any:
    [content] = [content for content in lifted.contents if content.ref == lifted.span.attributes.get(attribute)]
    return _unquoted(value_of(content))


def _unquoted(value: Any) -> Any:
    """A text that stood in an attribute as JSON is read as the text."""
    return json.loads(value) if isinstance(value, str) and value.startswith('"') else tool_value(value)

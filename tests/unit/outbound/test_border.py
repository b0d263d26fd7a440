"""What both halves call: which content a span wants, and the span that comes out."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.lift import lift, lift_log
from playhead.model import names
from playhead.model.canonical import Content
from playhead.model.message import LARGE_PART_BYTES
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, SpanEvent
from playhead.outbound.contents import OutboundContents
from playhead.outbound.encoding import encode, encode_log, wanted, wanted_of_log
from playhead.outbound.options import VOCABULARIES, OutboundOptions
from playhead.outbound.span import outbound_span, run_of
from tests.unit.outbound.records import OneRecord, conversation, outbound, text


def model_call(record: OneRecord, **attributes: Any):
    return outbound("llm", "chat gpt-4o", {
        names.OPERATION: "chat", names.REQUEST_MODEL: "gpt-4o",
        names.INPUT_MESSAGES_REF: record.thread(*conversation()),
        names.OUTPUT_MESSAGES_REF: record.thread(text("assistant", "On Thursday.")),
        names.REQUEST_REF: record.value({"temperature": 0.5}),
        **attributes,
    })  # fmt: skip


def test_what_is_wanted_is_fetched_in_at_most_three_rounds():
    record = OneRecord()
    long = text("user", "x" * (LARGE_PART_BYTES + 1))
    span = model_call(record, **{names.INPUT_MESSAGES_REF: record.thread(text("system", "Be brief."), long)})
    contents, rounds = OutboundContents(), 0
    while missing := contents.missing(wanted(span, OutboundOptions())):
        rounds += 1
        for ref in missing.contents:
            contents.add(ref, record.contents[ref])
        for ref in missing.threads:
            contents.add_thread(ref, record.threads[ref])
    assert rounds == 3
    said = json.loads(encode(span, contents, OutboundOptions()).attributes[names.INPUT_MESSAGES])
    assert said == [text("system", "Be brief."), long]


def test_metadata_of_the_run_is_wanted_for_every_span():
    metadata = ContentRef.of(b"{}")
    span = outbound_span(outbound("step", "s", {}).span, run_of({names.RUN_METADATA_REF: metadata}))
    for vocabulary in VOCABULARIES:
        assert metadata in wanted(span, OutboundOptions(vocabulary)).contents


def test_content_that_is_not_stored_is_said_to_be_and_the_span_goes_out():
    record = OneRecord()
    span = model_call(record)
    attributes = encode(span, OutboundContents(), OutboundOptions()).attributes
    assert "is not stored" in attributes[names.INPUT_MESSAGES]
    assert "is not stored" in attributes["playhead.request"]


def test_a_span_that_has_not_ended_is_refused():
    span = model_call(OneRecord())
    span.span.end_ns = None
    with pytest.raises(ValueError, match="has not ended"):
        encode(span, OutboundContents(), OutboundOptions())


def test_wrong_options_say_what_may_be_given():
    with pytest.raises(ValueError, match="otlp, langfuse, phoenix"):
        OutboundOptions(vocabulary="zipkin")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="full, preview, ref"):
        OutboundOptions(content="all")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="from 1"):
        OutboundOptions(preview_characters=0)


def test_another_playhead_gets_the_same_refs_and_contents():
    record = OneRecord()
    span = model_call(
        record,
        **{
            names.RESPONSE_REF: record.value(b"\x00\xff"),
            names.REASONING_REF: record.value("5"),  # text that looks like a number
            names.TOOL_DEFINITIONS_REF: record.value([{"type": "function"}]),
        },
    )
    span.span.events.append(SpanEvent("gen_ai.choice", 1, {names.MESSAGE_REF: record.value(text("user", "hi"))}))
    again = lift(record.encoded(span))
    assert span.span.attributes.items() <= again.span.attributes.items()
    assert again.span.events == span.span.events
    assert {content.ref.plain: content.data for content in again.contents} == {
        ref: content.data for ref, content in record.contents.items()
    }
    assert {thread.ref: thread.messages for thread in again.threads} == record.threads
    assert names.CONTENT_INLINE not in again.span.attributes


def test_log_events_reach_another_playhead_whole():
    record = OneRecord()
    log = LogEvent(names.STATE_CHANGED, 1, "a" * 32, "b" * 16, {
        names.RUN_ID: "a" * 32, names.STATE_KEY: "ticket", names.VALUE_REF: record.value({"order": "A1001"}),
    }, scope=names.SCOPE)  # fmt: skip
    assert wanted_of_log(log, OutboundOptions()).contents == tuple(record.contents)
    sent = encode_log(log, record.at_hand(), OutboundOptions())
    assert sent.attributes["playhead.value"] == '{"order":"A1001"}'
    again = lift_log(sent)
    assert again.log == log
    assert [content.data for content in again.contents] == [b'{"order":"A1001"}']


def test_damaged_inline_content_never_costs_a_span():
    span = model_call(OneRecord()).span
    span.attributes = {
        names.KIND: "llm", names.CONTENT_INLINE: [names.INPUT_MESSAGES, "playhead.a", "absent", 5],
        names.INPUT_MESSAGES: '[{"role": "user"}]', "playhead.a": "{",
    }  # fmt: skip
    again = lift(span).span.attributes
    assert names.CONTENT_INLINE not in again
    assert again["playhead.a"] == "{"


TEXTS = st.text('a5"{}[]\\ é\0-.', max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS | st.binary(max_size=20),
    lambda inner: st.lists(inner.filter(lambda v: not isinstance(v, bytes)), max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(["playhead.input_ref", "playhead.output_ref", "custom.thing_ref"]), values))
def test_any_value_comes_back_with_its_ref(said: dict[str, Any]):
    record = OneRecord()
    refs = {key: record.value(value) for key, value in said.items()}
    again = lift(record.encoded(outbound("step", "work", refs)))
    assert refs.items() <= again.span.attributes.items()
    assert {content.ref.plain for content in again.contents} == set(record.contents)


def test_what_the_run_says_is_on_every_span():
    span = model_call(OneRecord())
    attributes = encode(span, OutboundContents(), OutboundOptions()).attributes
    assert attributes[names.CONVERSATION] == "conversation-42"
    assert attributes[names.USER] == "customer-7"
    assert attributes[names.RUN_URL] == span.url


def test_a_run_is_read_off_its_root_and_completed_by_each_span():
    metadata = ContentRef.of(b"{}")
    run = run_of({names.RUN_ID: "r", names.RUN_NAME: "n", names.RUN_TAGS: ["t"], names.RUN_METADATA_REF: metadata})
    assert (run.id, run.name, run.tags, run.metadata) == ("r", "n", ("t",), metadata)
    span = outbound_span(outbound("step", "s", {names.USER: "u"}).span, run)
    assert (span.run.user, span.run.name) == ("u", "n")


def test_bytes_of_a_message_that_is_no_message_are_shown_as_text():
    contents, thread = OutboundContents(), ContentRef.of(b"thread")
    broken = Content(b"no message", "text/plain")
    contents.add(broken.ref, broken)
    contents.add_thread(thread, [broken.ref])
    assert contents.messages(thread) == [text("user", "no message")]

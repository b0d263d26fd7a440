"""Content goes out of spans and log events, refs stay, and nothing that comes in is too odd."""

import copy
import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.dialect import openai_chat
from playhead.lift import DIALECTS, UNPARSED, lift, lift_log
from playhead.lift.extraction import ExtractedContent
from playhead.lift.oversize import LIMIT_BYTES
from playhead.model import names
from playhead.model.canonical import BYTES, TEXT, canonical_json, content_of
from playhead.model.ref import ContentRef, is_ref
from playhead.model.span import Attributes, LogEvent, Span, SpanEvent
from tests.unit.lift.spans import a_log, a_span, an_event, as_json, attributes_of, content, messages, value
from tests.unit.model.values import anything, checked, texts

HELLO = {"role": "user", "parts": [{"type": "text", "content": "hello"}]}
ANSWER = {"role": "assistant", "parts": [{"type": "text", "content": "hi"}]}
DETAILS = "gen_ai.client.inference.operation.details"
LONG = "x" * (LIMIT_BYTES + 1)

# --- messages --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw",
    [
        [HELLO],
        as_json([HELLO]),
        as_json(as_json([HELLO])),
        as_json(HELLO),
        as_json([HELLO]).encode(),
        as_json([HELLO | {"name": None, "finish_reason": "stop"}]),
        as_json([{"role": "user", "content": "hello"}]),
    ],
    ids=["structured", "text", "encoded twice", "alone", "bytes", "with nulls", "as Chat Completions"],
)
def test_messages_become_a_thread_however_they_are_written(raw: Any):
    lifted = lift(a_span({names.INPUT_MESSAGES: raw}))
    assert names.INPUT_MESSAGES not in lifted.span.attributes
    assert messages(lifted, lifted.span.attributes[names.INPUT_MESSAGES_REF]) == [HELLO]


def test_an_answer_has_the_same_ref_in_the_call_that_gave_it_and_in_the_next():
    reasoning = {"type": "reasoning", "content": "greet"}
    answered = ANSWER | {"parts": [reasoning, *ANSWER["parts"]], "finish_reason": "stop"}
    first = lift(a_span({names.INPUT_MESSAGES: as_json([HELLO]), names.OUTPUT_MESSAGES: as_json([answered])}))
    second = lift(a_span({names.INPUT_MESSAGES: as_json([HELLO, ANSWER])}))
    asked, output = first.threads
    (both,) = second.threads
    assert both.messages == asked.messages + output.messages
    assert first.span.attributes[names.FINISH_REASONS] == ["stop"]
    assert value(first, first.span.attributes[names.REASONING_REF]) == "greet"


def test_finish_reasons_that_the_span_has_stay():
    raw = as_json([ANSWER | {"finish_reason": "stop"}])
    assert attributes_of({names.OUTPUT_MESSAGES: raw, names.FINISH_REASONS: ["length"]})[names.FINISH_REASONS] == [
        "length"
    ]


def test_a_message_that_our_sdk_recorded_from_openai_has_the_ref_of_the_one_that_opentelemetry_recorded():
    native = {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f"}}]}
    part = {"type": "tool_call", "id": "1", "name": "f"}
    lifted = lift(a_span({names.INPUT_MESSAGES: as_json([{"role": "assistant", "parts": [part]}])}))
    assert messages(lifted, lifted.threads[0].ref) == [openai_chat.to_message(native)]


def test_no_messages_are_no_thread():
    lifted = lift(a_span({names.INPUT_MESSAGES: "[]", names.OUTPUT_MESSAGES: None}))
    assert (lifted.span.attributes, lifted.contents, lifted.threads) == ({}, [], [])


def test_a_large_part_of_a_message_is_content_of_its_own():
    image = {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "A" * 50_000}
    lifted = lift(a_span({names.INPUT_MESSAGES: as_json([HELLO | {"parts": [image]}])}))
    assert sorted(len(canonical_json(value(lifted, content.ref))) > 50_000 for content in lifted.contents) == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    "raw", ["[{", '[{"role": "us', "hello", '["hello"]', "5", "", '"hello"', b"\xff", 5, ["hello"]]
)
def test_what_should_be_messages_and_is_not_is_kept_as_it_came_and_marked(raw: Any):
    lifted = lift(a_span({names.INPUT_MESSAGES: raw}))
    assert lifted.span.attributes[UNPARSED] == [names.INPUT_MESSAGES]
    assert value(lifted, lifted.span.attributes[names.INPUT_MESSAGES_REF]) == raw
    assert lifted.threads == []


# --- other content ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "raw", "kept"),
    [
        (names.SYSTEM_INSTRUCTIONS, as_json(HELLO["parts"]), HELLO["parts"]),
        (names.SYSTEM_INSTRUCTIONS, as_json({"type": "text", "id": None}), [{"type": "text"}]),
        (names.SYSTEM_INSTRUCTIONS, "be kind", "be kind"),
        (names.SYSTEM_INSTRUCTIONS, '"be kind"', "be kind"),
        (names.TOOL_DEFINITIONS, as_json([{"name": "f", "description": None}]), [{"name": "f"}]),
        (names.TOOL_DEFINITIONS, ['{"name":"f"}'], [{"name": "f"}]),
        (names.TOOL_ARGUMENTS, '{"q": null}', {"q": None}),
        (names.TOOL_ARGUMENTS, as_json('{"q": 1}'), {"q": 1}),
        (names.TOOL_ARGUMENTS, {"q": 1}, {"q": 1}),
        (names.TOOL_RESULT, "42 flights", "42 flights"),
        (names.TOOL_RESULT, "42", "42"),
        (names.TOOL_RESULT, "", ""),
        (names.TOOL_RESULT, False, False),
        ("gen_ai.retrieval.query.text", "oslo", "oslo"),
        ("gen_ai.retrieval.documents", '[{"id": "1", "score": 0.5}]', [{"id": "1", "score": 0.5}]),
        ("gen_ai.memory.query.text", "oslo", "oslo"),
        ("gen_ai.memory.records", [{"content": "x"}], [{"content": "x"}]),
        ("gen_ai.prompt.variable.city", "Oslo", "Oslo"),
    ],
)  # fmt: skip
def test_content_becomes_a_ref_of_the_same_name(key: str, raw: Any, kept: Any):
    lifted = lift(a_span({key: raw}))
    attributes = lifted.span.attributes
    assert attributes.keys() == {key + "_ref"}
    assert value(lifted, attributes[key + "_ref"]) == kept


@pytest.mark.parametrize(
    "key", [names.SYSTEM_INSTRUCTIONS, names.TOOL_DEFINITIONS, names.TOOL_ARGUMENTS, names.TOOL_RESULT]
)
def test_json_that_was_cut_off_is_kept_as_text_and_marked(key: str):
    lifted = lift(a_span({key: '{"q": "os'}))
    kept = content(lifted.contents, lifted.span.attributes[key + "_ref"])
    assert (kept.data, kept.media_type) == (b'{"q": "os', TEXT)
    assert lifted.span.attributes[UNPARSED] == [key]


def test_equal_contents_stand_once():
    lifted = lift(a_span({names.TOOL_ARGUMENTS: '{"q":1}', names.TOOL_RESULT: '{"q": 1}'}))
    assert len(lifted.contents) == 1


def test_refs_of_others_stay():
    attributes = {names.INPUT_MESSAGES_REF: "gs://bucket/1.json", "mine_ref": "x"}
    assert attributes_of(attributes) == attributes


def test_a_ref_of_others_is_kept_beside_ours_when_the_content_was_inline_too():
    attributes = attributes_of({names.TOOL_RESULT: "x", names.TOOL_RESULT_REF: "gs://bucket/1.json"})
    assert attributes[names.TOOL_RESULT_REF] == ContentRef.of(b"x")
    assert attributes[names.TOOL_RESULT_REF + ".external"] == "gs://bucket/1.json"
    same = {names.TOOL_RESULT: "x", names.TOOL_RESULT_REF: str(ContentRef.of(b"x"))}
    assert attributes_of(same) == {names.TOOL_RESULT_REF: ContentRef.of(b"x")}


# --- events and logs -------------------------------------------------------------------------------------------------


def test_an_event_with_the_details_of_the_call_speaks_for_its_span():
    details = {names.INPUT_MESSAGES: [HELLO], names.OUTPUT_MESSAGES: [ANSWER | {"finish_reason": "stop"}]}
    lifted = lift(
        a_span({names.OPERATION: "chat"}, events=[an_event(DETAILS, **details), an_event("other", **details)])
    )
    attributes = lifted.span.attributes
    assert messages(lifted, attributes[names.INPUT_MESSAGES_REF]) == [HELLO]
    assert attributes[names.FINISH_REASONS] == ["stop"]
    for event in lifted.span.events:
        assert event.attributes.keys() == {names.INPUT_MESSAGES_REF, names.OUTPUT_MESSAGES_REF, names.FINISH_REASONS}
    alone = lift(a_span({}, events=[an_event("other", **details)]))
    assert alone.span.attributes == {}
    assert len(alone.threads) == 2


def test_what_the_span_says_itself_counts_more_than_its_event():
    lifted = lift(
        a_span({names.INPUT_MESSAGES: [ANSWER]}, events=[an_event(DETAILS, **{names.INPUT_MESSAGES: [HELLO]})])
    )
    assert messages(lifted, lifted.span.attributes[names.INPUT_MESSAGES_REF]) == [ANSWER]


def test_a_log_event_is_lifted_like_a_span():
    lifted = lift_log(a_log({names.INPUT_MESSAGES: as_json([HELLO]), "body": LONG, names.OUTPUT_MESSAGES: "[{"}))
    attributes = lifted.log.attributes
    assert messages(lifted, attributes[names.INPUT_MESSAGES_REF]) == [HELLO]
    assert value(lifted, attributes["body_ref"]) == LONG
    assert attributes[UNPARSED] == [names.OUTPUT_MESSAGES]


# --- what no dialect knows -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("long", "media_type"),
    [
        (LONG, TEXT),
        ("ä" * (LIMIT_BYTES // 2 + 1), TEXT),
        (b"x" * (LIMIT_BYTES + 1), BYTES),
        (["x" * 100] * 50, "application/json"),
        ({"a": {"b": LONG}}, "application/json"),
    ],
    ids=["text", "umlauts", "bytes", "list", "object"],
)
def test_whatever_is_long_leaves_the_span(long: Any, media_type: str):
    lifted = lift(
        a_span(
            {"a": long, "db.query.text": "x" * LIMIT_BYTES},
            events=[an_event("exception", **{"exception.stacktrace": long})],
            links=[{"trace_id": "c" * 32, "attributes": {"c": long}}, {"attributes": None}],
            resource={"process.command_line": long},
        )
    )
    span = lifted.span
    (kept,) = lifted.contents
    assert kept.media_type == media_type
    assert span.attributes == {"a_ref": kept.ref, "db.query.text": "x" * LIMIT_BYTES}
    assert span.events[0].attributes == {"exception.stacktrace_ref": kept.ref}
    assert span.links[0] == {"trace_id": "c" * 32, "attributes": {"c_ref": kept.ref}}
    assert span.resource == {"process.command_line_ref": kept.ref}
    assert value(lifted, kept.ref) == long


def test_a_long_status_message_is_shortened_and_kept():
    lifted = lift(a_span({}, status=2, status_message=LONG))
    assert len(lifted.span.status_message) < 600
    assert value(lifted, lifted.span.attributes["playhead.status_message_ref"]) == LONG


def test_a_name_that_is_taken_is_not_overwritten():
    attributes = attributes_of({"input": LONG, "input_ref": "theirs", "input_ref_ref": LONG})
    assert attributes["input_ref"] == "theirs"
    assert set(attributes) == {"input_ref", "input_ref_ref_ref", "input_ref_ref_ref_ref"}


def test_our_own_span_is_held_to_the_limit_too():
    own = a_span({names.KIND: "tool", "users.own": LONG}, scope=names.SCOPE)
    assert set(lift(own).span.attributes) == {names.KIND, "users.own_ref"}


# --- our own ---------------------------------------------------------------------------------------------------------


def test_our_own_spans_and_log_events_pass_through_as_they_are():
    own = a_span({names.KIND: "llm", names.INPUT_MESSAGES_REF: str(ContentRef.of(b""))}, scope=names.SCOPE)
    assert lift(own).span is own
    log = a_log({names.KIND: "llm"}, scope=names.SCOPE, name=names.STARTED)
    assert lift_log(log).log is log


# --- anything at all -------------------------------------------------------------------------------------------------

content_keys = [
    names.INPUT_MESSAGES, names.OUTPUT_MESSAGES, names.SYSTEM_INSTRUCTIONS, names.TOOL_DEFINITIONS,
    names.TOOL_ARGUMENTS, names.TOOL_RESULT, "gen_ai.retrieval.documents", "gen_ai.prompt.variable.x",
    "input.value", "output.value", "llm.input_messages.0.message.role", "llm.input_messages.0.message.content",
    "llm.input_messages.7.message.tool_calls.0.tool_call.function.arguments", "llm.output_messages.0.message",
    "gen_ai.prompt.0.content", "gen_ai.prompt.3.tool_calls.0.name", "gen_ai.completion.0.content",
    "traceloop.entity.input", "traceloop.entity.output", "tool_arguments", "tool_response",
    "pydantic_ai.all_messages", "all_messages_events", "ai.prompt.messages", "ai.response.text", "ai.toolCall.args",
    "ai.response.toolCalls", "langfuse.observation.input", "langfuse.observation.output", "mlflow.spanInputs",
    "mlflow.spanOutputs", "lmnr.span.input", "lmnr.span.output", "agentops.tool.input", "gen_ai.tool.args",
    "gcp.vertex.agent.tool_call_args", "lk.user_input",
]  # fmt: skip
some_keys = st.sampled_from([
    *content_keys, names.OPERATION, names.SYSTEM, names.PROVIDER, names.KIND, names.TOOL_NAME, names.REASONING_REF,
    names.CACHE_CREATION_TOKENS, names.CACHE_WRITE_TOKENS, names.INPUT_MESSAGES_REF, UNPARSED, "a", "a_ref", "",
    "openinference.span.kind", "traceloop.span.kind", "logfire.json_schema", "session.id", "llm.finish_reason",
    "langfuse.observation.type", "langfuse.observation.usage_details", "langsmith.span.kind", "ai.operationId",
    "mlflow.spanType", "mlflow.chat.tokenUsage", "lmnr.span.type", "agentops.span.kind", "span.type", "user_prompt",
    "gen_ai.prompt", "gen_ai.completion", "event.name", "events", "metadata",
    "retrieval.documents.0.document.content", "llm.tools.0.tool.json_schema",
])  # fmt: skip
part_like = st.dictionaries(
    st.sampled_from(["type", "content", "id", "name", "arguments", "response", "result", "extra", "text", "ref"]),
    anything | st.sampled_from(["text", "reasoning", "tool_call", "tool_call_response", "playhead.ref", "image_url"]),
    max_size=5,
)
message_like = st.dictionaries(
    st.sampled_from(["role", "parts", "content", "tool_calls", "name", "finish_reason", "extra", "reasoning"]),
    anything | st.lists(part_like | anything, max_size=3) | st.sampled_from(["user", "assistant", "tool", "stop"]),
    max_size=5,
)
values = st.one_of(
    anything,
    texts,
    st.binary(max_size=20),
    st.lists(message_like, max_size=3),
    st.lists(message_like, max_size=3).map(json.dumps),
    st.lists(message_like, max_size=3).map(lambda several: json.dumps(json.dumps(several))),
    st.lists(message_like, max_size=3).map(lambda several: json.dumps(several)[:-3]),
    st.sampled_from(
        [
            LONG,
            "[" * 100_000,
            "1e999",
            "NaN",
            "chat",
            "openai",
            "9" * 30,
            '"' * 5,
            "\ud800",
            "LLM",
            "TOOL",
            "tool",
            10**400,
            "\0",
            '{"messages": [{"role": "user"}, 5]}',
            '{"choices": [{}]}',
            '{"type": "object", "properties": {"a": {"type": "object"}}}',
            '{"messages": [[{"lc": 1}]]}',
        ]
    ),
    st.floats(),
)
event_names = st.sampled_from([DETAILS, "x", "gen_ai.user.message", "gen_ai.choice", "gen_ai.content.prompt"])
attribute_sets = st.dictionaries(some_keys, values, max_size=6)
spans = st.builds(
    a_span,
    attribute_sets,
    scope=st.sampled_from(["theirs", names.SCOPE]),
    events=st.lists(st.builds(SpanEvent, event_names, st.just(1), attribute_sets), max_size=2),
    links=st.lists(st.dictionaries(st.sampled_from(["attributes", "x"]), attribute_sets | anything), max_size=1),
    status_message=st.sampled_from(["", LONG]),
    resource=attribute_sets,
)


def assert_no_payload(*several: Attributes) -> None:
    for attributes in several:
        assert all(len(content_of(item).data) <= LIMIT_BYTES for item in attributes.values())


@checked
@given(spans)
def test_any_span_is_lifted_and_what_it_says_is_in_its_refs(span: Span):
    before = copy.deepcopy(span)
    lifted = lift(span)
    assert canonical_json(dataclasses.asdict(span)) == canonical_json(dataclasses.asdict(before))
    after = lifted.span
    assert_no_payload(after.attributes, after.resource, *(event.attributes for event in after.events))
    if span.scope != names.SCOPE:
        assert not after.attributes.keys() & set(content_keys)
    unknown = {"", names.TOOL_NAME} & span.attributes.keys()
    assert all(key in after.attributes or key + "_ref" in after.attributes for key in unknown)
    for thread in lifted.threads:
        assert {content.ref for content in lifted.contents}.issuperset(thread.messages)
    again = lift(after)
    assert again.contents == []
    assert canonical_json(dataclasses.asdict(again.span)) == canonical_json(dataclasses.asdict(after))


@checked
@given(attribute_sets, st.sampled_from([None, "llm", "tool", "agent", "retriever"]))
def test_no_dialect_raises_whatever_it_is_given(attributes: Attributes, kind: str | None):
    for dialect in DIALECTS:
        dialect.kind(attributes)
        if dialect.matches(attributes):
            dialect.extract(dict(attributes), kind, ExtractedContent())


@checked
@given(st.builds(a_log, attribute_sets, name=st.sampled_from(["x", names.STARTED]), scope=st.just("theirs")))
def test_any_log_event_is_lifted(log: LogEvent):
    lifted = lift_log(log)
    assert_no_payload(lifted.log.attributes)
    assert not lifted.log.attributes.keys() & set(content_keys)
    assert all(is_ref(thread.ref) for thread in lifted.threads)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.NAME)
def test_every_span_dialect_has_the_shape(dialect: Any):
    assert set(vars(dialect)) >= {"NAME", "PREFIXES", "ALIASES", "matches", "kind", "extract"}
    assert dialect.__name__.endswith("." + dialect.NAME)

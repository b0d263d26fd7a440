"""Every field of Langfuse, as its server reads it from what we send."""

import base64
import gzip
import hashlib
import json
from typing import Any

import httpx
import pytest

from playhead.model import names
from playhead.model.span import STATUS_ERROR, Span
from playhead.outbound.contents import OutboundContents
from playhead.outbound.encoding import encode, media_of
from playhead.outbound.options import OutboundOptions
from playhead.outbound.otlp import traces_request
from playhead.outbound.span import OutboundCost
from tests.support.backends.langfuse import PUBLIC, SECRET, Langfuse
from tests.unit.outbound.records import RUN, RUN_URL, START_NS, OneRecord, conversation, outbound, text, tool_call

AUTHORIZATION = "Basic " + base64.b64encode(f"{PUBLIC}:{SECRET}".encode()).decode()
HEADERS = {
    "authorization": AUTHORIZATION, "content-type": "application/x-protobuf", "content-encoding": "gzip",
    "x-langfuse-ingestion-version": "4",
}  # fmt: skip


def post(server: Langfuse, spans: list[Span], **headers: str) -> httpx.Response:
    with httpx.Client(trust_env=False, timeout=60) as client:
        body = gzip.compress(traces_request(spans))
        return client.post(f"{server.url}/api/public/otel/v1/traces", content=body, headers=HEADERS | headers)


def stored(*spans: Span) -> dict[str, Any]:
    """What Langfuse makes of the first of these."""
    with Langfuse() as server:
        assert post(server, list(spans)).status_code == 200
        return server.observations[spans[0].span_id]


def generation(record: OneRecord, **more: Any) -> Span:
    fields = {name: more.pop(name) for name in ("cost", "status", "status_message", "run") if name in more}
    attributes = {
        names.OPERATION: "chat", names.PROVIDER: "openai", names.REQUEST_MODEL: "gpt-4o",
        names.RESPONSE_MODEL: "gpt-4o-2024-08-06", names.REQUEST_TEMPERATURE: 0.5,
        names.INPUT_MESSAGES_REF: record.thread(*conversation()),
        names.OUTPUT_MESSAGES_REF: record.thread(text("assistant", "On Thursday.")),
        names.REQUEST_REF: record.value({"model": "gpt-4o", "max_tokens": 100, "response_format": {"type": "text"}}),
        names.INPUT_TOKENS: 120, names.OUTPUT_TOKENS: 30, names.CACHE_READ_TOKENS: 40, names.REASONING_TOKENS: 10,
        names.FINISH_REASONS: ["stop"], names.CALL_KEY: "support/chat:llm#1",
    }  # fmt: skip
    return record.encoded(outbound("llm", "chat gpt-4o", attributes | more, **fields), "langfuse")


def test_a_generation_has_every_field():
    record = OneRecord()
    row = stored(generation(record, tenant="acme", cost=OutboundCost(0.0031, 0.002, 0.0011)))
    assert (row["type"], row["name"], row["model"]) == ("GENERATION", "chat gpt-4o", "gpt-4o-2024-08-06")
    assert json.loads(row["input"]) == [
        {"role": "system", "content": "You are brief."},
        {"role": "user", "content": "Where is my order?"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "call_1", "type": "function",
             "function": {"name": "look_up", "arguments": '{"order":"A1001"}'}}]},
        {"role": "tool", "content": '{"status": "delayed"}', "tool_call_id": "call_1"},
    ]  # fmt: skip
    assert json.loads(row["output"]) == {"role": "assistant", "content": "On Thursday."}
    assert row["modelParameters"] == {"temperature": 0.5, "max_tokens": 100, "response_format": '{"type":"text"}'}
    assert row["usageDetails"] == {
        "input": 80, "input_cache_read": 40, "output": 20, "output_reasoning": 10, "total": 150,
    }  # fmt: skip
    assert sum(count for name, count in row["usageDetails"].items() if name != "total") == 150
    assert row["costDetails"] == {"input": 0.002, "output": 0.0011, "total": 0.0031}
    assert (row["level"], row["statusMessage"]) == ("DEFAULT", None)
    assert row["metadata"]["tenant"] == "acme"
    assert row["metadata"]["playhead_run_url"] == RUN_URL == row["otherAttributes"][names.RUN_URL]
    assert row["metadata"]["playhead.call.key"] == "support/chat:llm#1"
    assert row["metadata"]["finish_reasons"] == ["stop"]
    assert (row["startTime"], row["endTime"]) == (START_NS, START_NS + 1_000_000_000)
    assert (row["shown_at_once"], row["from_sdk"]) == (True, False)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("agent", "AGENT"), ("tool", "TOOL"), ("retriever", "RETRIEVER"), ("embedding", "EMBEDDING"),
     ("guardrail", "GUARDRAIL"), ("step", "SPAN"), ("llm", "GENERATION")],
)  # fmt: skip
def test_what_the_run_says_is_on_every_span(kind: str, expected: str):
    record = OneRecord()
    run = RUN.__class__(RUN.id, RUN.name, RUN.session, RUN.user, RUN.tags, record.value({"plan": "pro", "seats": 5}))
    row = stored(record.encoded(outbound(kind, "work", {}, run), "langfuse"))
    assert row["type"] == expected
    assert (row["sessionId"], row["userId"], row["tags"]) == ("conversation-42", "customer-7", ["example", "beta"])
    assert (row["traceName"], row["traceMetadata"]) == ("support", {"plan": "pro", "seats": 5})
    assert not row["isRoot"]


def test_only_generations_and_embeddings_have_usage():
    numbers = {names.INPUT_TOKENS: 5, names.OUTPUT_TOKENS: 5, names.REQUEST_MODEL: "gpt-4o"}
    for kind in ("agent", "step", "tool"):
        row = stored(OneRecord().encoded(outbound(kind, "work", numbers), "langfuse"))
        assert (row["usageDetails"], row["model"]) == ({}, None)
    row = stored(OneRecord().encoded(outbound("embedding", "embed", numbers), "langfuse"))
    assert (row["usageDetails"]["input"], row["model"]) == (5, "gpt-4o")


def test_a_tool_has_its_name_arguments_and_result():
    record = OneRecord()
    row = stored(record.encoded(outbound("tool", "execute_tool refund", {
        names.OPERATION: "execute_tool", names.TOOL_NAME: "refund", names.TOOL_CALL_ID: "call_9",
        names.TOOL_ARGUMENTS_REF: record.value({"order": "A1001"}), names.TOOL_RESULT_REF: record.value("done"),
    }), "langfuse"))  # fmt: skip
    assert (row["type"], row["name"]) == ("TOOL", "refund")
    assert (row["input"], row["output"]) == ('{"order":"A1001"}', "done")
    assert row["metadata"]["tool_call_id"] == "call_9"


def test_an_agent_a_retriever_and_an_embedding_have_what_they_were_given_and_gave():
    record = OneRecord()
    given, gave = record.value({"task": "find"}), record.value([{"text": "a"}, {"text": "b"}])
    for kind in ("agent", "retriever", "embedding"):
        attributes = {names.INPUT_REF: given, names.OUTPUT_REF: gave}
        row = stored(record.encoded(outbound(kind, "work", attributes), "langfuse"))
        assert json.loads(row["input"]) == {"task": "find"}
        assert json.loads(row["output"]) == [{"text": "a"}, {"text": "b"}]


def test_a_failed_call_says_why_and_has_an_exception_event():
    record = OneRecord()
    raised = {"type": "ValueError", "message": "at most 89.00", "stacktrace": "Traceback ..."}
    attributes = {names.ERROR_TYPE: "ValueError", names.ERROR_REF: record.value(raised)}
    span = outbound("tool", "execute_tool refund", attributes, status=STATUS_ERROR, status_message="at most 89.00")
    row = stored(record.encoded(span, "langfuse"))
    assert (row["level"], row["statusMessage"]) == ("ERROR", "at most 89.00")
    [(event, said)] = row["events"]
    assert event == "exception"
    assert said == {f"exception.{key}": value for key, value in raised.items()}


def test_a_cancelled_call_is_a_warning():
    row = stored(OneRecord().encoded(outbound("llm", "chat", {names.OUTCOME: "cancelled"}), "langfuse"))
    assert (row["level"], row["statusMessage"]) == ("WARNING", "cancelled")


def test_a_streamed_answer_has_the_time_of_its_first_chunk():
    row = stored(generation(OneRecord(), **{names.TIME_TO_FIRST_CHUNK: 0.25}))
    assert row["completionStartTime"] == "2025-10-09T08:53:20.250Z"


def test_a_generation_names_its_prompt():
    attributes = {"langfuse.observation.prompt.name": "greeting", "langfuse.observation.prompt.version": 3}
    row = stored(generation(OneRecord(), **attributes))
    assert (row["promptName"], row["promptVersion"]) == ("greeting", 3)
    row = stored(OneRecord().encoded(outbound("step", "work", attributes), "langfuse"))
    assert (row["promptName"], row["promptVersion"]) == (None, None)


def test_a_root_is_marked_also_below_what_is_not_sent():
    row = stored(OneRecord().encoded(outbound("agent", "support", {names.RUN_ROOT: True}), "langfuse"))
    assert (row["isRoot"], row["isAppRoot"], row["parent"]) == (True, True, "c" * 16)
    row = stored(OneRecord().encoded(outbound("agent", "support", {}, parent_id=None), "langfuse"))
    assert (row["isRoot"], row["isAppRoot"], row["parent"]) == (True, True, None)


@pytest.mark.parametrize(
    ("named", "environment"),
    [("production", "production"), ("EU West (blue)", "eu-west--blue"), ("langfuse-lab", "lab"), ("é" * 5, "default")],
)
def test_environment_release_and_version_are_what_langfuse_takes(named: str, environment: str):
    resource = {"deployment.environment.name": named, "service.version": "1.2.3", "langfuse.release": "r7"}
    row = stored(OneRecord().encoded(outbound("step", "work", {}, resource=resource), "langfuse"))
    assert (row["environment"], row["version"], row["release"]) == (environment, "1.2.3", "r7")


def test_other_peoples_words_are_not_sent_a_second_time():
    foreign = {
        "openinference.span.kind": "LLM", "llm.token_count.prompt": 5, "ai.model.id": "other", "langfuse.user.id": "x",
        "gen_ai.usage.input_tokens": 5, "logfire.msg": "name", "genkit:name": "name", "input.value": "content",
        "http.route": "/answer",
    }  # fmt: skip
    span = OneRecord().encoded(outbound("step", "work", foreign, scope="langfuse-sdk"), "langfuse")
    others = {key for key in span.attributes if not key.startswith("langfuse.")}
    assert others == {names.RUN_URL}
    row = stored(span)
    assert (row["name"], row["userId"], row["from_sdk"]) == ("work", "customer-7", False)
    assert row["metadata"]["http.route"] == "/answer"


@pytest.mark.parametrize(
    ("attribute", "value", "expected"),
    [("openinference.span.kind", "EVALUATOR", "EVALUATOR"), ("openinference.span.kind", "CHAIN", "CHAIN"),
     ("langfuse.observation.type", "event", "EVENT"), (names.GRAPH_NODE, "planner", "CHAIN"),
     ("openinference.span.kind", "PROMPT", "SPAN")],
)  # fmt: skip
def test_a_step_keeps_the_finer_type_that_its_sender_gave(attribute: str, value: str, expected: str):
    assert stored(OneRecord().encoded(outbound("step", "work", {attribute: value}), "langfuse"))["type"] == expected


def test_reasoning_and_a_result_in_parts_are_shown():
    record = OneRecord()
    result: Any = {"role": "user", "parts": [
        {"type": "tool_call_response", "id": "1", "response": [{"type": "text", "content": "sunny"}]},
        {"type": "tool_call_response", "id": "2", "response": {"wind": 3}},
        {"type": "text", "content": "And now?"},
    ]}  # fmt: skip
    row = stored(generation(record, **{
        names.INPUT_MESSAGES_REF: record.thread(result),
        names.SYSTEM_INSTRUCTIONS_REF: record.value([{"type": "text", "content": "Be kind."}]),
        names.REASONING_REF: record.value("Think."),
        names.OUTPUT_MESSAGES_REF: record.thread(tool_call("3", "go", {})),
    }))  # fmt: skip
    assert json.loads(row["input"]) == [
        {"role": "system", "content": "Be kind."},
        {"role": "tool", "content": "sunny", "tool_call_id": "1"},
        {"role": "tool", "content": '{"wind":3}', "tool_call_id": "2"},
        {"role": "user", "content": "And now?"},
    ]
    output = json.loads(row["output"])
    assert output["reasoning_content"] == "Think."
    assert output["tool_calls"][0]["function"] == {"name": "go", "arguments": "{}"}


def test_tools_stand_beside_the_messages():
    record = OneRecord()
    tools = [{"type": "function", "name": "look_up"}]
    row = stored(generation(record, **{names.TOOL_DEFINITIONS_REF: record.value(tools)}))
    asked = json.loads(row["input"])
    assert (asked["tools"], len(asked["messages"])) == (tools, 4)


PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


def test_media_are_uploaded_once_and_named_by_token():
    record = OneRecord()
    data = base64.b64encode(PNG).decode()
    image: Any = {"type": "blob", "modality": "image", "mime_type": "image/png", "content": data}
    span = outbound("llm", "chat", {
        names.INPUT_MESSAGES_REF: record.thread(
            {"role": "user", "parts": [{"type": "text", "content": "What is it?"}, image]}
        ),
        names.OUTPUT_MESSAGES_REF: record.thread(text("assistant", "A square.")),
    })  # fmt: skip
    options = OutboundOptions("langfuse", media=True)
    [medium] = media_of(span, record.at_hand(), options)
    assert (medium.data, medium.content_type, medium.field) == (PNG, "image/png", "input")
    assert base64.b64decode(medium.sha256) == hashlib.sha256(PNG).digest()
    asked = json.loads(stored(encode(span, record.at_hand(), options))["input"])
    assert asked[0]["content"][1] == {"type": "image_url", "image_url": {"url": medium.token}}
    assert medium.token == f"@@@langfuseMedia:type=image/png|id={medium.id}|source=base64_data_uri@@@"
    # Without uploads the image stays in the text.
    assert base64.b64encode(PNG).decode() in stored(record.encoded(span, "langfuse"))["input"]
    assert media_of(span, record.at_hand(), OutboundOptions("langfuse", "preview", media=True)) == []


def test_bytes_that_a_tool_returned_are_a_medium():
    record = OneRecord()
    span = outbound("tool", "execute_tool draw", {names.TOOL_RESULT_REF: record.value(PNG)})
    options = OutboundOptions("langfuse", media=True)
    [medium] = media_of(span, record.at_hand(), options)
    assert (medium.data, medium.content_type, medium.field) == (PNG, "application/octet-stream", "output")
    assert stored(encode(span, record.at_hand(), options))["output"] == medium.token


def test_a_link_is_sent_in_place_of_content():
    record = OneRecord()
    span = outbound("llm", "chat", {
        names.INPUT_MESSAGES_REF: record.thread(*conversation()),
        names.OUTPUT_MESSAGES_REF: record.thread(text("assistant", "On Thursday.")), names.INPUT_TOKENS: 3,
    })  # fmt: skip
    row = stored(encode(span, OutboundContents(), OutboundOptions("langfuse", "ref")))
    assert (row["input"], row["output"]) == (f"In Playhead: {RUN_URL}", f"In Playhead: {RUN_URL}")
    assert row["usageDetails"] == {"input": 3}


def test_a_batch_with_a_span_without_ids_is_refused_whole_so_it_is_never_built():
    record = OneRecord()
    good = generation(record)
    with Langfuse() as server:
        bad = Span("", "", None, "bad", 1, 2, {})
        assert post(server, [good, bad]).status_code == 400
        assert server.observations == {}
    for broken in ({"trace_id": "0" * 32}, {"span_id": "xyz"}, {"parent_id": "0" * 16}, {"start_ns": 0}):
        span = outbound("step", "work", {})
        for name, value in broken.items():
            setattr(span.span, name, value)
        with pytest.raises(ValueError, match="id|time"):
            encode(span, OutboundContents(), OutboundOptions("langfuse"))


def test_langfuse_refuses_what_it_cannot_read():
    span = generation(OneRecord())
    with Langfuse() as server:
        assert post(server, [span], authorization="Basic bm86").status_code == 401
        assert post(server, [span], **{"x-langfuse-ingestion-version": "5"}).status_code == 400
        assert post(server, [span], **{"content-encoding": "deflate"}).status_code == 415
        assert server.observations == {}
        for _ in range(2):  # at least once: the same row
            assert post(server, [span]).status_code == 200
        assert len(server.observations) == 1


def test_characters_that_no_destination_stores_are_left_out():
    record = OneRecord()
    attributes = {names.INPUT_REF: record.value("a\x00b"), "tenant": "c\x00d\ud800"}
    span = record.encoded(outbound("step", "na\x00me", attributes), "langfuse")
    row = stored(span)
    assert (row["name"], row["input"], row["metadata"]["tenant"]) == ("name", "ab", "cd\ufffd")

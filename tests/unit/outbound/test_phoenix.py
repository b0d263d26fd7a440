"""OpenInference as Phoenix reads it from what we send."""

import base64
import json
from dataclasses import replace
from typing import Any

import httpx
import pytest

from playhead.model import names
from playhead.model.span import STATUS_ERROR, Span
from playhead.outbound.contents import OutboundContents
from playhead.outbound.encoding import encode
from playhead.outbound.options import OutboundOptions
from playhead.outbound.otlp import traces_request
from playhead.outbound.span import OutboundCost
from tests.support.backends.phoenix import KEY, Phoenix
from tests.unit.outbound.records import RUN, RUN_URL, OneRecord, conversation, outbound, text, tool_call

PROTOBUF = {"content-type": "application/x-protobuf"}


def post(server: Phoenix, spans: list[Span], **headers: str) -> httpx.Response:
    with httpx.Client(trust_env=False, timeout=60) as client:
        return client.post(f"{server.url}/v1/traces", content=traces_request(spans), headers=PROTOBUF | headers)


def stored(span: Span) -> dict[str, Any]:
    with Phoenix() as server:
        assert post(server, [span]).status_code == 200
        [row] = server.spans()
        return row


def model_call(record: OneRecord, **more: Any) -> Span:
    fields = {name: more.pop(name) for name in ("cost", "status", "status_message", "run") if name in more}
    attributes = {
        names.OPERATION: "chat", names.PROVIDER: "openai", names.REQUEST_MODEL: "gpt-4o",
        names.INPUT_MESSAGES_REF: record.thread(*conversation()),
        names.OUTPUT_MESSAGES_REF: record.thread(text("assistant", "On Thursday.")),
        names.REQUEST_REF: record.value({"model": "gpt-4o", "max_tokens": 100, "stop": ["\n"]}),
        names.TOOL_DEFINITIONS_REF: record.value([{"type": "function", "name": "look_up"}]),
        names.INPUT_TOKENS: 120, names.OUTPUT_TOKENS: 30, names.CACHE_READ_TOKENS: 40, names.CACHE_WRITE_TOKENS: 8,
        names.REASONING_TOKENS: 10, names.FINISH_REASONS: ["stop"],
    }  # fmt: skip
    return record.encoded(outbound("llm", "chat gpt-4o", attributes | more, **fields), "phoenix")


def test_a_model_call_has_messages_tools_tokens_and_cost_and_no_input_value():
    row = stored(model_call(OneRecord(), cost=OutboundCost(0.0031, 0.002, 0.0011)))
    said = row["attributes"]
    assert row["kind"] == "LLM"
    chat = {key.removeprefix("llm.input_messages."): value for key, value in said.items() if "input_messages" in key}
    assert chat == {
        "0.message.role": "system", "0.message.content": "You are brief.",
        "1.message.role": "user", "1.message.content": "Where is my order?",
        "2.message.role": "assistant", "2.message.tool_calls.0.tool_call.id": "call_1",
        "2.message.tool_calls.0.tool_call.function.name": "look_up",
        "2.message.tool_calls.0.tool_call.function.arguments": '{"order":"A1001"}',
        "3.message.role": "tool", "3.message.content": '{"status": "delayed"}', "3.message.tool_call_id": "call_1",
    }  # fmt: skip
    assert said["llm.output_messages.0.message.content"] == "On Thursday."
    assert "input.value" not in said
    assert (said["output.value"], said["output.mime_type"]) == ("On Thursday.", "text/plain")
    assert json.loads(said["llm.tools.0.tool.json_schema"]) == {"type": "function", "name": "look_up"}
    assert json.loads(said["llm.invocation_parameters"]) == {"max_tokens": 100, "stop": ["\n"]}
    assert (said["llm.model_name"], said["llm.provider"], said["llm.finish_reason"]) == ("gpt-4o", "openai", "stop")
    counts = {key.removeprefix("llm.token_count."): value for key, value in said.items() if "token_count" in key}
    assert counts == {
        "prompt": 120, "completion": 30, "total": 150, "prompt_details.cache_read": 40,
        "prompt_details.cache_write": 8, "completion_details.reasoning": 10,
    }  # fmt: skip
    costs = {key.removeprefix("llm.cost."): value for key, value in said.items() if key.startswith("llm.cost.")}
    assert costs == {"prompt": 0.002, "completion": 0.0011, "total": 0.0031}


def test_sessions_users_tags_and_metadata_are_on_every_span():
    record = OneRecord()
    run = RUN.__class__(RUN.id, RUN.name, RUN.session, RUN.user, RUN.tags, record.value({"plan": "pro"}))
    span = outbound("step", "work", {"tenant": "acme", names.GRAPH_NODE: "planner"}, run)
    said = stored(record.encoded(span, "phoenix"))["attributes"]
    assert (said["session.id"], said["user.id"], said["tag.tags"]) == (
        "conversation-42", "customer-7", ["example", "beta"],
    )  # fmt: skip
    assert json.loads(said["metadata"]) == {
        "plan": "pro", "tenant": "acme", names.RUN_ID: RUN.id, "playhead.run.name": "support", names.RUN_URL: RUN_URL,
    }  # fmt: skip
    assert said[names.RUN_URL] == RUN_URL
    assert said["graph.node.id"] == "planner"


@pytest.mark.parametrize(
    ("kind", "attributes", "expected"),
    [("agent", {}, "AGENT"), ("tool", {}, "TOOL"), ("retriever", {}, "RETRIEVER"), ("embedding", {}, "EMBEDDING"),
     ("guardrail", {}, "GUARDRAIL"), ("step", {}, "CHAIN"), ("llm", {}, "LLM"),
     ("step", {"openinference.span.kind": "EVALUATOR"}, "EVALUATOR"),
     ("retriever", {"openinference.span.kind": "RERANKER"}, "RERANKER"),
     ("tool", {"openinference.span.kind": "EVALUATOR"}, "TOOL")],
)  # fmt: skip
def test_every_kind_has_its_name_there_and_always_an_output(kind: str, attributes: dict[str, Any], expected: str):
    row = stored(OneRecord().encoded(outbound(kind, "work", attributes), "phoenix"))
    assert row["kind"] == expected
    assert "output.value" in row["attributes"]


def test_a_tool_and_an_agent_have_what_they_were_given_and_gave():
    record = OneRecord()
    said = stored(record.encoded(outbound("tool", "execute_tool refund", {
        names.TOOL_NAME: "refund", names.TOOL_CALL_ID: "call_9", "tool.description_ref": record.value("Pays back."),
        names.TOOL_ARGUMENTS_REF: record.value({"order": "A1001"}), names.TOOL_RESULT_REF: record.value("done"),
    }), "phoenix"))["attributes"]  # fmt: skip
    assert (said["tool.name"], said["tool.id"], said["tool.description"]) == ("refund", "call_9", "Pays back.")
    assert (said["input.value"], said["input.mime_type"]) == ('{"order":"A1001"}', "application/json")
    assert (said["output.value"], said["output.mime_type"]) == ("done", "text/plain")
    said = stored(record.encoded(outbound("agent", "invoke_agent support", {
        names.INPUT_REF: record.value({"task": "x"}), names.AGENT_NAME: "support",
    }), "phoenix"))["attributes"]  # fmt: skip
    assert (said["agent.name"], said["input.value"], said["output.value"]) == ("support", '{"task":"x"}', "")


def test_an_agents_conversation_is_its_input_and_output():
    record = OneRecord()
    said = stored(record.encoded(outbound("agent", "invoke_agent support", {
        names.INPUT_MESSAGES_REF: record.thread(text("user", "Hello")),
        names.OUTPUT_MESSAGES_REF: record.thread(text("assistant", "Hi")),
    }), "phoenix"))["attributes"]  # fmt: skip
    assert json.loads(said["input.value"]) == [{"role": "user", "content": "Hello"}]
    assert said["output.value"] == "Hi"
    assert not any(key.startswith("llm.") for key in said)


def test_a_retriever_has_documents():
    record = OneRecord()
    documents = [
        {"id": "d1", "content": "Lamps", "score": 0.9, "metadata": {"page": 3}},
        {"page_content": "Desks"},
        {"document": {"text": "Chairs", "score": 1}},
        "Tables",
    ]
    said = stored(record.encoded(outbound("retriever", "search", {
        names.INPUT_REF: record.value({"query": "lamp"}), names.OUTPUT_REF: record.value(documents),
    }), "phoenix"))["attributes"]  # fmt: skip
    found = {key.removeprefix("retrieval.documents."): value for key, value in said.items() if "documents" in key}
    assert found == {
        "0.document.id": "d1", "0.document.content": "Lamps", "0.document.score": 0.9,
        "0.document.metadata": '{"page":3}', "1.document.content": "Desks", "2.document.content": "Chairs",
        "2.document.score": 1.0, "3.document.content": "Tables",
    }  # fmt: skip
    assert said["output.value"] == "4 documents"


def test_an_embedding_has_its_texts_and_no_vectors():
    record = OneRecord()
    said = stored(record.encoded(outbound("embedding", "embeddings", {
        names.REQUEST_MODEL: "text-embedding-3-small", names.INPUT_REF: record.value(["a", "b"]),
        names.OUTPUT_REF: record.value({"data": [{"embedding": {"$f32": "AAAA"}}]}),
    }), "phoenix"))["attributes"]  # fmt: skip
    assert said["embedding.model_name"] == "text-embedding-3-small"
    assert said["embedding.embeddings.1.embedding.text"] == "b"
    assert "AAAA" not in json.dumps(said)


@pytest.mark.parametrize(("spent", "stored_as"), [
    ({names.INPUT_TOKENS: 8}, {"token_count.prompt": 8, "token_count.total": 8}),
    ({names.INPUT_TOKENS: 8, names.OUTPUT_TOKENS: 0},
     {"token_count.prompt": 8, "token_count.completion": 0, "token_count.total": 8}),
    ({names.INPUT_TOKENS: 8, "llm.cost.total": 0.02},
     {"token_count.prompt": 8, "token_count.total": 8, "cost.total": 0.02}),
    ({}, {}),
])  # fmt: skip
def test_an_embedding_has_its_tokens_and_cost(spent: dict[str, Any], stored_as: dict[str, Any]):
    record = OneRecord()
    said = stored(record.encoded(outbound("embedding", "embeddings", {
        names.REQUEST_MODEL: "text-embedding-3-small", names.PROVIDER: "openai",
        names.INPUT_REF: record.value(["a"]), **spent,
    }), "phoenix"))["attributes"]  # fmt: skip
    of_model = {key.removeprefix("llm."): value for key, value in said.items() if key.startswith("llm.")}
    assert of_model == {"provider": "openai", **stored_as}


def test_requested_calls_reasoning_and_images_are_in_the_messages():
    record = OneRecord()
    data = base64.b64encode(b"\x89PNG").decode()
    image: Any = {"type": "blob", "modality": "image", "mime_type": "image/png", "content": data}
    said = stored(model_call(record, **{
        names.INPUT_MESSAGES_REF: record.thread(
            {"role": "user", "parts": [{"type": "text", "content": "What is it?"}, image]}
        ),
        names.REASONING_REF: record.value("Think."),
        names.OUTPUT_MESSAGES_REF: record.thread(tool_call("3", "go", {"a": 1})),
    }))["attributes"]  # fmt: skip
    image_url = "llm.input_messages.0.message.contents.1.message_content.image.image.url"
    assert said[image_url] == f"data:image/png;base64,{data}"
    thought = "llm.output_messages.0.message.contents.0.message_content."
    assert (said[thought + "type"], said[thought + "text"]) == ("reasoning", "Think.")
    assert said["llm.output_messages.0.message.tool_calls.0.tool_call.function.name"] == "go"
    assert json.loads(said["output.value"]) == {"role": "assistant", "content": "", "tool_calls": [
        {"id": "3", "type": "function", "function": {"name": "go", "arguments": '{"a":1}'}}]}  # fmt: skip


def test_a_failed_call_has_status_and_exception():
    record = OneRecord()
    raised = {"type": "ValueError", "message": "no", "stacktrace": "Traceback", "attributes": {}}
    attributes = {names.ERROR_REF: record.value(raised)}
    span = outbound("tool", "execute_tool x", attributes, status=STATUS_ERROR, status_message="no")
    row = stored(record.encoded(span, "phoenix"))
    assert (row["status"], row["status_message"]) == ("ERROR", "no")
    assert row["events"] == [
        ("exception", {"exception.type": "ValueError", "exception.message": "no", "exception.stacktrace": "Traceback"})
    ]


def test_a_link_is_sent_in_place_of_content():
    record = OneRecord()
    span = outbound("llm", "chat", {
        names.INPUT_MESSAGES_REF: record.thread(*conversation()),
        names.OUTPUT_MESSAGES_REF: record.thread(text("assistant", "On Thursday.")), names.INPUT_TOKENS: 3,
    })  # fmt: skip
    said = stored(encode(span, OutboundContents(), OutboundOptions("phoenix", "ref")))["attributes"]
    assert said["input.value"] == said["output.value"] == f"In Playhead: {RUN_URL}"
    assert said["llm.token_count.prompt"] == 3
    assert not any("messages" in key for key in said)


def test_the_project_is_on_the_resource_and_the_header_wins():
    span = encode(outbound("step", "work", {}), OutboundContents(), OutboundOptions("phoenix", project="shop"))
    with Phoenix() as server:
        post(server, [span])
        post(server, [replace(span, trace_id="d" * 32)], **{"x-project-name": "other"})
        assert {name: len(spans) for name, spans in server.projects.items()} == {"shop": 1, "other": 1}
    assert "openinference.project.name" not in outbound("step", "work", {}).span.resource


def test_phoenix_refuses_what_it_cannot_read_and_keeps_the_first_span():
    record = OneRecord()
    span = model_call(record)
    with Phoenix(KEY) as server:
        assert post(server, [span]).status_code == 401
        assert (
            post(server, [span], authorization=f"Bearer {KEY}", **{"content-type": "application/json"}).status_code
            == 415
        )
        for _ in range(2):
            assert post(server, [span], authorization=f"Bearer {KEY}").status_code == 200
        assert len(server.spans()) == 1


def test_a_nul_costs_no_span():
    record = OneRecord()
    row = stored(record.encoded(outbound("tool", "x", {names.TOOL_RESULT_REF: record.value("a\x00b")}), "phoenix"))
    assert row["attributes"]["output.value"] == "ab"

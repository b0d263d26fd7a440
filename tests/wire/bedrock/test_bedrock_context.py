"""`context` of each call is the request body that the mock model server received."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.client import Client
from playhead.testing import MockModelServer, text, thinking, tool_call
from playhead_collector.process import CollectorProcess
from tests.wire.bedrock.boto_client import bedrock_client

SAID = thinking("hm") + text("see") + tool_call("look_up", {"order": "A1", "n": 1.0}, call_id="t1")
CACHE = {"cachePoint": {"type": "default"}}


@pytest.fixture(autouse=True)
def recording(collector: CollectorProcess, tmp_path: Path) -> Iterator[None]:
    """In place of the other tests' fixture: what is recorded here is delivered."""
    playhead.shutdown()
    playhead.configure(endpoint=collector.url, journal_dir=tmp_path / "journal", record="always")
    playhead.instrument("botocore")
    yield
    playhead.shutdown()
    playhead.uninstrument("botocore")


def as_text(value: Any) -> str:
    """Tells 1, 1.0 and true apart."""
    return json.dumps(value, sort_keys=True, indent=1)


def converse(client: Any) -> None:
    asked: dict[str, Any] = {
        "modelId": "anthropic.claude-3-5-sonnet-20240620-v1:0",
        "system": [{"text": "be kind"}, CACHE, {"text": "be brief"}],
        "inferenceConfig": {"maxTokens": 50, "stopSequences": ["x"]},
        "toolConfig": {
            "tools": [{"toolSpec": {"name": "look_up", "inputSchema": {"json": {"type": "object"}}}}, CACHE]
        },
        "additionalModelRequestFields": {"thinking": {"type": "enabled"}, "n": 1},
        "requestMetadata": {"team": "a"},
    }
    document = {"document": {"format": "pdf", "name": "bill", "source": {"bytes": b"%PDF"}, "context": "May"}}
    guarded = {"guardContent": {"text": {"text": "this", "qualifiers": ["query"]}}}
    messages: list[Any] = [{"role": "user", "content": [{"text": "what?"}, document, guarded, CACHE]}]
    for turn in range(3):
        answer = client.converse(messages=messages, **asked)
        message = answer["output"]["message"]
        messages.append(message)
        results = [
            {"toolResult": {"toolUseId": "t1", "content": [{"text": "late"}], "status": "success"}},
            {"toolResult": {"toolUseId": "t2", "content": [{"json": {"n": 1}}, {"text": "x"}], "status": "error"}},
        ]
        rest: list[Any] = [{"text": "go on"}] if turn == 1 else [CACHE]
        messages.append({"role": "user", "content": [*results, *rest]})
        if turn == 1:
            messages.append({"role": "user", "content": [results[0]]})
    list(client.converse_stream(messages=messages, **asked)["stream"])
    list(client.converse_stream(modelId="m", messages=[{"role": "user", "content": [{"text": "hi"}]}])["stream"])
    client.converse(modelId="m", messages=messages[:1], toolConfig={"tools": asked["toolConfig"]["tools"]})


def invoke(client: Any) -> None:
    hello = [{"role": "user", "content": "hello"}]
    tool = {"name": "look_up", "input_schema": {"type": "object"}}
    blocks: Any = {"role": "user", "content": [{"text": "hello"}]}
    bodies: dict[str, Any] = {
        "anthropic.claude-3-haiku": {
            "anthropic_version": "bedrock-2023-05-31", "max_tokens": 5, "system": [{"type": "text", "text": "kind"}],
            "messages": hello, "tools": [tool], "top_k": 1,
        },
        "amazon.nova-pro-v1:0": {"schemaVersion": "messages-v1", "messages": [blocks], "system": [{"text": "be kind"}]},
        "mistral.mistral-large-2407-v1:0": {"messages": hello, "tools": [], "n": 1, "seed": None},
        "meta.llama3-70b-instruct-v1:0": {"prompt": "hello", "top_p": 1.0},
        "cohere.command-r-v1:0": {
            "message": "so?", "preamble": "be kind", "chat_history": [{"role": "USER", "message": "hello"}],
        },
        "amazon.titan-text-express-v1": {"inputText": "hello", "textGenerationConfig": {"temperature": 0}},
    }  # fmt: skip
    for model, body in bodies.items():
        client.invoke_model(modelId=model, body=json.dumps(body))["body"].read()
        list(client.invoke_model_with_response_stream(modelId=model, body=json.dumps(body))["body"])


@pytest.mark.slow
@pytest.mark.covers("botocore", "messages")
@pytest.mark.parametrize("ask", [converse, invoke], ids=lambda ask: ask.__name__)
def test_the_request_is_given_back_as_it_was_sent(collector: CollectorProcess, ask: Any) -> None:
    with MockModelServer() as server, Client(collector.url) as client:
        server.otherwise(SAID)
        models = bedrock_client(server)
        with playhead.run("agent") as run:
            ask(models)
        models.close()
        assert playhead.flush(60)
        calls = list(client.llm_calls(str(run.id)))
        told = [client.context(str(run.id), at=call["seq"], exact=True).get("request") for call in calls]
        sent = [request.body for request in server.requests]
        assert [as_text(each) for each in told] == [as_text(each) for each in sent]
        assert len(told) >= 6

"""The oldest supported `botocore`: Converse and InvokeModel."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from playhead.testing import MockModelServer
from tests.oldest.program import assert_calls_are_recorded, look_up, run_resume_and_fork
from tests.support.journal_reader import Recording
from tests.wire.bedrock.boto_client import bedrock_client

MODEL = "anthropic.claude-3-5-sonnet-20240620-v1:0"
SCHEMA = {"json": {"type": "object", "properties": {"city": {"type": "string"}}}}
TOOLS: Any = {"tools": [{"toolSpec": {"name": "look_up", "inputSchema": SCHEMA}}]}


def messages(said: str) -> Any:
    return [{"role": "user", "content": [{"text": said}]}]


def answer_of(response: Any) -> Any:
    return {name: value for name, value in response.items() if name != "ResponseMetadata"}


def program(client: Any) -> list[Any]:
    system = [{"text": "be kind"}]
    whole = client.converse(modelId=MODEL, messages=messages("hello"), system=system)
    said: list[Any] = [whole["output"]["message"]["content"][0]["text"]]
    said.append(list(client.converse_stream(modelId=MODEL, messages=messages("streamed"))["stream"]))
    asked = messages("weather?")
    answer = client.converse(modelId=MODEL, messages=asked, toolConfig=TOOLS)["output"]["message"]
    [use] = [block["toolUse"] for block in answer["content"] if "toolUse" in block]
    result = {"toolUseId": use["toolUseId"], "content": [{"text": look_up(**use["input"])}]}
    asked += [answer, {"role": "user", "content": [{"toolResult": result}]}]
    said.append(client.converse(modelId=MODEL, messages=asked, toolConfig=TOOLS)["output"])
    body = {
        "anthropic_version": "bedrock-2023-05-31",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "x"}],
    }
    said.append(json.loads(client.invoke_model(modelId=MODEL, body=json.dumps(body))["body"].read()))
    streamed = client.invoke_model_with_response_stream(modelId=MODEL, body=json.dumps(body))
    said.append(list(streamed["body"]))
    try:
        client.converse(modelId=MODEL, messages=messages("fail"))
    except ClientError as error:
        said.append((type(error).__name__, error.response["Error"]["Code"]))
    given = json.dumps({"inputText": "a"})
    said.append(json.loads(client.invoke_model(modelId="amazon.titan-embed-text-v2:0", body=given)["body"].read()))
    return said


@pytest.mark.covers("botocore", "oldest")
def test_it_is_recorded_resumed_and_forked(server: MockModelServer, recording: Recording):
    client = bedrock_client(server)
    done = run_resume_and_fork(lambda: program(client), recording, server)
    client.close()
    assert_calls_are_recorded(done, provider="aws.bedrock", failed=1)
    assert len(done.calls()) == 7
    assert len(done.calls("embedding")) == 1

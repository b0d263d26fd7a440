"""The oldest supported `aiobotocore`: Converse and InvokeModel."""

import asyncio
import json
from typing import Any

import pytest
from aiobotocore.config import AioConfig
from aiobotocore.session import get_session
from botocore.exceptions import ClientError

from playhead.testing import MockModelServer
from tests.oldest.program import assert_calls_are_recorded, look_up, run_resume_and_fork
from tests.support.journal_reader import Recording

MODEL = "anthropic.claude-3-5-sonnet-20240620-v1:0"
SCHEMA = {"json": {"type": "object", "properties": {"city": {"type": "string"}}}}
TOOLS: Any = {"tools": [{"toolSpec": {"name": "look_up", "inputSchema": SCHEMA}}]}
BODY = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 100, "messages": [{"role": "user", "content": "x"}]}


def messages(said: str) -> Any:
    return [{"role": "user", "content": [{"text": said}]}]


async def ask(client: Any) -> list[Any]:
    whole = await client.converse(modelId=MODEL, messages=messages("hello"))
    said: list[Any] = [whole["output"]["message"]["content"][0]["text"]]
    streamed = await client.converse_stream(modelId=MODEL, messages=messages("streamed"))
    said.append([event async for event in streamed["stream"]])
    asked = messages("weather?")
    answer = (await client.converse(modelId=MODEL, messages=asked, toolConfig=TOOLS))["output"]["message"]
    [use] = [block["toolUse"] for block in answer["content"] if "toolUse" in block]
    result = {"toolUseId": use["toolUseId"], "content": [{"text": look_up(**use["input"])}]}
    asked += [answer, {"role": "user", "content": [{"toolResult": result}]}]
    said.append((await client.converse(modelId=MODEL, messages=asked, toolConfig=TOOLS))["output"])
    invoked = await client.invoke_model(modelId=MODEL, body=json.dumps(BODY))
    said.append(json.loads(await invoked["body"].read()))
    async with (await client.invoke_model(modelId=MODEL, body=json.dumps(BODY)))["body"] as body:
        said.append(json.loads(await body.read()))  # of the HTTP response itself, in this version
    events = await client.invoke_model_with_response_stream(modelId=MODEL, body=json.dumps(BODY))
    said.append([event async for event in events["body"]])
    try:
        await client.converse(modelId=MODEL, messages=messages("fail"))
    except ClientError as error:
        said.append((type(error).__name__, error.response["Error"]["Code"]))
    given = json.dumps({"inputText": "a"})
    vectors = await client.invoke_model(modelId="amazon.titan-embed-text-v2:0", body=given)
    said.append(json.loads(await vectors["body"].read()))
    return said


def program(url: str) -> list[Any]:
    async def main() -> list[Any]:
        config = AioConfig(retries={"max_attempts": 0, "mode": "standard"}, proxies={})
        made = get_session().create_client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=url,
            aws_access_key_id="AKIDEXAMPLE",
            aws_secret_access_key="none",
            config=config,
        )
        async with made as client:
            return await ask(client)

    return asyncio.run(main())


@pytest.mark.covers("aiobotocore", "oldest")
def test_it_is_recorded_resumed_and_forked(server: MockModelServer, recording: Recording):
    done = run_resume_and_fork(lambda: program(server.url), recording, server)
    assert_calls_are_recorded(done, provider="aws.bedrock", failed=1)
    assert len(done.calls()) == 8
    assert len(done.calls("embedding")) == 1

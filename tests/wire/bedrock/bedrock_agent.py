"""An agent on Bedrock with a tool; killed and resumed by `test_bedrock_kill.py`."""

# ruff: noqa: T201 - what it prints is what the test reads

import json
import os
from pathlib import Path
from typing import Any

import boto3

import playhead
from playhead import observe

playhead.instrument("botocore")


@observe(kind="tool")
def look_up(order: str) -> str:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(f"look_up {order}\n")
    return f"{order} is late"


@observe
def agent() -> str:
    make: Any = boto3.client
    client = make("bedrock-runtime", region_name="us-east-1", endpoint_url=os.environ["BEDROCK_URL"])
    messages: list[Any] = [{"role": "user", "content": [{"text": "Where are my orders?"}]}]
    while True:
        answer = client.converse(modelId="amazon.nova-pro-v1:0", messages=messages)
        message = answer["output"]["message"]
        messages.append(message)
        uses = [block["toolUse"] for block in message["content"] if "toolUse" in block]
        if not uses:
            break
        results = [{"toolUseId": use["toolUseId"], "content": [{"text": look_up(**use["input"])}]} for use in uses]
        messages.append({"role": "user", "content": [{"toolResult": result} for result in results]})
    said = ""
    body = json.dumps({"prompt": message["content"][-1]["text"]})
    for event in client.invoke_model_with_response_stream(modelId="meta.llama3-70b", body=body)["body"]:
        said += json.loads(event["chunk"]["bytes"])["generation"]
    client.close()
    return said


if __name__ == "__main__":
    with playhead.run("orders") as run:
        print(run.id, flush=True)
        print(agent())

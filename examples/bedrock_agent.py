"""An agent whose models are on Amazon Bedrock: Converse with a tool, a streamed reply, and a model's own API.

    python examples/bedrock_agent.py

A scripted model answers, unless AWS_ENDPOINT_URL_BEDROCK_RUNTIME names another endpoint (with credentials for it). No
collector runs.
"""

import json
import os
from typing import Any

import boto3

import playhead
from playhead import observe
from playhead.testing import MockModelServer, contains, text, thinking, tool_call, tool_result_received

CLAUDE, LLAMA = "us.anthropic.claude-sonnet-4-20250514-v1:0", "meta.llama3-70b-instruct-v1:0"
SYSTEM = [{"text": "You help customers of a shop."}, {"cachePoint": {"type": "default"}}]
LOOK_UP = {
    "name": "look_up",
    "description": "Looks an order up.",
    "inputSchema": {"json": {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}},
}


@observe(kind="tool")
def look_up(order: str) -> dict[str, str]:
    return {"order": order, "status": "delayed by two days"}


@observe
def agent(client: Any, question: str) -> str:
    """Claude looks the order up; Llama says it in one line."""
    messages: list[Any] = [{"role": "user", "content": [{"text": question}]}]
    asked: Any = {"modelId": CLAUDE, "system": SYSTEM, "toolConfig": {"tools": [{"toolSpec": LOOK_UP}]}}
    while True:
        answer = client.converse(messages=messages, **asked)
        message = answer["output"]["message"]
        messages.append(message)
        if answer["stopReason"] != "tool_use":
            break
        uses = [block["toolUse"] for block in message["content"] if "toolUse" in block]
        results = [{"toolUseId": use["toolUseId"], "content": [{"json": look_up(**use["input"])}]} for use in uses]
        messages.append({"role": "user", "content": [{"toolResult": result} for result in results]})

    messages.append({"role": "user", "content": [{"text": "Please write that as a letter."}]})
    letter = ""
    for event in client.converse_stream(messages=messages, **asked)["stream"]:
        letter += event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
    body = json.dumps({"prompt": f"In one line: {letter}", "max_gen_len": 50})
    summary = client.invoke_model(modelId=LLAMA, body=body)["body"].read()
    return f"{letter}\n({json.loads(summary)['generation']})"


def main() -> None:
    """Asks about an order."""
    with MockModelServer() as model:
        model.when(contains("In one line"), text("A1 is late."))
        model.when(contains("as a letter"), text("Dear customer, order A1 is delayed by two days. We are sorry."))
        model.when(~tool_result_received("look_up"), thinking("Which order?") + tool_call("look_up", {"order": "A1"}))
        model.otherwise(text("Order A1 is delayed by two days."))
        os.environ.setdefault("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", model.url)
        os.environ.setdefault("AWS_ACCESS_KEY_ID", "none")
        os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "none")
        client: Any = boto3.client("bedrock-runtime", region_name="us-east-1")
        print(agent(client, "Where is my order A1?"))
        client.close()


if __name__ == "__main__":
    playhead.instrument("botocore")
    main()

"""OpenHands' LLMSummarizingCondenser with the defaults of its class, asked by a CondensationRequest: the messages of
the condensed view. Its code keeps half of the events; `keep` has no influence."""

import json
import os
from importlib.metadata import version

from jobs import serve
from openhands.sdk.context.condenser import LLMSummarizingCondenser
from openhands.sdk.context.view import View
from openhands.sdk.event import (
    ActionEvent,
    Condensation,
    CondensationRequest,
    LLMConvertibleEvent,
    MessageEvent,
    ObservationEvent,
    SystemPromptEvent,
)
from openhands.sdk.llm import LLM, Message, MessageToolCall, TextContent
from openhands.sdk.mcp import MCPToolAction, MCPToolObservation
from pydantic import SecretStr

MODEL = LLM(
    model="openai/gpt-4o", base_url=os.environ["MODEL_URL"] + "/v1", api_key=SecretStr("none"), usage_id="condenser"
)


def compact(system, messages, keep):
    events = [SystemPromptEvent(system_prompt=TextContent(text=system), tools=[]), *events_of(messages)]
    condenser = LLMSummarizingCondenser(llm=MODEL)
    answer = condenser.condense(View.from_events([*events, CondensationRequest()]))
    view = View.from_events([*events, answer]) if isinstance(answer, Condensation) else answer
    left = LLMConvertibleEvent.events_to_messages(view.events)
    return [in_chat_form(message) for message in left if message.role != "system"]


def events_of(messages):
    """The events that an agent of OpenHands would have recorded: one for each message, call and result."""
    asked = {}
    for number, message in enumerate(messages):
        text = [TextContent(text=message["content"])] if message.get("content") else []
        if message["role"] == "tool":
            action = asked[message["tool_call_id"]]
            yield ObservationEvent(
                observation=MCPToolObservation(content=text, tool_name=action.tool_name),
                action_id=action.id,
                tool_name=action.tool_name,
                tool_call_id=message["tool_call_id"],
            )
        elif message.get("tool_calls"):
            for position, call in enumerate(message["tool_calls"]):
                function = call["function"]
                action = ActionEvent(
                    thought=[] if position else text,
                    action=MCPToolAction(data=json.loads(function["arguments"])),
                    tool_name=function["name"],
                    tool_call_id=call["id"],
                    tool_call=MessageToolCall(
                        id=call["id"], name=function["name"], arguments=function["arguments"], origin="completion"
                    ),
                    llm_response_id=f"answer-{number}",
                )
                asked[call["id"]] = action
                yield action
        else:
            said = Message(role=message["role"], content=text)
            yield MessageEvent(source="user" if message["role"] == "user" else "agent", llm_message=said)


def in_chat_form(message):
    """A message of OpenHands in the form of Chat Completions."""
    said = {"role": message.role, "content": "".join(part.text for part in message.content) or None}
    if message.tool_calls:
        said["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.role == "tool":
        said["tool_call_id"] = message.tool_call_id
    return said


serve(version("openhands-sdk"), compact)

"""An agent of the OpenHands SDK with three tools, as users write one; it prints the agent's answer."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from openhands.sdk import LLM, Action, Agent, Conversation, Observation, Tool, ToolDefinition, register_tool
from openhands.sdk.tool import ToolExecutor
from pydantic import Field, SecretStr

from playhead.testing.order_tools import QUESTION, audit, look_up, refund


class OrderAction(Action):
    order: str = Field(description="The order's number.")


class RefundAction(Action):
    order: str = Field(description="The order's number.")
    amount: float = Field(description="What to pay back.")


class OrderObservation(Observation):
    order: str = ""
    status: str = ""


class TextObservation(Observation):
    pass


class LookUpExecutor(ToolExecutor[OrderAction, OrderObservation]):
    def __call__(self, action: OrderAction, conversation: Any = None) -> OrderObservation:
        found = look_up(action.order)
        return OrderObservation.from_text(str(found), **found)


class AuditExecutor(ToolExecutor[OrderAction, TextObservation]):
    def __call__(self, action: OrderAction, conversation: Any = None) -> TextObservation:
        return TextObservation.from_text(audit(action.order))


class RefundExecutor(ToolExecutor[RefundAction, TextObservation]):
    def __call__(self, action: RefundAction, conversation: Any = None) -> TextObservation:
        return TextObservation.from_text(refund(action.order, action.amount))


class LookUpTool(ToolDefinition[OrderAction, OrderObservation]):
    @classmethod
    def create(cls, conv_state: Any = None, **_: Any) -> Sequence["LookUpTool"]:
        return [
            cls(
                description="Look an order up.",
                action_type=OrderAction,
                observation_type=OrderObservation,
                executor=LookUpExecutor(),
            )
        ]


class AuditTool(ToolDefinition[OrderAction, TextObservation]):
    @classmethod
    def create(cls, conv_state: Any = None, **_: Any) -> Sequence["AuditTool"]:
        return [
            cls(
                description="Check an order.",
                action_type=OrderAction,
                observation_type=TextObservation,
                executor=AuditExecutor(),
            )
        ]


class RefundTool(ToolDefinition[RefundAction, TextObservation]):
    @classmethod
    def create(cls, conv_state: Any = None, **_: Any) -> Sequence["RefundTool"]:
        return [
            cls(
                description="Pay an order back.",
                action_type=RefundAction,
                observation_type=TextObservation,
                executor=RefundExecutor(),
            )
        ]


def answer_of(conversation: Any) -> str:
    """The text of the agent's last message."""
    said = [event for event in conversation.state.events if type(event).__name__ == "MessageEvent"]
    return "".join(part.text for part in said[-1].llm_message.content)


if __name__ == "__main__":
    for tool in (LookUpTool, AuditTool, RefundTool):
        register_tool(tool.name, tool)
    # Only options that are asked for: the oldest versions do not have them.
    streamed: dict[str, Any] = {"stream": True} if "stream" in sys.argv else {}
    options: dict[str, Any] = {"tool_concurrency_limit": 2} if "concurrent" in sys.argv else {}
    if "include_default_tools" in Agent.model_fields:
        options["include_default_tools"] = []
    llm = LLM(
        model="openai/gpt-4o",
        base_url=os.environ["OPENAI_BASE_URL"],
        api_key=SecretStr("none"),
        num_retries=0,
        usage_id="agent",
        **streamed,
    )
    agent = Agent(llm=llm, tools=[Tool(name=tool.name) for tool in (LookUpTool, AuditTool, RefundTool)], **options)
    with tempfile.TemporaryDirectory() as folder:
        conversation = Conversation(
            agent=agent,
            workspace=folder,
            visualizer=None,
            **({"token_callbacks": [lambda chunk: None]} if streamed else {}),
        )
        conversation.send_message(QUESTION)
        if "async" in sys.argv:
            asyncio.run(conversation.arun())
        else:
            conversation.run()
        print(answer_of(conversation))  # noqa: T201 - what it prints is what the test reads
        conversation.close()

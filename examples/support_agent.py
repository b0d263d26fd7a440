"""A support agent, recorded: a tool-calling loop with the `openai` client, and what Playhead needs to see it.

    python examples/support_agent.py

It talks to whatever OPENAI_BASE_URL and OPENAI_API_KEY name, or, when neither is set, to a model server of its own
that says what is written at the end of this file: no key, no network. What it does is recorded: start `playhead serve`
to receive it, then see `playhead show last`.
"""

import json
import os
from collections.abc import Callable
from typing import Any

import openai

import playhead
from playhead import observe
from playhead.testing import MockModelServer, contains, text, thinking, tool_call, tool_calls, tool_requested

SYSTEM = (
    "You are the support agent of a small shop. Look things up before you answer, promise nothing that a tool has not "
    "confirmed, and be brief and kind."
)
WRITE = "Now write the reply to the customer."
TASK = "Order A1001 has not arrived, and I was charged twice for it. Where is it, and can I have my money back?"

# --- tools: ordinary functions, observed -----------------------------------------------------------------------------

ORDERS: dict[str, dict[str, Any]] = {
    "A1001": {"order": "A1001", "item": "walnut desk lamp", "total": 89.0, "charged": [89.0, 89.0], "parcel": "P-77"}
}


@observe(kind="tool")
def look_up_order(order: str) -> dict[str, Any]:
    return ORDERS[order]


@observe(kind="tool")
def track_parcel(order: str) -> dict[str, Any]:
    return {"order": order, "parcel": "P-77", "status": "delayed", "expected": "Thursday"}


@observe(kind="tool")
def refund(order: str, amount: float) -> dict[str, Any]:
    paid, due = sum(ORDERS[order]["charged"]), ORDERS[order]["total"]
    if amount > paid - due:
        raise ValueError(f"at most {paid - due:.2f} can be refunded: {due:.2f} is what the item costs")
    return {"order": order, "refunded": amount}


TOOLS: dict[str, Callable[..., Any]] = {tool.__name__: tool for tool in (look_up_order, track_parcel, refund)}


def definition(name: str, description: str, **types: str) -> Any:
    properties = {argument: {"type": kind} for argument, kind in types.items()}
    parameters = {"type": "object", "properties": properties, "required": list(types)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


DEFINITIONS = [
    definition("look_up_order", "What was ordered, what it costs, and what was charged.", order="string"),
    definition("track_parcel", "Where an order's parcel is.", order="string"),
    definition("refund", "Pay back an amount that was charged for an order.", order="string", amount="number"),
]

# --- the agent -------------------------------------------------------------------------------------------------------


class SupportAgent:
    """Calls the model until it asks for no more tools, then has it write the reply, which is streamed."""

    def __init__(self, client: openai.OpenAI, model: str = "gpt-4o-mini") -> None:
        self.client = client
        self.model = model

    @observe(kind="agent", name="support_agent")
    def answer(self, task: str) -> str:
        messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task}]
        while True:
            message = self.ask(messages)
            messages.append(message.model_dump(exclude_none=True, exclude={"reasoning_content"}))  # thinking stays here
            if not message.tool_calls:
                break
            for call in message.tool_calls:
                result = self.call(call.function.name, call.function.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
            playhead.checkpoint({"messages": len(messages)})
        messages.append({"role": "user", "content": WRITE})
        return self.write(messages)

    def ask(self, messages: list[Any]) -> Any:
        completion = self.client.chat.completions.create(model=self.model, messages=messages, tools=DEFINITIONS)
        return completion.choices[0].message

    def call(self, name: str, arguments: str) -> str:
        """What a tool answers, as text for the model; also when it fails, for the model may know what to do."""
        try:
            return json.dumps(TOOLS[name](**json.loads(arguments)))
        except Exception as error:  # noqa: BLE001 - whatever it is, the model is told
            playhead.annotate(decision="tell the model", reason=f"{name} failed", alternatives=["give up", "try again"])
            return f"error: {error}"

    def write(self, messages: list[Any]) -> str:
        stream = self.client.chat.completions.create(
            model=self.model, messages=messages, stream=True, stream_options={"include_usage": True}
        )
        return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


# --- a model server that plays the model, for those without one ------------------------------------------------------

REPLY = (
    "I am sorry for the trouble! Your walnut desk lamp is delayed and should arrive on Thursday. You were charged "
    "twice by mistake; the second charge of 89.00 is on its way back to you."
)


def scripted_model() -> MockModelServer:
    """Looks up two things at once, refunds too much, is told so, refunds less, and writes to the customer."""
    server = MockModelServer()
    facts = tool_calls(tool_call("look_up_order", {"order": "A1001"}), tool_call("track_parcel", {"order": "A1001"}))
    server.when(contains(WRITE, role="user", last=True), text(REPLY))
    server.when(~tool_requested("look_up_order"), thinking("Two questions: the parcel and the money.") + facts)
    too_much = tool_call("refund", {"order": "A1001", "amount": 178.0})
    server.when(~tool_requested("refund"), thinking("Charged twice, so everything goes back.") + too_much)
    less = tool_call("refund", {"order": "A1001", "amount": 89.0})
    server.when(~contains('"refunded"', role="tool"), thinking("Only the second charge, then.") + less)
    server.otherwise(text("Refunded 89.00, the second charge. The parcel is delayed and expected on Thursday."))
    return server


def client_of(server: MockModelServer) -> openai.OpenAI:
    # Not through a proxy that the environment may name: the server is on this machine.
    http = openai.DefaultHttpxClient(trust_env=False)
    return openai.OpenAI(base_url=server.base_url, api_key="none", http_client=http)


# --- a conversation --------------------------------------------------------------------------------------------------


def handle(client: openai.OpenAI, task: str) -> str:
    with playhead.run("support", session="conversation-42", user="customer-7", tags=["example"]) as run:
        run.state["ticket"] = {"order": "A1001", "status": "open"}
        reply = SupportAgent(client).answer(task)
        run.state["ticket"] = {"order": "A1001", "status": "answered"}
        return reply


def main() -> None:
    playhead.instrument("openai")
    if "OPENAI_BASE_URL" in os.environ or "OPENAI_API_KEY" in os.environ:
        with openai.OpenAI() as client:
            print(handle(client, TASK))
    else:
        with scripted_model() as server, client_of(server) as client:
            print(handle(client, TASK))


if __name__ == "__main__":
    main()

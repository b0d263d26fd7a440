"""An agent on Gemini, cut off and resumed: the client calls the tools, and none runs twice.

    python examples/gemini_agent.py

The tools are plain functions that the client calls for the model (automatic function calling). Each request of the
client is a model call in the record, and each function a tool. Nothing is set up for this: a scripted model answers,
and no collector runs.
"""

import os

from google import genai
from google.genai import types

import playhead
from playhead.testing import MockModelServer, text, thinking, tool_call, tool_result_received

ORDERS = {"A1": "delayed by two days", "B2": "delivered"}


class PowerCut(Exception):
    """Ends the first attempt."""


def look_up(order: str) -> str:
    """Looks an order up.

    Args:
        order: the number of the order
    """
    print(f"  looks up {order}")
    return ORDERS[order]


def write_to_customer(order: str, message: str) -> str:
    """Writes to the customer."""
    print(f"  writes about {order}: {message}")
    return "sent"


def agent(question: str, *, is_cut_off: bool) -> str | None:
    config = types.GenerateContentConfig(
        system_instruction="You help customers with their orders.",
        tools=[look_up, write_to_customer],
        thinking_config=types.ThinkingConfig(include_thoughts=True),
    )
    with genai.Client() as client:
        chat = client.chats.create(model="gemini-2.5-flash", config=config)
        said = chat.send_message(question).text
        if is_cut_off:
            raise PowerCut
        return f"{said} {chat.send_message('Thank you!').text}"


def main() -> None:
    """Asks a scripted model, unless the environment names another."""
    playhead.instrument("google.genai")
    with MockModelServer() as model:
        model.when(~tool_result_received("look_up"), thinking("Which order?") + tool_call("look_up", {"order": "A1"}))
        write = tool_call("write_to_customer", {"order": "A1", "message": "two days late"})
        model.when(~tool_result_received("write_to_customer"), write)
        model.otherwise(text("Your order comes two days late."))
        os.environ.setdefault("GOOGLE_GEMINI_BASE_URL", model.url)
        os.environ.setdefault("GEMINI_API_KEY", "none")
        print("The first attempt:")
        try:
            with playhead.run("support") as run:
                agent("Where is order A1?", is_cut_off=True)
        except PowerCut:
            print("  is cut off")
        assert run.id is not None
        print("The second one goes on, without a call that was made:")
        with playhead.resume(run.id) as rewound, playhead.run("support"):
            print(agent("Where is order A1?", is_cut_off=False))
        print(f"{rewound.report.answered} calls were answered from the record, {rewound.report.live} made.")


if __name__ == "__main__":
    main()

"""A research agent with the `anthropic` client: thinks, calls tools, and streams its report.

    python examples/anthropic_agent.py

It talks to Anthropic when ANTHROPIC_API_KEY is set, else to a model server of its own that says what is written at the
end of this file: no key, no network.  Everything is recorded; a run that dies goes on where it was with
`playhead.resume(run_id)`, and asks no question twice.
"""

import os
from typing import Any

import anthropic

import playhead
from playhead import observe
from playhead.testing import MockModelServer, contains, text, thinking, tool_call, tool_calls, tool_result_received

SYSTEM = "You compare cities for people who want to move. Look up what you can, and say what you do not know."
TASK = "Is Bern or Basel the warmer city?"
WRITE = "Now write the report."
MODEL = "claude-sonnet-5"

TOOLS: Any = [
    {
        "name": "temperature",
        "description": "The mean temperature of a city in a year, in degrees Celsius.",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "cache_control": {"type": "ephemeral"},  # all before it is cached, too
    }
]


@observe(kind="tool")
def temperature(city: str) -> str:
    return {"Bern": "9.3", "Basel": "11.0"}[city]


@observe(kind="agent")
def research(client: anthropic.Anthropic, task: str) -> str:
    messages: list[Any] = [{"role": "user", "content": task}]
    while True:
        answer = client.messages.create(
            model=MODEL, max_tokens=2048, system=SYSTEM, tools=TOOLS, messages=messages, thinking={"type": "adaptive"}
        )
        # Thoughts go back with their signatures: the API wants them as it gave them.
        messages.append({"role": "assistant", "content": answer.content})
        results: list[Any] = [
            {"type": "tool_result", "tool_use_id": block.id, "content": temperature(str(block.input["city"]))}
            for block in answer.content
            if block.type == "tool_use"
        ]
        if not results:
            break
        messages.append({"role": "user", "content": results})
        playhead.checkpoint({"messages": len(messages)})
    messages.append({"role": "user", "content": WRITE})
    with client.messages.stream(model=MODEL, max_tokens=2048, system=SYSTEM, tools=TOOLS, messages=messages) as stream:
        for piece in stream.text_stream:
            print(piece, end="", flush=True)
        print()
        return stream.get_final_text()


def scripted_model() -> MockModelServer:
    """Looks both cities up at once, and writes what it found."""
    server = MockModelServer()
    both = tool_calls(tool_call("temperature", {"city": "Bern"}), tool_call("temperature", {"city": "Basel"}))
    server.when(~tool_result_received("temperature"), thinking("I need both numbers.") + both)
    server.when(contains(WRITE, role="user", last=True), text("Basel, with 11.0 degrees on average; Bern has 9.3."))
    server.otherwise(thinking("11.0 is more than 9.3.") + text("Basel is warmer."))
    return server


def main() -> None:
    playhead.instrument("anthropic")
    with playhead.run("research", tags=["example"]):
        if "ANTHROPIC_API_KEY" in os.environ:
            with anthropic.Anthropic() as client:
                research(client, TASK)
        else:
            with scripted_model() as server, anthropic.Anthropic(base_url=server.url, api_key="none") as client:
                research(client, TASK)


if __name__ == "__main__":
    main()

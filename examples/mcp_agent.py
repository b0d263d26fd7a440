"""An agent whose tools are on an MCP server: the server's work is part of the agent's run.

    python examples/mcp_agent.py

The server is this file, too, in a process of its own over stdio. Both are instrumented, so the record has the agent's
call of the tool, and inside it what the server did for it. Nothing is set up for this: a scripted model answers, and no
collector runs.
"""

import asyncio
import json
import os
import sys
from typing import Any

import openai
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.server.mcpserver import MCPServer

import playhead
from playhead import observe
from playhead.testing import MockModelServer, text, tool_call, tool_result_received

server = MCPServer("orders", log_level="WARNING")
ORDERS = {"A1": "delayed by two days", "B2": "delivered"}


@observe
def read_database(order: str) -> str:
    playhead.annotate(decision="read the orders of this year", reason=f"{order} is recent")
    return ORDERS[order]


@server.tool()
async def look_up(order: str) -> dict[str, str]:
    """Looks an order up."""
    return {"order": order, "status": read_database(order)}


async def tools_of(session: ClientSession) -> list[Any]:
    """The server's tools, as the model is offered them."""
    listed = await session.list_tools()
    return [
        {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.input_schema}}
        for t in listed.tools
    ]


@observe
async def agent(session: ClientSession, question: str) -> str:
    messages: list[Any] = [{"role": "user", "content": question}]
    async with openai.AsyncOpenAI() as client:
        tools = await tools_of(session)
        while True:
            answer = await client.chat.completions.create(model="gpt-4o-mini", messages=messages, tools=tools)
            said = answer.choices[0].message
            if not said.tool_calls:
                return said.content or ""
            messages.append(said)
            for asked in said.tool_calls:
                assert asked.type == "function"
                result = await session.call_tool(asked.function.name, json.loads(asked.function.arguments))
                print(f"  {asked.function.name} says: {result.structured_content}")
                content = json.dumps(result.structured_content)
                messages.append({"role": "tool", "tool_call_id": asked.id, "content": content})


async def ask_with_server(question: str) -> str:
    """Starts the server, and asks the agent."""
    here = StdioServerParameters(command=sys.executable, args=[__file__, "serve"], env=dict(os.environ))
    async with stdio_client(here) as streams, ClientSession(*streams) as session:
        await session.initialize()
        return await agent(session, question)


def main() -> None:
    """Asks a scripted model, unless the environment names another."""
    with MockModelServer() as model:
        model.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
        model.otherwise(text("Your order A1 is delayed by two days."))
        os.environ.setdefault("OPENAI_BASE_URL", model.base_url)
        os.environ.setdefault("OPENAI_API_KEY", "none")
        print(asyncio.run(ask_with_server("Where is my order A1?")))


if __name__ == "__main__":
    playhead.instrument("openai", "mcp")
    if sys.argv[1:] == ["serve"]:
        server.run("stdio")
    else:
        main()

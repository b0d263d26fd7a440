"""An agent on the Claude Agent SDK, with a tool of its own: one recorded run.

    python examples/frameworks/claude_agent.py

Nothing is set up for this: Claude Code, which the SDK brings, asks a scripted model, and no collector runs.
"""

import asyncio
import tempfile
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, create_sdk_mcp_server, query, tool

import playhead
from playhead.testing import MockModelServer, text, tool_call, tool_result_received

playhead.instrument()


@tool("look_up", "Looks an order up", {"order": str})
async def look_up(given: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"{given['order']} is late by two days"}]}


async def main() -> None:
    with MockModelServer() as server, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        server.when(~tool_result_received("mcp__shop__look_up"), tool_call("mcp__shop__look_up", {"order": "A1"}))
        server.otherwise(text("Your order A1 is late by two days."))
        options = ClaudeAgentOptions(
            mcp_servers={"shop": create_sdk_mcp_server("shop", tools=[look_up])},
            allowed_tools=["mcp__shop"],
            tools=[],
            setting_sources=[],
            cwd=home,
            env={
                "ANTHROPIC_BASE_URL": server.url,
                "ANTHROPIC_API_KEY": "none",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "HOME": home,
                "CLAUDE_CONFIG_DIR": home,
            },
        )
        async for message in query(prompt="Where is my order A1?", options=options):
            if isinstance(message, ResultMessage):
                print(message.result)


if __name__ == "__main__":
    asyncio.run(main())

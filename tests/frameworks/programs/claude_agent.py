"""An agent on the Claude Agent SDK with a tool of its own, as users write one; run by `test_claude_agent_killed.py`."""

# ruff: noqa: T201 - what it prints is what the test reads

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage, create_sdk_mcp_server, tool

import playhead

playhead.instrument()


@tool("refund", "Refunds an order", {"order": str})
async def refund(given: dict[str, Any]) -> dict[str, Any]:
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(f"refund {given['order']}\n")
    if "DIE_INSIDE" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"content": [{"type": "text", "text": "refunded"}]}


async def main() -> str:
    home = Path(os.environ["EFFECTS"]).parent
    env = {
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
    }
    options = ClaudeAgentOptions(
        mcp_servers={"shop": create_sdk_mcp_server("shop", tools=[refund])},
        allowed_tools=["mcp__shop"],
        tools=[],
        model="claude-sonnet-4-5",
        setting_sources=[],
        cwd=home,
        env=env,
    )
    with playhead.run("support"):
        async with ClaudeSDKClient(options) as client:
            await client.query("Refund A1, please.")
            answers = [message async for message in client.receive_response() if isinstance(message, ResultMessage)]
    return str(answers[-1].result)


if __name__ == "__main__":
    print(asyncio.run(main()))

"""An agent that asks a model, and tools of an MCP server over stdio; killed and resumed by `test_mcp_replay.py`."""

# ruff: noqa: T201 - what it prints is what the test reads

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import openai
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CallToolResult

import playhead
from playhead import observe

playhead.instrument("openai", "mcp")
SERVER = Path(__file__).with_name("weather_server.py")
CITIES = ("Rome", "Oslo", "Lima")


async def told(session: ClientSession, city: str) -> str:
    result = await session.call_tool("forecast", {"city": city, "days": 2})
    assert isinstance(result, CallToolResult)
    assert result.structured_content is not None
    return str(result.structured_content["sky"])


@observe
async def agent() -> list[str]:
    client = openai.AsyncOpenAI()
    kept = {name: os.environ[name] for name in ("EFFECTS", "PLAYHEAD_JOURNAL_DIR", "PYTHONPATH")}
    kept |= {"PLAYHEAD_ENDPOINT": "http://127.0.0.1:9", "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1", "INSTRUMENTED": "1"}
    said: list[str] = []
    async with (
        stdio_client(StdioServerParameters(command=sys.executable, args=[str(SERVER), "stdio"], env=kept)) as streams,
        ClientSession(*streams) as session,
    ):
        await session.initialize()
        for number, city in enumerate(CITIES, 1):
            said.append(await told(session, city))
            asked: Any = [{"role": "user", "content": said[-1]}]
            if str(number) == os.environ.get("DIE_AT"):
                os.kill(os.getpid(), signal.SIGKILL)
            answer = await client.chat.completions.create(model="m", messages=asked)
            said.append(answer.choices[0].message.content or "")
    await client.close()
    return said


if __name__ == "__main__":
    with playhead.run("weather") as run:
        print(run.id, flush=True)
        print(json.dumps(asyncio.run(agent())))

"""An MCP server as users write one, in a process of its own: over stdio, or over HTTP on a port that it prints.

Its work is recorded there if INSTRUMENTED is set, into the journal that the environment names.
"""

# ruff: noqa: T201 - what it prints is what the test reads

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.mcpserver import Context, MCPServer

import playhead
from playhead import observe

if os.environ.get("INSTRUMENTED"):
    playhead.instrument("mcp")
server = MCPServer("weather", log_level="CRITICAL")


@observe
def look_outside(city: str) -> str:
    playhead.annotate(decision="look", reason=city)
    return f"sunny in {city}"


@server.tool()
async def forecast(city: str, days: int = 1) -> dict[str, Any]:
    """Tells the weather."""
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(f"forecast {city} {days}\n")
    return {"city": city, "sky": look_outside(city)}


@server.tool()
async def slow(ctx: Context[Any, Any]) -> str:
    """Reports its progress, and does not end."""
    await ctx.report_progress(1, 2, "half")
    await asyncio.sleep(60)
    return "done"


async def over_http() -> None:
    config = uvicorn.Config(server.streamable_http_app(), host="127.0.0.1", port=0, log_level="critical")
    http = uvicorn.Server(config)
    serving = asyncio.create_task(http.serve())
    while not http.started:
        await asyncio.sleep(0.01)
    print(http.servers[0].sockets[0].getsockname()[1], flush=True)
    await serving


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        asyncio.run(over_http())

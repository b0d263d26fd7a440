"""An MCP server on mcp 1, over stdio; run by `test_mcp_adapters.py`."""

import os
from pathlib import Path

from mcp.server.fastmcp import FastMCP

server = FastMCP("weather", log_level="CRITICAL")


@server.tool()
async def forecast(city: str) -> str:
    """Says how the weather will be."""
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(f"forecast {city}\n")
    return f"sunny in {city}"


if __name__ == "__main__":
    server.run("stdio")

"""The MCP SDK, which writes spans by itself."""

import asyncio

from mcp import Client
from mcp.server import MCPServer
from scene import CITY, flush, look_up_weather, otlp

providers = otlp()
server = MCPServer("weather")
server.tool()(look_up_weather)


async def talk():
    async with Client(server) as client:
        with providers[0].get_tracer("app").start_as_current_span("clerk"):
            await client.call_tool("look_up_weather", {"city": CITY})


asyncio.run(talk())
flush(*providers)

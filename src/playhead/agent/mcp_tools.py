"""Tools of an MCP server, for an agent. Needs the package `mcp`, whose session the program opens itself."""

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from playhead.agent.signatures import ToolSignature
from playhead.agent.tools import Tool
from playhead.api.promises.asking import ToolRule
from playhead.errors import PlayheadError

if TYPE_CHECKING:
    from mcp import ClientSession


class McpToolFailed(PlayheadError):
    """An MCP server's tool answered with an error; the message is the server's."""


async def mcp_tools(
    session: "ClientSession", *, prefix: str = "", approval: ToolRule | None = None
) -> list[Tool[..., Any]]:
    """Returns the tools of a server, for `tools=` of an agent or a task.

    `session`: an initialized `mcp.ClientSession`, open as long as the tools are used. `prefix`: put before each name.
    What a tool is said to do with its world (`readOnlyHint`) is its `writes`: without a word, it writes.
    """
    from mcp.types import PaginatedRequestParams  # noqa: PLC0415 - it is not installed for every agent

    asking: Any = session
    page: Any = await asking.list_tools()
    listed: list[Any] = [*page.tools]
    while (cursor := _field(page, "next_cursor", "nextCursor")) is not None:
        page = await asking.list_tools(params=PaginatedRequestParams(cursor=cursor))
        listed += page.tools
    return [McpTool(session, each, prefix, approval) for each in listed]


class McpTool(Tool[..., Coroutine[Any, Any, str]]):
    """A tool of an MCP server. The server checks the arguments."""

    def __init__(self, session: "ClientSession", listed: Any, prefix: str, approval: ToolRule | None) -> None:
        async def call(**arguments: Any) -> str:
            result: Any = await session.call_tool(listed.name, arguments)
            text = "\n".join(_text(item) for item in result.content)
            if _field(result, "is_error", "isError"):
                raise McpToolFailed(text or "the tool failed, and says nothing")
            return text

        read_only = _field(listed.annotations, "read_only_hint", "readOnlyHint") is True
        super().__init__(
            call, name=f"{prefix}{listed.name}", description=listed.description or listed.name,
            writes=not read_only, approval=approval,
        )  # fmt: skip
        schema = _field(listed, "input_schema", "inputSchema") or {"type": "object"}
        anything: TypeAdapter[Any] = TypeAdapter(dict[str, Any])
        self.signature = ToolSignature(self._description or "", dict(schema), None, anything)


def _field(of: object, *spellings: str) -> Any:
    """Returns a field, which is spelled as in Python from mcp 2.0 on, and as in JSON before; None if it is not set."""
    return next((getattr(of, name) for name in spellings if hasattr(of, name)), None)


def _text(item: Any) -> str:
    text = getattr(item, "text", None)
    return text if isinstance(text, str) else item.model_dump_json(exclude_none=True)

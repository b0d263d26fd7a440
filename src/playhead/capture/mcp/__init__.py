"""The `mcp` library: a client's tool calls, resources and prompts.  The server's work is part of the client's run.

Not recorded: `list_tools` and the like, `initialize`, `ping` and `complete`, which are cheap and have no effect; also a
server's requests to its client (sampling, elicitation, roots) and progress.
"""

from collections.abc import Collection
from typing import Any

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

from playhead.capture.mcp.client_calls import observing, remember_server
from playhead.capture.mcp.reading import read_prompt, read_resource, read_tool_call
from playhead.capture.mcp.server_side import handle_request, handle_request_v1, send_request_v1
from playhead.capture.patching import Instrumentation, Wrap

SUPPORTS = "mcp >= 1.10"

_READERS = {"call_tool": read_tool_call, "read_resource": read_resource, "get_prompt": read_prompt}
_CLIENTS = (
    ("mcp.client.session", "ClientSession", False),
    (
        "mcp.client.client",
        "Client",
        True,
    ),  # since mcp 2.0; repeats a session's call until the server has everything it asks for
)


class McpInstrumentor(BaseInstrumentor):
    """For `opentelemetry-instrument`, and for programs that use OpenTelemetry's instrumentors."""

    def instrumentation_dependencies(self) -> Collection[str]:
        """Returns the supported versions of the library."""
        return (SUPPORTS,)

    def _instrument(self, **kwargs: Any) -> None:
        patch()

    def _uninstrument(self, **kwargs: Any) -> None:
        unpatch()


_mcp = Instrumentation(
    [
        *(
            Wrap(module, f"{owner}.{method}", observing(read), is_optional=is_optional)
            for module, owner, is_optional in _CLIENTS
            for method, read in _READERS.items()
        ),
        Wrap("mcp.client.session", "ClientSession.initialize", remember_server, is_optional=True),
        Wrap("mcp.server.runner", "ServerRunner._on_request", handle_request, is_optional=True),
        # Before mcp 2.0:
        Wrap("mcp.shared.session", "BaseSession.send_request", send_request_v1, is_optional=True),
        Wrap("mcp.server.lowlevel.server", "Server._handle_request", handle_request_v1, is_optional=True),
    ]
)
patch, unpatch = _mcp.patch, _mcp.unpatch

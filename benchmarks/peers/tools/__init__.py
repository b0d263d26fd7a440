"""One module per tool: its decorator as its documentation says to use it, and a look at what it recorded.

Modules other than `playhead_tool` are imported in the peers' environment only. Each has `make_tool()`.
"""

NAMES = ("langfuse", "langsmith", "logfire", "mlflow", "openinference", "traceloop")
"""The other tools, by the names of their modules here without `_tool`."""

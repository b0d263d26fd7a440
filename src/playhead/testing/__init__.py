"""Tools for tests of agents: a mock model server with the APIs of several providers, and runs recorded in memory.

    with MockModelServer() as server:
        server.when(contains("refund") & ~tool_result_received("lookup"), tool_call("lookup", {"order": "A1"}))
        server.otherwise(text("done"))
        client = openai.OpenAI(base_url=server.base_url, api_key="none")

The flow: socket → listener → endpoint → protocols → script (rules → answers, or trajectories) → protocols → socket.
`recorder` records the program under test as runs (`recorded_run`); `pytest_plugin` has the fixtures.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playhead.testing import scenarios
    from playhead.testing.answers import (
        context_too_long,
        delay,
        dropped_connection,
        malformed_tool_call,
        rate_limit,
        server_error,
        text,
        thinking,
        tool_call,
        tool_calls,
    )
    from playhead.testing.recorder import RunRecorder, complete, run_program
    from playhead.testing.request import ChatRequest
    from playhead.testing.rules import (
        Rule,
        any_request,
        contains,
        context_exceeds,
        regex,
        sequence,
        tool_offered,
        tool_requested,
        tool_result_received,
    )
    from playhead.testing.script import RecordedAnswers, Script
    from playhead.testing.server import MockModelServer
    from playhead.testing.trajectories import Trajectories, Trajectory, UnreadableTrajectories

__all__ = [
    "ChatRequest",
    "MockModelServer",
    "RecordedAnswers",
    "Rule",
    "RunRecorder",
    "Script",
    "Trajectories",
    "Trajectory",
    "UnreadableTrajectories",
    "any_request",
    "complete",
    "contains",
    "context_exceeds",
    "context_too_long",
    "delay",
    "dropped_connection",
    "malformed_tool_call",
    "rate_limit",
    "regex",
    "run_program",
    "scenarios",
    "sequence",
    "server_error",
    "text",
    "thinking",
    "tool_call",
    "tool_calls",
    "tool_offered",
    "tool_requested",
    "tool_result_received",
]

_MODULES = (
    "answers", "request", "rules", "trajectories", "server", "script", "recorder",
)  # fmt: skip


def __getattr__(name: str) -> object:
    # pytest imports this package in every session of everyone who has playhead installed; it must cost them nothing,
    # so the modules are imported at the first use of a name.
    if name == "scenarios":
        return import_module(f"{__name__}.scenarios")
    if name in __all__:
        for module in map(import_module, (f"{__name__}.{short}" for short in _MODULES)):
            if name in vars(module):
                return vars(module)[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Returns the public names, loaded or not, and this module's other names."""
    return sorted({*globals(), *__all__})

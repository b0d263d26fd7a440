"""Captures of `plain_agents` that are wrong, each in one way."""

import dataclasses
import sys
from types import ModuleType
from typing import Any

from plain_agents_capture import (
    AGENT,
    RESULTS,
    TOOL,
    read_agent,
    read_tool,
)

from playhead.capture_kit import (
    CapturedTool,
    Instrumentation,
    MethodCall,
    Patch,
    ToolResults,
    Wrap,
    agents,
    intercepted,
    tools,
)


def _module(*patches: Patch) -> Any:
    instrumentation = Instrumentation(patches)
    module = ModuleType("wrong_capture")
    vars(module).update(SUPPORTS="plain-agents", patch=instrumentation.patch, unpatch=instrumentation.unpatch)
    return module


def _other_id(called: MethodCall) -> CapturedTool:
    return dataclasses.replace(read_tool(called), call_id="another")


def _unreadable(called: MethodCall) -> Any:
    return called.client.no_such_attribute


@intercepted
def _louder(function: Any, called: MethodCall) -> object:
    return called.make(function).upper()


_EXECUTE = ("plain_agents", "PlainTool.execute")

no_tools = _module(AGENT)
no_agents = _module(TOOL)
other_ids = _module(AGENT, tools(*_EXECUTE, _other_id, RESULTS))
unreadable_tools = _module(AGENT, tools(*_EXECUTE, _unreadable, RESULTS))
not_rebuilt = _module(AGENT, tools(*_EXECUTE, read_tool, ToolResults(RESULTS.to_record, error_in=RESULTS.error_in)))
no_errors = _module(AGENT, tools(*_EXECUTE, read_tool, ToolResults(RESULTS.to_record, RESULTS.from_record)))
tools_run_again = _module(AGENT, agents(*_EXECUTE, read_agent))
always_idempotent = _module(
    AGENT, tools(*_EXECUTE, lambda called: dataclasses.replace(read_tool(called), idempotent=True), RESULTS)
)
changed_results = _module(Wrap("plain_agents", "PlainAgent.run", _louder), TOOL)
no_capture = sys

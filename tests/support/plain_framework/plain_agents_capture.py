"""The capture of `plain_agents`, through the public contract alone."""

from typing import Any

from playhead.capture_kit import CapturedAgent, CapturedTool, Instrumentation, MethodCall, ToolResults, agents, tools

SUPPORTS = "plain-agents >= 1"


def read_agent(called: MethodCall) -> CapturedAgent:
    return CapturedAgent(called.client.name, called.argument(0, "question"))


def read_tool(called: MethodCall) -> CapturedTool:
    return CapturedTool(called.client.name, called.argument(0, "arguments"), called.argument(1, "call_id"))


def to_record(output: Any) -> object:
    return {"text": output.text, "is_error": True} if output.is_error else output.text


def from_record(recorded: Any, _: MethodCall) -> object:
    from plain_agents import ToolOutput

    return ToolOutput(**recorded) if isinstance(recorded, dict) else ToolOutput(recorded)


def error_in(output: Any) -> str | None:
    return output.text if output.is_error else None


RESULTS = ToolResults(to_record, from_record, error_in)
AGENT = agents("plain_agents", "PlainAgent.run", read_agent)
TOOL = tools("plain_agents", "PlainTool.execute", read_tool, RESULTS)

_plain_agents = Instrumentation([AGENT, TOOL])
patch, unpatch = _plain_agents.patch, _plain_agents.unpatch

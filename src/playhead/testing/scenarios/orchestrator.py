"""Orchestrator with sub-agents: one model plans and delegates, others do the work, the first one puts it together."""

from __future__ import annotations

from playhead.testing.answers import text, thinking, tool_call, tool_calls
from playhead.testing.rules import tool_offered, tool_requested
from playhead.testing.scenarios.scenario import Scenario, ScenarioLine, instructed

_DELEGATED = tool_calls(
    tool_call("delegate", {"agent": "researcher", "task": "What do heat pumps cost to run?"}),
    tool_call("delegate", {"agent": "analyst", "task": "Compare that with gas for a house of 120 m²."}),
)

SCENARIO = Scenario(
    "the tool delegate(agent, task) for the agents researcher, analyst and writer, whose system prompts say so",
    (
        ScenarioLine(
            tool_offered("delegate") & ~tool_requested("delegate"), thinking("Facts first, then numbers.") + _DELEGATED
        ),
        ScenarioLine(
            tool_offered("delegate"), text("Over ten years a heat pump saves about 6000 against gas in such a house.")
        ),
        ScenarioLine(instructed("researcher"), text("About 900 a year for electricity at a factor of 3.5.")),
        ScenarioLine(instructed("analyst"), text("Gas costs about 1500 a year: 600 more than the heat pump.")),
        ScenarioLine(instructed("writer"), text("Heat pumps pay off within ten years.")),
    ),
)

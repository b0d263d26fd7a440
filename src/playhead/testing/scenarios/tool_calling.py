"""Tool calling: two calls at once, then one with their results, then the answer."""

from __future__ import annotations

from playhead.testing.answers import text, thinking, tool_call, tool_calls
from playhead.testing.rules import tool_offered, tool_requested, tool_result_received
from playhead.testing.scenarios.scenario import Scenario, ScenarioLine

_BOTH = tool_calls(tool_call("get_weather", {"city": "Paris"}), tool_call("get_weather", {"city": "Rome"}))

SCENARIO = Scenario(
    "the tools get_weather(city) and convert(celsius): which of Paris and Rome is warmer, in Fahrenheit?",
    (
        ScenarioLine(tool_offered("get_weather") & ~tool_requested("get_weather"), thinking("Both cities.") + _BOTH),
        ScenarioLine(tool_offered("convert") & ~tool_requested("convert"), tool_call("convert", {"celsius": 24})),
        ScenarioLine(tool_result_received("convert"), text("Rome is warmer: 24 °C, which is 75.2 °F.")),
    ),
)

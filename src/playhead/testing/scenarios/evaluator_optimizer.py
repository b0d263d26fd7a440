"""Evaluator and optimizer: one model writes, another one judges, until it passes."""

from __future__ import annotations

from playhead.testing.answers import text
from playhead.testing.rules import contains
from playhead.testing.scenarios.scenario import Scenario, ScenarioLine, instructed

_FIRST = "Our lamp is a very good lamp that is really good for many kinds of rooms."
_SECOND = "A walnut desk lamp with warm light, made for reading at night."

SCENARIO = Scenario(
    "a system prompt that says evaluate gets PASS or FAIL with a reason; one that says write gets a draft, or a better "
    "one after a FAIL",
    (
        ScenarioLine(instructed("evaluate") & contains(_SECOND), text("PASS: concrete and short")),
        ScenarioLine(instructed("evaluate"), text("FAIL: says good twice and nothing concrete")),
        ScenarioLine(instructed("write") & contains("FAIL"), text(_SECOND)),
        ScenarioLine(instructed("write"), text(_FIRST)),
    ),
)

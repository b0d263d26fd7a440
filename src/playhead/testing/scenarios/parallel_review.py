"""Parallel review: several reviewers look at one change at the same time, and one more combines what they found."""

from __future__ import annotations

from playhead.testing.answers import text
from playhead.testing.scenarios.scenario import Scenario, ScenarioLine, instructed

SCENARIO = Scenario(
    "system prompts that say combine, security, performance or readability: a change is reviewed",
    (
        ScenarioLine(
            instructed("combine"),
            text("Request changes: use a parameter in the query (high), read the rows in one query (medium)."),
        ),
        ScenarioLine(instructed("security"), text("high: the user's name is put into the SQL text; use a parameter")),
        ScenarioLine(instructed("performance"), text("medium: one query per row; read them in one")),
        ScenarioLine(instructed("readability"), text("low: `d` should be called `orders`")),
    ),
)

"""Routing: support tickets are classified, and each class has an agent of its own."""

from __future__ import annotations

from playhead.testing.answers import text
from playhead.testing.scenarios.scenario import Scenario, ScenarioLine, asked, instructed

_BILLING = asked("charged|invoice|refund|money")
_TECHNICAL = asked("crash|error|log ?in|password")

SCENARIO = Scenario(
    "a system prompt that says classify gets billing, technical or general; one that says billing, technical or "
    "support gets a reply",
    (
        ScenarioLine(instructed("classify") & _BILLING, text("billing")),
        ScenarioLine(instructed("classify") & _TECHNICAL, text("technical")),
        ScenarioLine(instructed("classify"), text("general")),
        ScenarioLine(instructed("billing"), text("The second charge is on its way back to you; allow three days.")),
        ScenarioLine(instructed("technical"), text("Please update to 4.2.1, which fixes this, and sign in again.")),
        ScenarioLine(instructed("support"), text("We are open from Monday to Friday, nine to five.")),
    ),
)

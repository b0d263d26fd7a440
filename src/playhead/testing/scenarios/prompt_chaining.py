"""Prompt chaining: a document is processed in steps, each with the result of the one before."""

from __future__ import annotations

from playhead.testing.answers import text
from playhead.testing.scenarios.scenario import Scenario, ScenarioLine, asked

_FACTS = '{"parties": ["Northwind", "Contoso"], "term_months": 24, "notice_days": 90, "fee_per_month": 1200}'
_SUMMARY = "Northwind rents to Contoso for 24 months at 1200 a month; either may end it with 90 days' notice."
_TRANSLATED = "Northwind vermietet an Contoso: 24 Monate zu je 1200; Kündigung mit einer Frist von 90 Tagen."

SCENARIO = Scenario(
    "prompts that say extract, check, summarize or translate: a contract becomes facts, a summary, a translation",
    (
        ScenarioLine(asked("extract"), text(_FACTS)),
        ScenarioLine(asked("check"), text("complete")),
        ScenarioLine(asked("summari[sz]e"), text(_SUMMARY)),
        ScenarioLine(asked("translate"), text(_TRANSLATED)),
    ),
)

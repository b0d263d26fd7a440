"""Scenarios of several prompts that work together: in a chain, by route, side by side, in a loop, with sub-agents."""

from playhead.testing.answers import text, thinking, tool_call, tool_calls
from playhead.testing.rules import contains, tool_offered, tool_requested
from playhead.testing.scenarios.prompts import asked, instructed, json_text
from playhead.testing.script import Script

# --- document processing ----------------------------------------------------------------------------------------------

# A quarterly report becomes facts, a recommendation, a document.
_DOCUMENT = """\
# Northwind, third quarter

## Executive Summary

Recommendation: **BUY**. Revenue grew by 18 % to 412 million at a margin of 24 %, and the shares cost 14 times earnings.

## Risks

One customer brings 22 % of the revenue.
"""

DOCUMENT_PROCESSING = (
    Script(
        description="system prompts that say extract, analyse or format: a quarterly report becomes facts as JSON, an "
        "analysis as JSON, and a document with an executive summary"
    )
    .when(
        instructed(r"\bextract\b"),
        thinking("The figures are what matters: revenue, growth, margin, price.")
        + json_text(
            company="Northwind",
            quarter="Q3",
            revenue_millions=412,
            growth_percent=18,
            margin_percent=24,
            price_to_earnings=14,
            largest_customer_percent=22,
        ),
    )
    .when(
        instructed(r"\banaly[sz]e\b"),
        thinking("Growth of 18 % at 14 times earnings is cheap; one large customer is the risk.")
        + json_text(
            recommendation="BUY",
            confidence=0.8,
            reasons=["revenue grew by 18 %", "14 times earnings"],
            risks=["one customer brings 22 % of the revenue"],
        ),
    )
    .when(instructed(r"\bformat\b"), thinking("The recommendation comes first, then the risks.") + text(_DOCUMENT))
)


# --- prompt chaining --------------------------------------------------------------------------------------------------

# A document is processed in steps, each with the result of the one before.
_CONTRACT_FACTS = '{"parties": ["Northwind", "Contoso"], "term_months": 24, "notice_days": 90, "fee_per_month": 1200}'
_CONTRACT_SUMMARY = "Northwind rents to Contoso for 24 months at 1200 a month; either may end it with 90 days' notice."
_CONTRACT_IN_GERMAN = "Northwind vermietet an Contoso: 24 Monate zu je 1200; Kündigung mit einer Frist von 90 Tagen."

PROMPT_CHAINING = (
    Script(
        description="prompts that say extract, check, summarize or translate: a contract becomes facts, a summary, a "
        "translation"
    )
    .when(asked("extract"), text(_CONTRACT_FACTS))
    .when(asked("check"), text("complete"))
    .when(asked("summari[sz]e"), text(_CONTRACT_SUMMARY))
    .when(asked("translate"), text(_CONTRACT_IN_GERMAN))
)


# --- ticket routing ---------------------------------------------------------------------------------------------------

_ABOUT_BILLING = asked("charged|invoice|refund|money")
_ABOUT_TECHNOLOGY = asked("crash|error|log ?in|password")

TICKET_ROUTING = (
    Script(
        description="a system prompt that says classify gets a category (billing, technical or general) and a "
        "confidence as JSON; one that says billing, technical or general gets a reply"
    )
    .when(
        instructed("classify") & _ABOUT_BILLING,
        thinking("It is about a charge.") + json_text(category="billing", confidence=0.97),
    )
    .when(
        instructed("classify") & _ABOUT_TECHNOLOGY,
        thinking("Something in the app does not work.") + json_text(category="technical", confidence=0.94),
    )
    .when(
        instructed("classify"),
        thinking("Neither money nor the app.") + json_text(category="general", confidence=0.71),
    )
    .when(
        instructed("billing"),
        thinking("Two equal charges: the second one goes back.")
        + text("The second charge is on its way back to you; allow three days."),
    )
    .when(
        instructed("technical"),
        thinking("Error 17 is known, and 4.2.1 has the fix.")
        + text("Please update to 4.2.1, which fixes this, and sign in again."),
    )
    .when(
        instructed("general"),
        thinking("The opening hours answer it.") + text("We are open from Monday to Friday, nine to five."),
    )
)


# --- routing ----------------------------------------------------------------------------------------------------------

# As above, with a word instead of JSON.
ROUTING = (
    Script(
        description="a system prompt that says classify gets billing, technical or general; one that says billing, "
        "technical or support gets a reply"
    )
    .when(instructed("classify") & _ABOUT_BILLING, text("billing"))
    .when(instructed("classify") & _ABOUT_TECHNOLOGY, text("technical"))
    .when(instructed("classify"), text("general"))
    .when(instructed("billing"), text("The second charge is on its way back to you; allow three days."))
    .when(instructed("technical"), text("Please update to 4.2.1, which fixes this, and sign in again."))
    .when(instructed("support"), text("We are open from Monday to Friday, nine to five."))
)


# --- code review ------------------------------------------------------------------------------------------------------

CODE_REVIEW = (
    Script(
        description="system prompts that say security, performance or style: a change gets a score of 10 and issues "
        "with severity, type, line, description and fix, as JSON"
    )
    .when(
        instructed("security"),
        thinking("The user's name comes from outside and is put into the SQL text.")
        + json_text(
            score=2,
            issues=[
                {
                    "severity": "high",
                    "type": "sql_injection",
                    "line": 2,
                    "description": "The user's name is put into the SQL text.",
                    "fix": "Give it to the query as a parameter.",
                }
            ],
        ),
    )
    .when(
        instructed("performance"),
        thinking("One query for each id; the database can find them all at once.")
        + json_text(
            score=5,
            issues=[
                {
                    "severity": "medium",
                    "type": "query_per_row",
                    "line": 2,
                    "description": "There is one query for each id.",
                    "fix": "Read all of them in one query, with `id = any(...)`.",
                }
            ],
        ),
    )
    .when(
        instructed("style"),
        thinking("The name says nothing, and the line has more than 80 characters.")
        + json_text(
            score=7,
            issues=[
                {
                    "severity": "low",
                    "type": "naming",
                    "line": 2,
                    "description": "`d` does not say what it holds.",
                    "fix": "Call it `orders`.",
                },
                {
                    "severity": "low",
                    "type": "line_length",
                    "line": 2,
                    "description": "The line has 94 characters.",
                    "fix": "Break it after the bracket.",
                },
            ],
        ),
    )
)


# --- parallel review --------------------------------------------------------------------------------------------------

# Several reviewers look at one change at the same time, and one more combines what they found.
PARALLEL_REVIEW = (
    Script(description="system prompts that say combine, security, performance or readability: a change is reviewed")
    .when(
        instructed("combine"),
        text("Request changes: use a parameter in the query (high), read the rows in one query (medium)."),
    )
    .when(instructed("security"), text("high: the user's name is put into the SQL text; use a parameter"))
    .when(instructed("performance"), text("medium: one query per row; read them in one"))
    .when(instructed("readability"), text("low: `d` should be called `orders`"))
)


# --- evaluator and optimizer ------------------------------------------------------------------------------------------

# One model writes, another one judges, until it passes.
_FIRST_DRAFT = "Our lamp is a very good lamp that is really good for many kinds of rooms."
_BETTER_DRAFT = "A walnut desk lamp with warm light, made for reading at night."
_FEEDBACK = "It says good twice, and nothing concrete."

EVALUATOR_OPTIMIZER = (
    Script(
        description="a system prompt that says evaluate gets passed and feedback as JSON; one that says write gets a "
        "draft, or a better one where the feedback is in the messages"
    )
    .when(
        instructed("evaluate") & contains(_BETTER_DRAFT),
        thinking("Material, light and use are named, in one sentence.") + json_text(passed=True, feedback=""),
    )
    .when(
        instructed("evaluate"),
        thinking("Nothing in it tells this lamp from another.") + json_text(passed=False, feedback=_FEEDBACK),
    )
    .when(
        instructed("write") & contains(_FEEDBACK),
        thinking("Concrete, then: what it is made of, and what it is for.") + text(_BETTER_DRAFT),
    )
    .when(instructed("write"), thinking("Something friendly about a lamp.") + text(_FIRST_DRAFT))
)


# --- orchestrator with sub-agents -------------------------------------------------------------------------------------

# One model plans and delegates, others do the work, the first one puts it together.
_DELEGATED = tool_calls(
    tool_call("delegate", {"agent": "researcher", "task": "What do heat pumps cost to run?"}),
    tool_call("delegate", {"agent": "analyst", "task": "Compare that with gas for a house of 120 m²."}),
)

ORCHESTRATOR = (
    Script(
        description="the tool delegate(agent, task) for the agents researcher, analyst and writer, whose system "
        "prompts say so"
    )
    .when(tool_offered("delegate") & ~tool_requested("delegate"), thinking("Facts first, then numbers.") + _DELEGATED)
    .when(tool_offered("delegate"), text("Over ten years a heat pump saves about 6000 against gas in such a house."))
    .when(instructed("researcher"), text("About 900 a year for electricity at a factor of 3.5."))
    .when(instructed("analyst"), text("Gas costs about 1500 a year: 600 more than the heat pump."))
    .when(instructed("writer"), text("Heat pumps pay off within ten years."))
)

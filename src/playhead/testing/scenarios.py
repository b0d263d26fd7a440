"""[scenarios] → script.  Answers of the mock model for agent patterns that people often test.

A scenario is a list of rules with their answers, in order. The rules use only words of the prompts and tools, so they
work for every provider's protocol. They keep no state: any number of agents can use one scenario at a time (except for
faults that occur once, in `error_recovery`).
"""

from __future__ import annotations

from dataclasses import dataclass

from playhead.testing.answers import (
    Answering,
    malformed_tool_call,
    rate_limit,
    server_error,
    text,
    thinking,
    tool_call,
    tool_calls,
)
from playhead.testing.rules import (
    Rule,
    any_request,
    contains,
    regex,
    tool_offered,
    tool_requested,
    tool_result_received,
)


@dataclass(frozen=True, slots=True)
class ScenarioLine:
    """One rule and its answer; at most `times` times, if given."""

    rule: Rule
    answer: Answering
    times: int | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """The rules of a scenario. `description`: the prompts and tools that it expects."""

    description: str
    lines: tuple[ScenarioLine, ...]


def asked(words: str) -> Rule:
    """Matches if the user's last message has these words (a regular expression, in upper or lower case)."""
    return regex(f"(?i){words}", role="user", last=True)


def instructed(words: str) -> Rule:
    """Matches if the system prompt has these words (a regular expression, in upper or lower case)."""
    return regex(f"(?i){words}", role="system")


# --- code assistant ---------------------------------------------------------------------------------------------------

# In several turns: it searches, reads and edits files, and asks before it edits.
_PRICES_FILE = "shop/prices.py"
_ASKED_TO_FIND, _ASKED_TO_FIX, _ASKED_TO_TEST = asked("why|where|find"), asked("fix|change|edit"), asked("test")
_PRICES_EDIT = {"path": _PRICES_FILE, "old": "total * discount", "new": "total * (1 - discount)"}

_CODE_ASSISTANT = Scenario(
    "the tools search_files(pattern), read_file(path), edit_file(path, old, new) and run_tests(); questions that say "
    "why or find, then fix, then test. A result of edit_file with `denied` leaves the file as it is",
    (
        ScenarioLine(
            _ASKED_TO_FIND & ~tool_requested("search_files"), tool_call("search_files", {"pattern": "discount"})
        ),
        ScenarioLine(_ASKED_TO_FIND & ~tool_requested("read_file"), tool_call("read_file", {"path": _PRICES_FILE})),
        ScenarioLine(
            _ASKED_TO_FIND,
            text(f"`{_PRICES_FILE}` multiplies by the discount itself, so ten percent off leaves ten percent."),
        ),
        ScenarioLine(
            _ASKED_TO_FIX & ~tool_requested("edit_file"),
            thinking("One line is wrong.") + tool_call("edit_file", _PRICES_EDIT),
        ),
        ScenarioLine(_ASKED_TO_FIX & contains("denied", role="tool"), text("I have left the file as it is.")),
        ScenarioLine(_ASKED_TO_FIX, text("Done: the discount is now taken off the total.")),
        ScenarioLine(_ASKED_TO_TEST & ~tool_requested("run_tests"), tool_call("run_tests", {})),
        ScenarioLine(_ASKED_TO_TEST & contains("failed", role="tool"), text("The tests still fail.")),
        ScenarioLine(_ASKED_TO_TEST, text("All tests pass.")),
    ),
)


# --- orchestrator with sub-agents -------------------------------------------------------------------------------------

# One model plans and delegates, others do the work, the first one puts it together.
_DELEGATED = tool_calls(
    tool_call("delegate", {"agent": "researcher", "task": "What do heat pumps cost to run?"}),
    tool_call("delegate", {"agent": "analyst", "task": "Compare that with gas for a house of 120 m²."}),
)

_ORCHESTRATOR = Scenario(
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


# --- routing ----------------------------------------------------------------------------------------------------------

# Support tickets are classified, and each class has an agent of its own.
_ABOUT_BILLING = asked("charged|invoice|refund|money")
_ABOUT_TECHNOLOGY = asked("crash|error|log ?in|password")

_ROUTING = Scenario(
    "a system prompt that says classify gets billing, technical or general; one that says billing, technical or "
    "support gets a reply",
    (
        ScenarioLine(instructed("classify") & _ABOUT_BILLING, text("billing")),
        ScenarioLine(instructed("classify") & _ABOUT_TECHNOLOGY, text("technical")),
        ScenarioLine(instructed("classify"), text("general")),
        ScenarioLine(instructed("billing"), text("The second charge is on its way back to you; allow three days.")),
        ScenarioLine(instructed("technical"), text("Please update to 4.2.1, which fixes this, and sign in again.")),
        ScenarioLine(instructed("support"), text("We are open from Monday to Friday, nine to five.")),
    ),
)


# --- errors and recovery ----------------------------------------------------------------------------------------------

# A rate limit, a server error, arguments that are not JSON, a tool that fails; then success.
_CAN_BOOK = tool_offered("book_room")

_ERROR_RECOVERY = Scenario(
    "the tool book_room(room, day), which should say that it is taken for A and booked for B; the first two requests "
    "fail, and the first tool call is malformed",
    (
        ScenarioLine(any_request(), rate_limit(0), times=1),
        ScenarioLine(any_request(), server_error(503), times=1),
        ScenarioLine(
            _CAN_BOOK & ~tool_requested("book_room"), malformed_tool_call("book_room", '{"room": "A", '), times=1
        ),
        ScenarioLine(contains("booked", role="tool"), text("Room B is booked for Monday; A was taken.")),
        ScenarioLine(contains("taken", role="tool"), tool_call("book_room", {"room": "B", "day": "Monday"})),
        ScenarioLine(_CAN_BOOK, tool_call("book_room", {"room": "A", "day": "Monday"})),
    ),
)


# --- evaluator and optimizer ------------------------------------------------------------------------------------------

# One model writes, another one judges, until it passes.
_FIRST_DRAFT = "Our lamp is a very good lamp that is really good for many kinds of rooms."
_BETTER_DRAFT = "A walnut desk lamp with warm light, made for reading at night."

_EVALUATOR_OPTIMIZER = Scenario(
    "a system prompt that says evaluate gets PASS or FAIL with a reason; one that says write gets a draft, or a better "
    "one after a FAIL",
    (
        ScenarioLine(instructed("evaluate") & contains(_BETTER_DRAFT), text("PASS: concrete and short")),
        ScenarioLine(instructed("evaluate"), text("FAIL: says good twice and nothing concrete")),
        ScenarioLine(instructed("write") & contains("FAIL"), text(_BETTER_DRAFT)),
        ScenarioLine(instructed("write"), text(_FIRST_DRAFT)),
    ),
)


# --- prompt chaining --------------------------------------------------------------------------------------------------

# A document is processed in steps, each with the result of the one before.
_CONTRACT_FACTS = '{"parties": ["Northwind", "Contoso"], "term_months": 24, "notice_days": 90, "fee_per_month": 1200}'
_CONTRACT_SUMMARY = "Northwind rents to Contoso for 24 months at 1200 a month; either may end it with 90 days' notice."
_CONTRACT_IN_GERMAN = "Northwind vermietet an Contoso: 24 Monate zu je 1200; Kündigung mit einer Frist von 90 Tagen."

_PROMPT_CHAINING = Scenario(
    "prompts that say extract, check, summarize or translate: a contract becomes facts, a summary, a translation",
    (
        ScenarioLine(asked("extract"), text(_CONTRACT_FACTS)),
        ScenarioLine(asked("check"), text("complete")),
        ScenarioLine(asked("summari[sz]e"), text(_CONTRACT_SUMMARY)),
        ScenarioLine(asked("translate"), text(_CONTRACT_IN_GERMAN)),
    ),
)


# --- parallel review --------------------------------------------------------------------------------------------------

# Several reviewers look at one change at the same time, and one more combines what they found.
_PARALLEL_REVIEW = Scenario(
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


# --- tool calling -----------------------------------------------------------------------------------------------------

# Two calls at once, then one with their results, then the answer.
_BOTH_CITIES = tool_calls(tool_call("get_weather", {"city": "Paris"}), tool_call("get_weather", {"city": "Rome"}))

_TOOL_CALLING = Scenario(
    "the tools get_weather(city) and convert(celsius): which of Paris and Rome is warmer, in Fahrenheit?",
    (
        ScenarioLine(
            tool_offered("get_weather") & ~tool_requested("get_weather"), thinking("Both cities.") + _BOTH_CITIES
        ),
        ScenarioLine(tool_offered("convert") & ~tool_requested("convert"), tool_call("convert", {"celsius": 24})),
        ScenarioLine(tool_result_received("convert"), text("Rome is warmer: 24 °C, which is 75.2 °F.")),
    ),
)


# --- all scenarios, by name -------------------------------------------------------------------------------------------

_SCENARIOS = {
    "code_assistant": _CODE_ASSISTANT,
    "error_recovery": _ERROR_RECOVERY,
    "evaluator_optimizer": _EVALUATOR_OPTIMIZER,
    "orchestrator": _ORCHESTRATOR,
    "parallel_review": _PARALLEL_REVIEW,
    "prompt_chaining": _PROMPT_CHAINING,
    "routing": _ROUTING,
    "tool_calling": _TOOL_CALLING,
}
NAMES = tuple(_SCENARIOS)


def load(name: str) -> Scenario:
    """The scenario of this name; raises ValueError with the names that there are."""
    if name not in _SCENARIOS:
        raise ValueError(f"there is no scenario {name!r}; choose one of {', '.join(NAMES)}")
    return _SCENARIOS[name]

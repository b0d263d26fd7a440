"""[analysis]: the rules of findings against steps."""

from playhead_collector.analysis.rules import StrengthRule

# --- values -----------------------------------------------------------------------------------------------------------

VALUE_FROM_NOWHERE = StrengthRule(
    "value_from_nowhere",
    "likely",
    "a value in a tool call stands nowhere in the context, and follows from nothing there",
)
VALUE_UNASKED = StrengthRule(
    "value_unasked", "likely", "a small number in a call that changes something, of which no user and no result spoke"
)
OTHER_SUBJECT = StrengthRule(
    "other_subject", "likely", "a value in a tool call stands only with another subject than the call names"
)

# --- answers against results ------------------------------------------------------------------------------------------

FIELD_CONTRADICTED = StrengthRule(
    "field_contradicted", "likely", "an answer gives a field of a record another value than the result that has it"
)
COUNT_CONTRADICTED = StrengthRule(
    "count_contradicted",
    "likely",
    "an answer says how many there are, and the list that was returned has another number",
)
SIGN_MISREAD = StrengthRule(
    "sign_misread",
    "strong",
    "a tool computed a negative number, and the answer speaks of the same amount as an extra cost",
)
AGE_CONTRADICTED = StrengthRule(
    "age_contradicted", "strong", "an answer says that something is recent, and its recorded time is longer ago"
)
COMPARISON_FALSE = StrengthRule(
    "comparison_false", "likely", "an answer compares two quantities of one kind, and the comparison is false"
)
NOT_THE_LEAST = StrengthRule(
    "not_the_least",
    "strong",
    "an answer calls an option the cheapest, and the listing has a cheaper one that it leaves out",
)
UNAVAILABLE = StrengthRule("unavailable", "strong", "an answer offers what the listing has, of which none is available")
NOT_DONE = StrengthRule("not_done", "likely", "an answer says that something was done, and no call did it")

# --- refusals ---------------------------------------------------------------------------------------------------------

REFUSED_WITHOUT_LOOKING = StrengthRule(
    "refused_without_looking", "likely", "an answer says that something cannot be done, and no tool had been called"
)
DEMANDED_AGAIN = StrengthRule(
    "demanded_again", "likely", "an answer asks for what the user had just said not to have, and calls no tool"
)
TOOL_NOT_TRIED = StrengthRule(
    "tool_not_tried", "weak", "an answer declines, or hands over, what a tool was offered for that was never called"
)

# --- calls ------------------------------------------------------------------------------------------------------------

ERROR_IGNORED = StrengthRule(
    "error_ignored", "likely", "a tool call failed, and the answer of the agent that saw it goes on as if it had not"
)
CALL_FAILED = StrengthRule("call_failed", "weak", "a tool call failed")
CALL_REPEATED = StrengthRule(
    "call_repeated", "weak", "the same tool call was made again, with nothing changed in between"
)

# --- rules of the system prompt ---------------------------------------------------------------------------------------

ORDER_BROKEN = StrengthRule(
    "order_broken", "likely", "the system prompt asks for a confirmation first, and the user had not given one"
)
LIMIT_BROKEN = StrengthRule("limit_broken", "strong", "a tool call has more of something than the system prompt allows")
AMOUNT_BROKEN = StrengthRule(
    "amount_broken",
    "likely",
    "a tool call has an amount for what the system prompt prices, and it is no multiple of that",
)
AGAINST_RESTRICTION = StrengthRule(
    "against_restriction", "weak", "a step does what a restriction of the system prompt speaks of"
)

# --- lost facts, siblings, outcome ------------------------------------------------------------------------------------

# A finding has the strength of the need in the audit of the compression.
FACT_LOST = StrengthRule(
    "fact_lost", "likely", "a fact left the context before this step, which needed it; as strong as the audit says"
)
DIVERGED = StrengthRule("diverged", "strong", "a call that no succeeded run of the same task made")
CALL_MISSING = StrengthRule("call_missing", "weak", "a call that every succeeded run of the same task made is missing")
OUTCOME_RESTS_ON = StrengthRule(
    "outcome_rests_on", "likely", "a change that the run made rests on this step: it made it, or offered it first"
)

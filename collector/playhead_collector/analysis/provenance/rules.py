"""[analysis]: the rules that trace values to their sources and find why tools were called."""

from playhead_collector.analysis.rules import StrengthRule

# --- values: occurrences ----------------------------------------------------------------------------------------------

USER_SAID = StrengthRule("user_said", "strong", "it stands in a user's words")
BESIDE_IN_RESULT = StrengthRule(
    "beside_in_result", "strong", "it stands in a result, under the argument's name or beside other values of the call"
)
LISTED_IN_RESULT = StrengthRule(
    "listed_in_result", "likely", "the same, and the tool's definition lists it, so that it stands in many results"
)
IDENTIFIER_IN_RESULT = StrengthRule("identifier_in_result", "strong", "an identifier that stands in a result by itself")
ALONE_IN_RESULT = StrengthRule("alone_in_result", "likely", "any other value that stands in a result by itself")
AGENT_SAID = StrengthRule("agent_said", "likely", "it stands in an agent's own earlier words")
SYSTEM_SAID = StrengthRule("system_said", "likely", "it stands in a system message")
DEFINITION_ONLY = StrengthRule(
    "definition_only", "weak", "it stands in the tool's definition only: its examples, often"
)
WORD_OF_CODE = StrengthRule(
    "word_of_code", "weak", "it stands nowhere in the context, and is a usual word of code or of file formats"
)
BUILT_BY_PROGRAM = StrengthRule(
    "built_by_program", "likely", "it stands nowhere in the context, and the program made the call by itself"
)
NOWHERE = StrengthRule("nowhere", "likely", "it stands nowhere in the context, and follows from nothing there")

# --- values: small ones -----------------------------------------------------------------------------------------------

SMALL_USER_SAID = StrengthRule(
    "small_user_said", "likely", "a small value in a user's words, beside a word like the argument's name"
)
SMALL_IN_RESULT = StrengthRule(
    "small_in_result", "likely", "a small value in a result, beside a word like the argument's name"
)
SMALL_BESIDE = StrengthRule(
    "small_beside", "weak", "a small value in an agent's or system words, beside a word like the argument's name"
)
SMALL_BY_CHANCE = StrengthRule("small_by_chance", "weak", "a small value that stands somewhere, perhaps by chance")
SMALL_NOWHERE = StrengthRule("small_nowhere", "weak", "a small value that nobody spoke of")
IMPLIED_CLEARLY = StrengthRule("implied_clearly", "likely", "a yes or no: the user spoke of it with such a word")
IMPLIED = StrengthRule("implied", "weak", "a yes or no: the user spoke of it, or answered the agent who asked")
LIST_LENGTH = StrengthRule("list_length", "likely", "the length of a list in the same arguments")
DEFINITION_DEFAULT = StrengthRule("definition_default", "likely", "the default of the tool's definition")
DEFINITION_ALLOWS = StrengthRule("definition_allows", "weak", "one of the values that the tool's definition allows")
EMPTY = StrengthRule("empty", "weak", "what is written when there is nothing")

# --- values: derived --------------------------------------------------------------------------------------------------

DATE_OTHER_FORM = StrengthRule("date_other_form", "strong", "the same date in another form")
DATE_THIS_YEAR = StrengthRule("date_this_year", "strong", "a date without its year, in the year of the current date")
DATE_NEXT_YEAR = StrengthRule("date_next_year", "likely", "a date without its year, in the next year")
DATE_NO_YEAR = StrengthRule(
    "date_no_year", "weak", "a date without its year, and the context does not say the current date"
)
DATE_THIS_MONTH = StrengthRule("date_this_month", "weak", "a day without its month, in the current month")
DATE_RELATIVE = StrengthRule(
    "date_relative", "likely", "`tomorrow`, a weekday or `in two weeks`, from the current date"
)
DATE_SHIFTED = StrengthRule("date_shifted", "likely", "the day after or before a date, and a user spoke of such a day")
DATE_BETWEEN = StrengthRule("date_between", "weak", "a day between two that a user named")
COMPUTED = StrengthRule(
    "computed", "likely", "a sum, difference, product or other unit; one way, from at most two numbers"
)
COMPUTED_INDIRECTLY = StrengthRule("computed_indirectly", "weak", "the same, in two or three ways, or by more steps")
COMPUTED_AMBIGUOUSLY = StrengthRule("computed_ambiguously", "weak", "the same, in more ways")
COMPUTED_BY_CHANCE = StrengthRule("computed_by_chance", "weak", "the same, in so many ways that it may be chance")
NUMBER_OTHER_FORM = StrengthRule(
    "number_other_form", "likely", "the same number in words, with a scale (`12k`), or with other separators"
)
UNIT_CONVERTED = StrengthRule("unit_converted", "likely", "the same quantity in another unit")
SHARE_AS_NUMBER = StrengthRule("share_as_number", "likely", "a percentage or a fraction as a number")
SHARE_COMPUTED = StrengthRule("share_computed", "likely", "a share of a number, both from one text")
SHARE_FROM_TEXTS = StrengthRule("share_from_texts", "weak", "a share of a number, from two texts")
TIME_OTHER_FORM = StrengthRule("time_other_form", "strong", "the same time of day in another form")
PART = StrengthRule("part", "likely", "part of a longer text")
JOINED = StrengthRule("joined", "likely", "put together from words of one text")
JOINED_FROM_TEXTS = StrengthRule("joined_from_texts", "weak", "put together from words of several texts")
ABBREVIATION = StrengthRule(
    "abbreviation", "weak", "the beginning or the initials of something that was said, or the code for it"
)
FACTS_KNOWN = StrengthRule("facts_known", "strong", "the model's wording; all facts in it are known")
FACTS_MOSTLY_KNOWN = StrengthRule(
    "facts_mostly_known", "likely", "the model's wording; at least half of its facts are known"
)
FACTS_UNKNOWN = StrengthRule("facts_unknown", "likely", "the model's wording; most of its facts stand nowhere")
WORDING_KNOWN = StrengthRule("wording_known", "weak", "the model's wording without facts; the context has words of it")
WORDING_UNKNOWN = StrengthRule(
    "wording_unknown", "likely", "the model's wording without facts; the context has few words of it"
)
CODE_KNOWN = StrengthRule("code_known", "strong", "code of the model; all its literals and names are known")
CODE_MOSTLY_KNOWN = StrengthRule(
    "code_mostly_known", "likely", "code of the model; at least half of its literals and names are"
)
CODE_UNKNOWN = StrengthRule(
    "code_unknown", "weak", "code of the model; most of its literals and names stand nowhere, or it has none"
)

# A value found by one of these rules may occur there by chance, so attributions do not use it as evidence.
BY_CHANCE = frozenset((SMALL_BY_CHANCE, COMPUTED_AMBIGUOUSLY, COMPUTED_BY_CHANCE, DEFINITION_ONLY, CODE_UNKNOWN))

# --- attributions -----------------------------------------------------------------------------------------------------

SAME_TOOL_FAILED = StrengthRule("same_tool_failed", "strong", "the model had just been told that the same tool failed")
OTHER_TOOL_FAILED = StrengthRule("other_tool_failed", "likely", "the model had just been told that another tool failed")
CALL_RAISED = StrengthRule(
    "call_raised", "likely", "the tool call before had raised; what the model was told is not recorded"
)
PLAN_NAMES_TOOL = StrengthRule("plan_names_tool", "strong", "a plan names the tool")
PLAN_NAMES_VALUE = StrengthRule("plan_names_value", "likely", "a plan names a value of the call")
OWN_WORDING = StrengthRule("own_wording", "likely", "all arguments are the model's own wording")
USER_JUST_SAID = StrengthRule("user_just_said", "strong", "a user had just said values of the call")
USER_SPOKE_OF_IT = StrengthRule(
    "user_spoke_of_it", "strong", "a user had just spoken of the tool, or said values of the call before"
)
USER_SPOKE = StrengthRule("user_spoke", "likely", "a user had just spoken")
NEW_RESULTS = StrengthRule("new_results", "strong", "values are from the results just given")
USERS_VALUES = StrengthRule("users_values", "likely", "values are from a user's earlier words")
USERS_AND_RESULTS = StrengthRule(
    "users_and_results", "likely", "values are from a user's earlier words and from results"
)
EARLIER_RESULTS = StrengthRule("earlier_results", "likely", "values are from earlier results")
OTHER_AGENTS_VALUES = StrengthRule("other_agents_values", "likely", "values are from what another agent said")
OWN_VALUES = StrengthRule("own_values", "weak", "values are from the agent's own earlier words")
SAME_ARGUMENTS = StrengthRule(
    "same_arguments", "likely", "the call whose result was just given had some of the same arguments"
)
MODEL_SAID_WHY = StrengthRule("model_said_why", "weak", "the model said, or thought, something beside the call")
OTHER_AGENT_SPOKE = StrengthRule("other_agent_spoke", "weak", "another agent had just spoken")
NOTHING_FOUND = StrengthRule("nothing_found", "weak", "nothing in the context speaks for it")

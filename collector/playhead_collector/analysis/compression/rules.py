"""[analysis]: the rules that recognise compressions, and those that find that a lost fact was needed."""

from playhead_collector.analysis.rules import StrengthRule

DECLARED = StrengthRule("declared", "strong", "the program that compressed said so")
ENCRYPTED = StrengthRule("encrypted", "strong", "the provider compacted, and only it can read the summary")
MESSAGES_GONE = StrengthRule("messages_gone", "strong", "messages are gone, and nothing stands in their place")
UNKNOWN_KIND = StrengthRule(
    "unknown_kind", "likely", "messages are gone, later ones are not, and how they were left out is not known"
)
WRITTEN_BY_A_CALL = StrengthRule(
    "written_by_a_call", "strong", "a new message repeats what a model call of its own wrote"
)
SAYS_SUMMARY = StrengthRule("says_summary", "strong", "a new message says that it is a summary")
NEW_BEFORE_KEPT = StrengthRule(
    "new_before_kept", "likely", "a new message stands in their place, before those that were kept"
)
NEW_IN_PLACE = StrengthRule("new_in_place", "likely", "a new message stands in their place, and restates them")

ASKED_AGAIN = StrengthRule("asked_again", "strong", "the agent asks, and the user's next message has the fact")
TOLD_AGAIN = StrengthRule("told_again", "likely", "a user's message has the fact, unasked")
SAME_CALL_AGAIN = StrengthRule(
    "same_call_again", "strong", "a tool gives the fact to the same call again, and the agent then uses it"
)
LOOKED_UP_AGAIN = StrengthRule(
    "looked_up_again", "strong", "a tool that reads gives the fact again, and the agent then uses it"
)
USED_ANYWAY = StrengthRule("used_anyway", "weak", "the agent uses the fact although nothing in its context says it")
OTHER_IDENTIFIER = StrengthRule(
    "other_identifier", "strong", "another identifier in a call's arguments, for this lost one only"
)
OTHER_VALUE = StrengthRule(
    "other_value", "likely", "another identifier in words, or another name in arguments, for this lost one only"
)
OTHER_VALUE_UNCLEAR = StrengthRule(
    "other_value_unclear",
    "weak",
    "another number or date, which may be computed, or one that may stand for several lost ones",
)
OTHER_OF_FORM = StrengthRule(
    "other_of_form", "likely", "another identifier of the same form in a call's arguments, for this lost one only"
)
PLACEHOLDER = StrengthRule("placeholder", "likely", "a call's arguments have a placeholder under the fact's name")
SAID_MISSING = StrengthRule(
    "said_missing", "likely", "an answer, a failed call's result or an error names it, and says that it is missing"
)
ASKED_IN_VAIN = StrengthRule("asked_in_vain", "weak", "the agent asks for it by its name, and no user gives it")

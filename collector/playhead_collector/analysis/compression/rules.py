"""[analysis]: the rules that recognise compressions, and those that find that a lost fact was needed."""

from playhead_collector.analysis.rules import StrengthRule

DECLARED = StrengthRule("declared", "strong", "the program that compressed said so")
MESSAGES_GONE = StrengthRule("messages_gone", "strong", "messages are gone, and nothing stands in their place")
SAYS_SUMMARY = StrengthRule("says_summary", "strong", "a new message says that it is a summary")
NEW_BEFORE_KEPT = StrengthRule(
    "new_before_kept", "likely", "a new message stands in their place, before those that were kept"
)
NEW_IN_PLACE = StrengthRule("new_in_place", "likely", "a new message stands in their place")

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

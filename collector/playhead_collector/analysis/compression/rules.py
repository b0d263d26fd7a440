"""[analysis]: the rules by which compressions are recognised, and lost facts are found to have been needed."""

from playhead_collector.analysis.rules import Rule

DECLARED = Rule("declared", "strong", "the program that compressed said so")
MESSAGES_GONE = Rule("messages_gone", "strong", "messages are gone, and nothing stands in their place")
SAYS_SUMMARY = Rule("says_summary", "strong", "a new message says that it is a summary")
NEW_BEFORE_KEPT = Rule("new_before_kept", "likely", "a new message stands in their place, before those that were kept")
NEW_IN_PLACE = Rule("new_in_place", "likely", "a new message stands in their place")

ASKED_AGAIN = Rule("asked_again", "strong", "the agent asks, and the user's next message has the fact")
TOLD_AGAIN = Rule("told_again", "likely", "a user's message has the fact, unasked")
SAME_CALL_AGAIN = Rule(
    "same_call_again", "strong", "a tool gives the fact to the same call again, and the agent then uses it"
)
LOOKED_UP_AGAIN = Rule(
    "looked_up_again", "strong", "a tool that reads gives the fact again, and the agent then uses it"
)
USED_ANYWAY = Rule("used_anyway", "weak", "the agent uses the fact although nothing in its context says it")
OTHER_IDENTIFIER = Rule(
    "other_identifier", "strong", "another identifier in a call's arguments, for this lost one only"
)
OTHER_VALUE = Rule(
    "other_value", "likely", "another identifier in words, or another name in arguments, for this lost one only"
)
OTHER_VALUE_UNCLEAR = Rule(
    "other_value_unclear",
    "weak",
    "another number or date, which may be computed, or one that may stand for several lost ones",
)

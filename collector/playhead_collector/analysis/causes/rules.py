"""[analysis]: the rules of edges between events, in addition to the rules of `provenance`."""

from playhead_collector.analysis.rules import StrengthRule

RECORDED = StrengthRule(
    "recorded", "strong", "the record says so: a call and its end, a result and its message, a model's input"
)
ANSWERS_NEWEST = StrengthRule(
    "answers_newest", "likely", "an answer rests on the newest message of a user, or the newest message"
)
SAME_FACT = StrengthRule("same_fact", "likely", "an answer has a fact that stands in a user's words or in a result")
LAST_FAILURE = StrengthRule("last_failure", "likely", "a run that failed rests on the last failure before")
LAST_CALL = StrengthRule("last_call", "likely", "the end of a run rests on the last call before")
NOTED_AFTER = StrengthRule("noted_after", "weak", "what a program notes beside its calls rests on the last call before")

"""[analysis]: the rules that infer the trigger and the goal of a model call.

An answer names the weaker one of its two rules (trigger and goal).
"""

from playhead_collector.analysis.rules import StrengthRule

MESSAGE_TRIGGER = StrengthRule(
    "message_trigger", "strong", "trigger: a user's message, a result, or an error was new to the model"
)
SYSTEM_TRIGGER = StrengthRule("system_trigger", "weak", "trigger: only a system message was new")
COMPRESSION_TRIGGER = StrengthRule(
    "compression_trigger", "weak", "trigger: nothing was new, and the context was compressed"
)
NO_TRIGGER = StrengthRule("no_trigger", "weak", "trigger: nothing was new")
LATEST_REQUEST = StrengthRule("latest_request", "likely", "goal: a user's latest message")
EARLIER_REQUEST = StrengthRule(
    "earlier_request", "likely", "goal: a user's earlier message; the latest is only a short answer"
)
SHORT_REQUEST = StrengthRule("short_request", "weak", "goal: a user's first message; all of them are short answers")
SYSTEM_GOAL = StrengthRule("system_goal", "weak", "goal: a system message; no user said anything")
NO_GOAL = StrengthRule("no_goal", "weak", "goal: nobody said anything")

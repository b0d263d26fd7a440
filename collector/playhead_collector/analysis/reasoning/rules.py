"""[analysis]: the rules by which a step's trigger and goal are inferred.

An answer names the weaker of two: that of its trigger, and that of its goal.
"""

from playhead_collector.analysis.rules import Rule

MESSAGE_TRIGGER = Rule(
    "message_trigger", "strong", "trigger: a user's message, a result, or an error was new to the model"
)
SYSTEM_TRIGGER = Rule("system_trigger", "weak", "trigger: only a system message was new")
COMPRESSION_TRIGGER = Rule("compression_trigger", "weak", "trigger: nothing was new, and the context was compressed")
NO_TRIGGER = Rule("no_trigger", "weak", "trigger: nothing was new")
LATEST_REQUEST = Rule("latest_request", "likely", "goal: a user's latest message")
EARLIER_REQUEST = Rule("earlier_request", "likely", "goal: a user's earlier message; the latest is only a short answer")
SHORT_REQUEST = Rule("short_request", "weak", "goal: a user's first message; all of them are short answers")
SYSTEM_GOAL = Rule("system_goal", "weak", "goal: a system message; no user said anything")
NO_GOAL = Rule("no_goal", "weak", "goal: nobody said anything")

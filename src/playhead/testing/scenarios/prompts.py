"""Rules and answers that several scenarios have in common."""

import json

from playhead.testing.answers import AssistantMessage, text
from playhead.testing.rules import Rule, regex


def asked(words: str) -> Rule:
    """Matches if the user's last message has these words (a regular expression, in upper or lower case)."""
    return regex(f"(?i){words}", role="user", last=True)


def instructed(words: str) -> Rule:
    """Matches if the system prompt has these words (a regular expression, in upper or lower case)."""
    return regex(f"(?i){words}", role="system")


def json_text(**fields: object) -> AssistantMessage:
    """Makes an answer whose text is a JSON object with these fields."""
    return text(json.dumps(fields, ensure_ascii=False))

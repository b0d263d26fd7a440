"""scenarios → script.  A scenario: rules with their answers, in order."""

from __future__ import annotations

from dataclasses import dataclass

from playhead.testing.answers import Answering
from playhead.testing.rules import Rule, regex


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

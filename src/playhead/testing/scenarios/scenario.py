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
    """What the model plays. `description` says which prompts and tools it knows."""

    description: str
    lines: tuple[ScenarioLine, ...]


def asked(words: str) -> Rule:
    """The last message of the user has these words (a regular expression, whatever the case)."""
    return regex(f"(?i){words}", role="user", last=True)


def instructed(words: str) -> Rule:
    """The system prompt has these words (a regular expression, whatever the case)."""
    return regex(f"(?i){words}", role="system")

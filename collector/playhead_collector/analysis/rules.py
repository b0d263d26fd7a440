"""[analysis]: inference rules, and the strength of their evidence. Pure.

The strengths were set by hand. They are not calibrated, so they are words and not probabilities. Each folder with rules
lists them in its `rules.py`; docs/reference-questions.md repeats the lists, and a test compares them.
"""

from dataclasses import dataclass

from playhead.wire.operations.why import Strength

_ORDER: tuple[Strength, ...] = ("weak", "likely", "strong")


@dataclass(frozen=True, slots=True)
class StrengthRule:
    """A rule by which an answer was found. `name` is stable: programs may compare it."""

    name: str
    strength: Strength
    meaning: str

    @property
    def level(self) -> int:
        """Rank of the strength, for comparisons: 0 (weak), 1 (likely) or 2 (strong)."""
        return _ORDER.index(self.strength)


def weaker(first: StrengthRule, second: StrengthRule) -> StrengthRule:
    """Returns the rule with the weaker strength; `first` if both are equally strong."""
    return min(first, second, key=lambda rule: rule.level)

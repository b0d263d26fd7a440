"""[analysis]: rules, and how strong the evidence is that each of them gives.  Pure.

The strengths were set by hand from what each rule looks at; nothing is calibrated, so they are words and no numbers.
Each folder that has rules lists them in its `rules.py`; docs/reference-questions.md repeats the lists, and a test
compares them.
"""

from dataclasses import dataclass

from playhead.wire.answers.strength import Strength

_ORDER: tuple[Strength, ...] = ("weak", "likely", "strong")


@dataclass(frozen=True, slots=True)
class StrengthRule:
    """A rule that gives answers.  `name` is stable: programs may test for it."""

    name: str
    strength: Strength
    meaning: str

    @property
    def level(self) -> int:
        """For comparisons: greater is stronger."""
        return _ORDER.index(self.strength)


def weaker(one: StrengthRule, other: StrengthRule) -> StrengthRule:
    """Of two rules that an answer rests on, the one that limits it; the first if they are equally strong."""
    return min(one, other, key=lambda rule: rule.level)

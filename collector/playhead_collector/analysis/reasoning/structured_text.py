"""[analysis]: the fields of reasoning that a model wrote in a form, as ranges of its text. Pure."""

from dataclasses import dataclass, field

GOAL, OBSERVATION, OPTIONS, OPTION, PRO, CON = "goal", "observation", "options", "option", "pro", "con"
DECISION, REST = "decision", "rest"
# Names of the fields, as patterns. Between two words of a name may be a space, an underscore or a hyphen.
NAMES = {
    GOAL: r"(?:(?:current|main|overall|my)[ _-])?(?:goals?|objectives?|task|intent(?:ion)?)",
    OBSERVATION: r"(?:(?:current|key|my)[ _-])?(?:observations?|context|situation|facts|analysis|findings?)",
    OPTIONS: r"(?:(?:considered|available|possible|my)[ _-])?(?:options|alternatives|choices|approaches)"
    r"(?:[ _-](?:considered|available|weighed))?",
    OPTION: "option|alternative|approach",
    PRO: "pros?|advantages?|benefits?|for",
    CON: "cons?|disadvantages?|drawbacks?|risks?|against",
    DECISION: r"(?:(?:final|my)[ _-])?(?:decision|conclusion|choice|verdict)|chosen|next[ _-](?:step|action)|action"
    r"|(?:selected|chosen|preferred|recommended|best)[ _-](?:option|action|approach|alternative|choice)",
}


@dataclass(frozen=True, slots=True)
class TextRange:
    """Range of characters, `start` to `end`, of the parsed text."""

    start: int
    end: int


@dataclass(slots=True)
class ConsideredOption:
    """An option that the model considered."""

    name: TextRange
    about: list[TextRange] = field(default_factory=list[TextRange])
    pros: list[TextRange] = field(default_factory=list[TextRange])
    cons: list[TextRange] = field(default_factory=list[TextRange])


@dataclass(slots=True)
class StructuredText:
    """The fields of one block. `start`, `end`: its range, without its tags."""

    start: int
    end: int
    goal: list[TextRange] = field(default_factory=list[TextRange])
    observation: list[TextRange] = field(default_factory=list[TextRange])
    options: list[ConsideredOption] = field(default_factory=list[ConsideredOption])
    decision: list[TextRange] = field(default_factory=list[TextRange])
    rest: list[TextRange] = field(default_factory=list[TextRange])

    @property
    def is_structured(self) -> bool:
        """Whether any field was found."""
        return bool(self.goal or self.observation or self.options or self.decision)

    @property
    def field_count(self) -> int:
        """How many of the four fields were found."""
        return sum(map(bool, (self.goal, self.observation, self.options, self.decision)))

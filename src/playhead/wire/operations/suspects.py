"""Answers about the steps of a run that most likely went wrong."""

from typing import Literal, NotRequired, TypedDict

from playhead.wire.operations.page import CutText
from playhead.wire.operations.reasoning import Quoted
from playhead.wire.operations.why import Strength


class SuspectFinding(TypedDict):
    """Something that speaks against a step, by one rule; `quotes` are the texts that it rests on."""

    rule: str
    strength: Strength
    reason: str
    quotes: list[Quoted]


class Suspect(TypedDict):
    """A step (a model call) that is suspected.

    `rank` begins with 1.  `seq` is the end of the model call, `call` its beginning, `turn` its number from 1.  `does`
    is what the step said and which tools it called, cut.  `points` orders steps, and is no probability: what each
    finding's strength counts, once for each rule.  `rule` and `strength` are those of the strongest finding.
    """

    rank: int
    seq: int
    event: str
    call: int
    turn: int
    actor: str | None
    does: str
    points: int
    rule: str
    strength: Strength
    findings: list[SuspectFinding]


class ComparedSiblings(TypedDict):
    """Succeeded runs of the same task, with which a run was compared.

    `chosen`: `named` by the caller, `found` (also when there are none), or `off`.  Of found ones `task` is what runs of
    the task have in common (`input`, `session`, `user`, or `tag:` and what the tag begins with; null: the run has no
    task), and `outcome` how it is known that they succeeded: `status` (they completed), or a condition for a score.
    `more`: not all runs of the task were looked at.
    """

    chosen: Literal["named", "found", "off"]
    runs: list[str]
    task: str | None
    outcome: str | None
    more: bool


class Suspects(TypedDict):
    """Suspected steps of a run, most points first.

    `total` counts all suspected steps, `steps` all steps of the run.  It was compared with the runs in `siblings`.
    """

    run: str
    steps: int
    total: int
    siblings: ComparedSiblings
    items: list[Suspect]
    cut: NotRequired[list[CutText]]


class RerankedSuspect(TypedDict):
    """A suspect in the order of a model: `computed_rank` is its rank without the model, `why` what the model says."""

    seq: int
    computed_rank: int
    why: str | None


class RerankedSuspects(TypedDict):
    """The first computed suspects, and the order in which a model that the operator configured puts them.

    `order` is the opinion of `model`, and `text` its whole answer; suspects that it did not name follow in their
    computed order.  `computed` is what was computed, unchanged.
    """

    run: str
    model: str
    created: str
    order: list[RerankedSuspect]
    text: str
    computed: Suspects

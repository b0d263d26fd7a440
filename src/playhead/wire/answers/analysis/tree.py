"""The decision tree of a run: the path that it took, what it left, and the runs that went another way."""

from typing import Any, NotRequired, TypedDict

from playhead.wire.answers.analysis.decisions import Decision
from playhead.wire.answers.page import CutText


class OutcomeScore(TypedDict):
    """The latest score of this name of a run as a whole; `label` is what the evaluator calls a number."""

    name: str
    value: float | bool | str
    label: str | None


class RunOutcome(TypedDict):
    """How a run ended, and its scores, newest first.  `status` is `running`, `completed`, `failed` or `cancelled`."""

    scores: list[OutcomeScore]
    status: str
    ended: str | None
    events: int
    errors: int


class UntakenOption(TypedDict):
    """An option that was open and not chosen.

    `origin` is tool_definition, enum (values that a definition allows), annotation or approval.  `considered` quotes
    the model's reasoning or text that mentions it.
    """

    name: str
    origin: str
    considered: str | None


class TreeBranch(TypedDict):
    """A run that has the path up to `at` in common with this one, and its outcome.

    `kind`: `fork` (a fork of this run, or another fork of a run above), `parent` (the run from which this one was
    forked, or one above it), or `sibling` (a run with a model call that had exactly the same context).  `at` is the seq
    in this run from which it goes its own way, `seq` the one in its own record.  `chosen` is its first choice from
    there on, null if it has none yet.  `same`: a sibling chose the same here, and only then met something else; null
    for forks and parents.
    """

    kind: str
    run: str
    name: str | None
    at: int
    seq: int
    chosen: Any
    same: bool | None
    outcome: RunOutcome


class TreeNode(Decision):
    """A decision on the path, with the options that were left and the runs that go another way from here."""

    untaken: list[UntakenOption]
    branches: list[TreeBranch]


class DecisionTree(TypedDict):
    """The decisions of a run in order, which are the path that it took, and the branches beside it.

    `items` is a page of the path; send `next_cursor` as `cursor` to get the next page.  `branches` has the runs that go
    another way behind the last decision; on the last page only.  `more_branches`: there are more runs than are shown
    (100 forks of each run, 100 siblings: those that have most in common with this run).
    """

    run: str
    name: str | None
    outcome: RunOutcome
    items: list[TreeNode]
    branches: list[TreeBranch]
    more_branches: bool
    next_cursor: str | None
    cut: NotRequired[list[CutText]]

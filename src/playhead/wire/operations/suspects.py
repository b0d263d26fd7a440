"""The steps of a run that most likely went wrong."""

from collections.abc import Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

from playhead.wire.operations.bounds import NOT_EMPTY, Bounds, Limit, RunName
from playhead.wire.operations.operation import READ, get, post
from playhead.wire.operations.page import CutText
from playhead.wire.operations.reasoning import Quoted
from playhead.wire.operations.why import Strength


class ComparedValue(TypedDict):
    """A value that a finding compares with others: a line of a table.

    `entry` is what has the value, such as the identifiers of an entry of a listing, null where there is only one thing;
    `path` is its field.  `mark`: `said` (the answer or the call has it), `recorded` (a result has it), `least` (of all
    entries; the answer leaves it out), or `other` (another entry).  `quotes` are where it stands, in results first; of
    an entry of several parts one for each, whose sum the value is.
    """

    entry: str | None
    path: str | None
    value: str
    mark: Literal["said", "recorded", "least", "other"]
    quotes: list[Quoted]


class RulePrecision(TypedDict):
    """How often a rule was right where it was measured: of `found` steps that it spoke against, `right` were the step
    that a reader had named.  `rules` are those that were counted together; `basis` says on what."""

    found: int
    right: int
    rules: list[str]
    basis: str


class SuspectFinding(TypedDict):
    """Something that speaks against a step, by one rule; `quotes` are the texts that it rests on.

    `values` are the values that it compares, of a listing at most 20; empty for a rule that compares none. `precision`
    is null for a rule that found nothing where rules were measured.
    """

    rule: str
    strength: Strength
    reason: str
    quotes: list[Quoted]
    values: list[ComparedValue]
    precision: RulePrecision | None


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

    `total` counts all suspected steps, `steps` all steps of the run, and `looked_at` those looked at: of a run
    of more than 8,192 events only the last ones.  It was compared with the runs in `siblings`.
    `note` says why there are none if no rule applies to this kind of run; else null.
    """

    run: str
    steps: int
    looked_at: int
    total: int
    note: str | None
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


# --- operations ------------------------------------------------------------------------------------------------------

# Each sibling is read completely, like the run itself.
MAX_SIBLINGS = 5
_SIBLINGS_TEXT = "Runs of the same task that succeeded"
Siblings = Annotated[
    Sequence[str],
    Bounds(
        max_length=MAX_SIBLINGS,
        description=f"{_SIBLINGS_TEXT}; repeated.",
        help="A run of the same task that succeeded, to compare with; may be repeated.",
        name="sibling",
        names_run=True,
    ),
]
ListedSiblings = Annotated[
    Sequence[str], Bounds(max_length=MAX_SIBLINGS, description=f"{_SIBLINGS_TEXT}.", names_run=True)
]
# Without `name`: runs of one name have many different tasks, and no index finds them.
SameTask = Annotated[
    str | None,
    Bounds(
        max_length=300,
        pattern=r"^(input|session|user|tag:[^\x00]*)$",
        description="What runs of one task have in common: `input`, `session`, `user`, or `tag:` and what the tag "
        "begins with; default: `tag:task:`, of a run without such a tag `input`.",
    ),
]
Succeeded = Annotated[
    str | None,
    Bounds(
        max_length=500,
        pattern=NOT_EMPTY,
        description="When a run has succeeded: a score as NAME, NAME=VALUE or NAME>=NUMBER; default: the score by "
        "which this run has failed (its newest, if that is false or below 0.5), without any the status.",
    ),
]
FindSiblings = Annotated[
    bool, Bounds(description="Whether succeeded runs of the same task are looked for when none are named.")
]


class SuspectOperations:
    """The steps of a run that most likely went wrong."""

    @get("/runs/{run}/suspects", scope=READ, tag="why", in_worker=True, looks_beyond=True)
    def suspects(
        self,
        run: RunName,
        *,
        siblings: Siblings = (),
        task: SameTask = None,
        outcome: Succeeded = None,
        find_siblings: FindSiblings = True,
        limit: Limit = 10,
    ) -> Suspects:
        """Steps of a failed run that most likely went wrong, ranked, each with its evidence and how strong that is.

        The run is also compared with runs of the same task that succeeded: those in `sibling`; without any, with the
        newest five that are found. `siblings` says which these are, and how it is known that they succeeded.
        """
        ...

    @post(
        "/runs/{run}/suspects/rerank",
        scope=READ,
        tag="why",
        needs="explainer",
        also_refuses={409: "", 502: ""},
        route_name="rerank",
    )
    def rerank_suspects(
        self,
        run: RunName,
        *,
        siblings: ListedSiblings = (),
        task: SameTask = None,
        outcome: Succeeded = None,
        find_siblings: FindSiblings = True,
    ) -> RerankedSuspects:
        """Ask a model in which order it would suspect the ten first suspects.

        The order is the opinion of the model that the operator configured, and stands beside what was computed. 409
        when none is configured, 502 when it does not answer. The model is asked each time.
        """
        ...

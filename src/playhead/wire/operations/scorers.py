"""Scorers: what scores runs once they have ended. Their results are ordinary scores."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypedDict

from playhead.wire.operations.bounds import NO_NUL, NOT_EMPTY, Bounds, RunName, Since, Until
from playhead.wire.operations.operation import ADMIN, READ, StrictBody, delete, get, post, put

ScorerKind = Literal["rule", "function", "judge"]
BackfillState = Literal["running", "done", "stopped"]

# --- answers ---------------------------------------------------------------------------------------------------------


class ScorerBudget(TypedDict):
    """What a scorer may do on a day (UTC); null: as much as there is. `cost` is in US dollars."""

    runs_per_day: int | None
    tokens_per_day: int | None
    cost_per_day: float | None


class ScorerCounts(TypedDict):
    """What a scorer did. `begun` counts attempts, `failed` runs that were given up. `not_sampled` and `over_budget`
    are runs that it left out. `tokens` and `cost` are those of a judge."""

    begun: int
    scored: int
    failed: int
    not_sampled: int
    over_budget: int
    tokens: int
    cost: float


class FailedScoring(TypedDict):
    """A run that could not be scored, and why."""

    run: str
    error: str


class ScorerBackfill(TypedDict):
    """A pass over stored runs. `looked`: runs that it has come past; `queued`: those of them that are to be scored."""

    state: BackfillState
    since: str | None
    until: str | None
    started: str
    looked: int
    queued: int


class ScorerAnswer(TypedDict):
    """A scorer, and how far it has come.

    `version` is one more with each change of what decides the value. `score` is the name of its scores. `due`: runs
    that wait; `failures`: the last runs that were given up, at most 20. `backfill`: the last one.
    """

    name: str
    kind: ScorerKind
    version: int
    enabled: bool
    score: str
    rule: dict[str, Any] | None
    function: str | None
    prompt: str | None
    judge_model: str | None
    where: dict[str, str]
    sample: float
    budget: ScorerBudget
    created: str
    today: ScorerCounts
    total: ScorerCounts
    due: int
    failures: list[FailedScoring]
    backfill: ScorerBackfill | None


class ScorerList(TypedDict):
    """All scorers of a project. `functions`: those that scorers may name; `models`: those that may judge."""

    items: list[ScorerAnswer]
    functions: list[str]
    models: list[str]


class DeletedScorer(TypedDict):
    """`deleted`: whether there was such a scorer. Its scores stay."""

    deleted: bool


class TriedScore(TypedDict):
    """A score that a scorer would give."""

    name: str
    value: float | bool | str
    label: str | None
    comment: str | None


class TriedScorer(TypedDict):
    """What a scorer says about a run. Nothing of it is stored, but for the run of a judge."""

    run: str
    scores: list[TriedScore]


# --- operations ------------------------------------------------------------------------------------------------------

_LARGEST = 2**53 - 1
_MAX_PROMPT = 20_000

ScorerName = Annotated[
    str,
    Bounds(
        min_length=1,
        max_length=64,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        description="Name of the scorer: letters, digits, dots, lines.",
    ),
]
Kind = Annotated[ScorerKind, Bounds(description="What scores: a rule, a function, or a model that judges.")]
Rule = Annotated[
    Mapping[str, Any] | None, Bounds(description="Of a rule: `fails_if` and `passes_if`, lists of checks.")
]
FunctionName = Annotated[
    str | None,
    Bounds(max_length=300, pattern=NO_NUL, description="Of a function: its name, among those that the operator named."),
]
Prompt = Annotated[
    str | None,
    Bounds(
        max_length=_MAX_PROMPT,
        pattern=NOT_EMPTY,
        description="Of a judge: what it is asked. {input}, {output} and {tool_calls} stand for those of the run.",
    ),
]
JudgeModel = Annotated[
    str | None,
    Bounds(
        max_length=300, pattern=NO_NUL, description="Of a judge: the model; default: the first that the operator named."
    ),
]
ScoreName = Annotated[
    str | None,
    Bounds(min_length=1, max_length=200, pattern=NO_NUL, description="Name of its scores; default: the scorer's."),
]
Where = Annotated[
    Mapping[str, str] | None,
    Bounds(description="Which runs: agent, status, session, user, tag, model, tool, text, as for lists of runs."),
]
Sample = Annotated[
    float, Bounds(ge=0, le=1, description="The share of these runs that is scored, by a hash of the id.")
]
RunsPerDay = Annotated[int | None, Bounds(ge=1, le=_LARGEST, description="Runs per day (UTC). Null: no limit.")]
TokensPerDay = Annotated[
    int | None, Bounds(ge=1, le=_LARGEST, description="Of a judge: tokens per day. Null: no limit.")
]
CostPerDay = Annotated[
    float | None, Bounds(gt=0, le=_LARGEST, description="Of a judge: US dollars per day. Null: no limit.")
]
Enabled = Annotated[bool, Bounds(description="Whether it scores runs.")]


_NO_MODEL: Final = "No model can judge."


class ScorerOperations:
    """Scorers of a project."""

    @get("/scorers", scope=READ, tag="scores")
    def scorers(self) -> ScorerList:
        """List the scorers of the project."""
        ...

    @get("/scorers/{name}", scope=READ, tag="scores")
    def scorer(self, name: ScorerName) -> ScorerAnswer:
        """A scorer: what it does, what it did, and what waits for it."""
        ...

    @put(
        "/scorers/{name}",
        scope=ADMIN,
        tag="scores",
        strict_body=StrictBody("ScorerBody", "What the scorer does, for which runs, and how often."),
        also_refuses={409: f"{_NO_MODEL} Or the project has too many scorers."},
    )
    def set_scorer(
        self,
        name: ScorerName,
        kind: Kind,
        *,
        rule: Rule = None,
        function: FunctionName = None,
        prompt: Prompt = None,
        judge_model: JudgeModel = None,
        score: ScoreName = None,
        where: Where = None,
        sample: Sample = 1.0,
        runs_per_day: RunsPerDay = None,
        tokens_per_day: TokensPerDay = None,
        cost_per_day: CostPerDay = None,
        enabled: Enabled = True,
    ) -> ScorerAnswer:
        """Make a scorer, or change it: all of it, so that what is left out has its default.

        It scores runs that end from now on, once they have been quiet for some time; `backfill_scorer` has stored ones
        scored. A change of what decides the value makes a new version.
        """
        ...

    @delete("/scorers/{name}", scope=ADMIN, tag="scores")
    def delete_scorer(self, name: ScorerName) -> DeletedScorer:
        """Delete a scorer. Its scores stay."""
        ...

    @post("/scorers/{name}/backfill", scope=ADMIN, tag="scores", also_refuses={409: "The scorer is switched off."})
    def backfill_scorer(self, name: ScorerName, *, since: Since = None, until: Until = None) -> ScorerAnswer:
        """Score stored runs, the newest first, after those that have just ended.

        Runs that have a score of this version are left out. The sample and the budget count, so that it may take days.
        Begun again, it starts anew. Runs that were given up are tried again.
        """
        ...

    @post("/scorers/{name}/stop", scope=ADMIN, tag="scores")
    def stop_backfill(self, name: ScorerName) -> ScorerAnswer:
        """Stop the pass over stored runs. What it has queued is dropped."""
        ...

    @post(
        "/scorers/{name}/try",
        scope=ADMIN,
        tag="scores",
        also_refuses={409: _NO_MODEL, 502: "The model of a judge does not answer."},
    )
    def try_scorer(self, name: ScorerName, run: RunName) -> TriedScorer:
        """Ask a scorer about a run now, whatever its conditions, sample and budget are. The scores are not stored."""
        ...

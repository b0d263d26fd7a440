"""Questions across runs.

All have the `population` that they are about.  Nothing that fewer than 5 runs have is called a pattern.
"""

from typing import Annotated, Any, TypedDict, Unpack

from playhead.wire.operations.bounds import NO_NUL, NOT_EMPTY, Bounds, Limit, RunConditions
from playhead.wire.operations.operation import READ, get

# --- answers ---------------------------------------------------------------------------------------------------------


class Population(TypedDict):
    """The runs that an answer is about: those that met the conditions and have ended, newest first, without forks.

    `outcome` says when a run has succeeded: `status` (it completed), or a condition for a score.  Runs
    `without_outcome` have no such score, or were cancelled; they are not among the succeeded and failed.  `unfinished`
    runs met the conditions and still run.  `unindexed`: runs whose results were not read yet, in which a tool call that
    returned an error counts as completed.  `more`: more runs met the conditions than were read.
    """

    runs: int
    succeeded: int
    failed: int
    without_outcome: int
    unfinished: int
    unindexed: int
    more: bool
    outcome: str


class SuccessRate(TypedDict):
    """Of runs with an outcome, how many succeeded, with the 95 % Wilson interval; null without any."""

    succeeded: int
    failed: int
    rate: float | None
    low: float | None
    high: float | None


class RunMoment(TypedDict):
    """Evidence: an event of a run."""

    run: str
    seq: int


class Measured(TypedDict):
    """A number of `count` runs: their mean, p50 and p95 (interpolated), extremes and sum, and the run with the
    maximum."""

    count: int
    mean: float
    p50: float
    p95: float
    min: float
    max: float
    sum: float
    max_run: str


class ToolUse(TypedDict):
    """How often a tool was called, in how many runs, and how many calls failed (the tool raised) or returned an
    error."""

    tool: str
    runs: int
    calls: int
    failed: int
    returned_error: int


class PeriodMeasure(TypedDict):
    """A number of `count` runs that began in a period: their p50, p95 and sum."""

    count: int
    p50: float
    p95: float
    sum: float


class Period(TypedDict):
    """The runs that began from `since` on and before `until`: how many, how many of them succeeded and failed, and
    their `measures`."""

    since: str
    until: str
    runs: int
    succeeded: int
    failed: int
    measures: dict[str, PeriodMeasure]


class RunStatistics(TypedDict):
    """What runs take.

    `measures` are turns, tool_calls, errors, compressions, input_tokens, output_tokens, context_peak (tokens), seconds
    and cost (in `currency`); runs for which one is not known are not in its `count`.  `periods`: the time from the
    first to the last of these runs in 24 equal parts, oldest first; empty if all began at one time.
    """

    population: Population
    statuses: dict[str, int]
    success: SuccessRate
    measures: dict[str, Measured]
    currency: str
    tools: list[ToolUse]
    periods: list[Period]


class Transition(TypedDict):
    """`to` came directly after `source`: tools, or `(begin)` and `(end)` of the run.

    `share`: of all times that `source` was left.  `success`: of the runs that have this transition.  `evidence`: up
    to 3 runs, at the call of `to` (of `(end)`: of `source`).
    """

    source: str
    to: str
    times: int
    runs: int
    share: float
    success: SuccessRate
    evidence: list[RunMoment]


class TransitionGraph(TypedDict):
    """Which tool follows which, most frequent first."""

    population: Population
    transitions: list[Transition]


class DecisionPattern(TypedDict):
    """After `tool` had this `result` (completed, returned_error, failed, cancelled, open), `choice` was called, in 5
    runs or more.

    At the beginning of a run `tool` is `(begin)` and `result` null; a `choice` of `(end)` means that the run called no
    tool any more.  `share`: of all times that this tool had this result.  `success`: of the runs that have the pattern;
    `otherwise`: of runs in which this tool had this result and something else was chosen each time.
    """

    tool: str
    result: str | None
    choice: str
    times: int
    runs: int
    share: float
    success: SuccessRate
    otherwise: SuccessRate
    evidence: list[RunMoment]


class DecisionPatterns(TypedDict):
    """Patterns, those of most runs first.  `rare`: how many choices fewer than 5 runs have, which are left out."""

    population: Population
    patterns: list[DecisionPattern]
    rare: int


class OutcomeDifference(TypedDict):
    """A feature in which failed and succeeded runs may differ.

    `test` is `fisher_exact` (runs that have the feature: `failed` and `succeeded` say how many of how many, `effect`
    is the odds ratio, null if infinite) or `mann_whitney_u` (a number: `failed` and `succeeded` are medians, `effect`
    is how likely a failed run's number is larger than a succeeded one's).  `p` is two-sided, `q` is corrected for all
    `tried` features (Benjamini-Hochberg).  `evidence`: failed runs that have the feature, or have most of it.
    """

    feature: str
    test: str
    failed: Any
    succeeded: Any
    effect: float | None
    p: float
    q: float
    significant: bool
    evidence: list[str]


class OutcomeDifferences(TypedDict):
    """What distinguishes failed from succeeded runs, most certain first.

    `tried`: how many features were tested.  `significant` ones have q <= 0.05: of these, about one in twenty is
    expected to be chance.  `note` says why nothing was tested.
    """

    population: Population
    differences: list[OutcomeDifference]
    tried: int
    correction: str
    note: str | None


class CompressionOutcomes(TypedDict):
    """Outcomes of runs by how often their context was compressed (`0`, `1`, `2`, `3+`), with Fisher's exact test
    between none and some; `p` is null when one of both groups has fewer than 5 runs.  Runs are not assigned at random:
    longer ones are compressed more."""

    population: Population
    by_compressions: dict[str, SuccessRate]
    compressed: SuccessRate
    uncompressed: SuccessRate
    p: float | None
    evidence: list[str]


class CompressionTiming(TypedDict):
    """Outcomes of the runs whose context was compressed: by strategy, and by when the first compression happened.

    `by_moment`: `early` (before a third of the run's model calls), `middle`, `late` (after two thirds of them).  A run
    with several strategies counts for each of them; `unknown`: nothing says which.  `p` of Fisher's exact test between
    early and later ones is null when one of both groups has fewer than 5 runs.  `read`: how many compressed runs were
    read.  `evidence`: first compressions.  Runs are not assigned at random.
    """

    population: Population
    read: int
    by_strategy: dict[str, SuccessRate]
    by_moment: dict[str, SuccessRate]
    p: float | None
    evidence: list[RunMoment]


class FailureStep(TypedDict):
    """One of the last tool calls of a run, and what came of it."""

    tool: str
    result: str


class FailureCluster(TypedDict):
    """Failed runs with the same last error and the same last decisions.

    `error_type`, `about` (the tool, model or step that failed) and `message` (of the first of the runs, at most 1,000
    characters) are null for runs without an error.  `pattern`: 5 runs or more.  `attributions`: why the last tool call
    was made, by kind, in the runs of `evidence` (see `/attributions`), and `suspects`: arguments of it that are from
    nowhere.
    """

    error_type: str | None
    about: str | None
    message: str | None
    last: list[FailureStep]
    runs: int
    share: float
    pattern: bool
    attributions: dict[str, int]
    suspects: dict[str, int]
    evidence: list[RunMoment]


class FailureClusters(TypedDict):
    """Clusters of failed runs, largest first."""

    population: Population
    clusters: list[FailureCluster]


class DivergingBranch(TypedDict):
    """What some runs did where others did something else: a tool call with its arguments, or `(end)`.  In arguments,
    `…` stands for texts of 8 words or more, which are not compared."""

    tool: str
    arguments: Any
    success: SuccessRate
    evidence: list[RunMoment]


class TaskDivergence(TypedDict):
    """Runs of one task did the same `after` so many tool calls, and then different things with different outcomes.

    `gain`: how much the branch tells about the outcome, in bits (0: nothing; at most 1).  `pattern`: two branches
    have 5 runs or more each.
    """

    task: str
    after: list[str]
    runs: int
    gain: float
    pattern: bool
    branches: list[DivergingBranch]


class Divergences(TypedDict):
    """Where runs of the same task part ways, those that tell most about the outcome first.

    `tasks`: how many tasks have succeeded and failed runs.  `read`: how many runs were read for it.
    """

    population: Population
    tasks: int
    read: int
    divergences: list[TaskDivergence]


class FillingContent(TypedDict):
    """A message that was sent to models again and again: `sent` times in `runs` runs, `bytes` each, as stored.

    `share`: of all bytes that were sent.  `evidence`: where it was sent first.
    """

    content: str
    role: str
    bytes: int
    sent: int
    total: int
    runs: int
    share: float
    preview: str
    evidence: RunMoment


class ContextContents(TypedDict):
    """The messages that fill contexts most, in the newest `read` runs; `total` bytes were sent in them."""

    population: Population
    read: int
    total: int
    contents: list[FillingContent]


# --- operations ------------------------------------------------------------------------------------------------------

# A run's facts take a kilobyte of memory; reading the calls of a run takes some milliseconds.
_MAX_RUNS = 10_000
MAX_RUNS_READ = 1_000
"""The most runs whose calls one question reads."""

MaxRuns = Annotated[int, Bounds(ge=1, le=_MAX_RUNS, description="How many runs are looked at, at most: the newest.")]
MaxRunsRead = Annotated[int, Bounds(ge=1, le=MAX_RUNS_READ, description="How many runs are read, at most: the newest.")]
Outcome = Annotated[
    str | None,
    Bounds(
        max_length=500,
        pattern=NOT_EMPTY,
        description="When a run has succeeded: a score as NAME, NAME=VALUE or NAME>=NUMBER; default: when it "
        "completed.",
    ),
]
Task = Annotated[
    str,
    Bounds(
        max_length=300,
        pattern=r"^(input|name|session|user|tag:[^\x00]*)$",
        description="What runs of one task have in common: `input`, `name`, `session`, `user`, or `tag:` and what the "
        "tag begins with.",
    ),
]


Contains = Annotated[
    str | None,
    Bounds(
        min_length=1,
        max_length=1_000,
        pattern=NO_NUL,
        description="Only choices of model calls whose context contains this text, in letters of any case. Then at "
        "most 1,000 runs are read.",
    ),
]


class AcrossOperations:
    """Analyses of many runs: of those that have ended and meet all conditions, newest first."""

    @get("/analytics/statistics", scope=READ, tag="analytics", in_worker=True, looks_beyond=True)
    def statistics(
        self, *, runs: MaxRuns = _MAX_RUNS, outcome: Outcome = None, **where: Unpack[RunConditions]
    ) -> RunStatistics:
        """What runs take: turns, tools, tokens, cost, time and context, as mean, p50 and p95; outcomes; use of tools.

        Only runs that have ended; forks are left out.
        """
        ...

    @get("/analytics/transitions", scope=READ, tag="analytics", in_worker=True, looks_beyond=True)
    def transitions(
        self, *, runs: MaxRuns = _MAX_RUNS, outcome: Outcome = None, **where: Unpack[RunConditions]
    ) -> TransitionGraph:
        """Which tool follows which, how often, in how many runs, and how many of these succeeded."""
        ...

    @get("/analytics/patterns", scope=READ, tag="analytics", in_worker=True, looks_beyond=True)
    def patterns(
        self,
        *,
        runs: MaxRuns = _MAX_RUNS,
        limit: Limit = 100,
        contains: Contains = None,
        outcome: Outcome = None,
        **where: Unpack[RunConditions],
    ) -> DecisionPatterns:
        """What is called after which result of which tool, in 5 runs or more, and how the runs end that have it.

        With `contains`: what is chosen when the context contains that text. `share` is then of those choices.
        """
        ...

    @get("/analytics/differences", scope=READ, tag="analytics", in_worker=True, looks_beyond=True)
    def differences(
        self, *, runs: MaxRuns = _MAX_RUNS, limit: Limit = 50, outcome: Outcome = None, **where: Unpack[RunConditions]
    ) -> OutcomeDifferences:
        """What distinguishes failed from succeeded runs, by p, corrected for how many features were tested."""
        ...

    @get(
        "/analytics/compression",
        scope=READ,
        tag="analytics",
        in_worker=True,
        looks_beyond=True,
        route_name="compression",
    )
    def compression_outcomes(
        self, *, runs: MaxRuns = _MAX_RUNS, outcome: Outcome = None, **where: Unpack[RunConditions]
    ) -> CompressionOutcomes:
        """Outcomes of runs by how often their context was compressed."""
        ...

    @get("/analytics/compression-timing", scope=READ, tag="analytics", in_worker=True, looks_beyond=True)
    def compression_timing(
        self, *, runs: MaxRunsRead = 500, outcome: Outcome = None, **where: Unpack[RunConditions]
    ) -> CompressionTiming:
        """Outcomes of runs by the strategy of their compressions, and by where in the run the first one happened."""
        ...

    @get("/analytics/failures", scope=READ, tag="analytics", in_worker=True, looks_beyond=True)
    def failures(
        self, *, runs: MaxRuns = _MAX_RUNS, limit: Limit = 20, outcome: Outcome = None, **where: Unpack[RunConditions]
    ) -> FailureClusters:
        """Failed runs in clusters: those with the same last error and the same last two tool calls."""
        ...

    @get("/analytics/divergences", scope=READ, tag="analytics", in_worker=True, looks_beyond=True)
    def divergences(
        self,
        *,
        task: Task = "input",
        runs: MaxRunsRead = 500,
        limit: Limit = 20,
        outcome: Outcome = None,
        **where: Unpack[RunConditions],
    ) -> Divergences:
        """Where succeeded and failed runs of one task part ways, by how much the choice tells about the outcome."""
        ...

    @get("/analytics/contents", scope=READ, tag="analytics", in_worker=True, looks_beyond=True, route_name="contents")
    def context_contents(
        self, *, runs: MaxRunsRead = 100, limit: Limit = 20, outcome: Outcome = None, **where: Unpack[RunConditions]
    ) -> ContextContents:
        """The messages that fill contexts most: bytes times how often they were sent."""
        ...

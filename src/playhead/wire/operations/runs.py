"""Runs, their events and log events; and OTLP, for exports."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict, Unpack

from playhead.wire.operations.across import SuccessRate
from playhead.wire.operations.bounds import (
    NO_NUL,
    Bounds,
    Kinds,
    Most,
    Preview,
    Priority,
    RunConditions,
    RunName,
    ScoreTest,
    Time,
    TraceId,
)
from playhead.wire.operations.calls import CallError
from playhead.wire.operations.operation import READ, as_words, download, get, get_list, watch
from playhead.wire.operations.page import Page
from playhead.wire.operations.retention import Pin, TierName
from playhead.wire.operations.scores import RecordedScore
from playhead.wire.operations.verdict import OutcomeOfRun, OutcomeWord
from playhead.wire.operations.why import OutcomeScore, Strength


class Completeness(TypedDict):
    """Whether anything is missing of what a run has recorded so far.

    It does not say that the run has ended: the record of a lost run has no hole, but lacks the end (see `status`).
    `spans_missing` is the number of gaps in the numbering of its calls, `content_pending` the number of refs whose
    content has not arrived.  `parent_missing`: the run is a fork, and the run with which it shares events is not
    stored; answers begin with the fork's own events.  In a `sealed` run, no seq changes any more.  `retained`: the
    tier that the run is in: in `cold` and `archive`, what a policy let go is null in answers, and named in `missing`.
    """

    complete: bool
    spans_missing: int
    content_pending: int
    parent_missing: bool
    sealed: bool
    retained: TierName


HappenedKind = Literal["question", "error", "suspect", "under_way", "answer"]


class Happened(TypedDict):
    """What happened in a run, in one line, cut at 300 characters.

    `kind`: `question` (what it waits for), `error` (the one that came out of it), `suspect` (the reason of the first
    suspect, with its `strength`; of a failed run), `under_way` (the call that is open), or `answer` (the last one).
    `text` is the sentence, `about` what it is about (the tool that asks, the call that raised, the agent); `seq` and
    `turn` are where.  `promise` is that of a question.
    """

    kind: HappenedKind
    text: str
    about: str | None
    strength: Strength | None
    seq: int | None
    turn: int | None
    promise: str | None


class RunSummary(TypedDict):
    """Summary of a run.  Counts and sums are those of its state after the last event; `events` is that event's seq.

    `cost` is the sum over calls with a known price, in the currency of the price table; null if no price is known.
    `context_limit` is the limit in tokens of the model whose context had `context_peak`, by the same table; null if it
    is unknown, or if the run's models have different ones.
    `status`: `running`, `completed`, `failed`, `cancelled`, or `lost`: the processes of the run are gone and its end
    was never recorded; `last_record` says when its last record came, and is null for all other runs. A lost run is
    running again when more of it arrives, such as when it is resumed.
    `outcome` is what came of it, `happened` says in one line what happened. `scored` are the scores of the run as a
    whole, the latest of each name, newest first, at most 20.
    A fork differs from the run `fork_of` from seq `fork_at` on; it shares the `shared` events before, which are part of
    the counts. `pinned`: no rule of retention is about it.
    """

    run: str
    name: str | None
    status: str
    outcome: OutcomeOfRun
    happened: Happened | None
    scored: list[OutcomeScore]
    started: str
    ended: str | None
    last_record: str | None
    elapsed_ms: float | None
    attempt: int
    session: str | None
    user: str | None
    tags: list[str]
    agents: list[str]
    models: list[str]
    tools: list[str]
    events: int
    llm_calls: int
    tool_calls: int
    errors: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    context_peak: int | None
    context_limit: int | None
    compressions: int
    completeness: Completeness
    fork_of: str | None
    fork_at: int | None
    shared: int | None
    fork_count: int
    pinned: bool


class RunRetention(TypedDict):
    """How long the run is kept.

    `thinned`: when it came into its tier, by `rule`; null: it is hot. `next_tier` and `next_time`: where it goes next
    by the policy as it is now, if nothing keeps it; null: nowhere. `pin`: null if it is not pinned.
    """

    tier: TierName
    thinned: str | None
    rule: str | None
    next_tier: TierName | None
    next_time: str | None
    next_rule: str | None
    pin: Pin | None


class Fork(TypedDict):
    """A fork of a run, made at its seq `at`."""

    run: str
    at: int | None
    status: str
    started: str
    events: int


class RunProcess(TypedDict):
    """A process that was handed a part of a run and recorded it, by its own clock.

    `spans_missing` is the number of gaps in its own numbering; these are part of the run's. `ended` is null while one
    of its calls is open: it is at work, or lost.
    """

    process: str
    started: str
    ended: str | None
    spans: int
    spans_missing: int


class RunDetail(RunSummary):
    """A run with its number of attempts, its forks (newest first), and `links`: paths of further answers.

    `metadata` is JSON from the program; `error` is the error of a failed run.  `scores` are the latest 100 of the
    run and of its calls, without those that a later score replaces.  `continues`: the run whose last checkpoint this
    one begins from; `continued_by`: runs that begin from this one's, oldest first, the latest 100 of them.

    `processes` recorded parts of the run beside its own process: `process_count` of them, at most 100 are listed, those
    with gaps or open calls first. `traces` are those of its spans, at most 100. `linked` are runs that are no part of
    each other and of which one names the other: up to 100 that this one names, and up to 100 that name it.
    """

    attempts: int
    metadata: Any
    error: CallError | None
    forks: list[Fork]
    more_forks: bool
    scores: list[RecordedScore]
    continues: str | None
    continued_by: list[str]
    processes: list[RunProcess]
    process_count: int
    traces: list[str]
    linked: list[str]
    links: dict[str, str]
    retention: RunRetention


class OutcomeCount(TypedDict):
    """Number of runs with an outcome."""

    word: OutcomeWord
    runs: int


class StartedRuns(TypedDict):
    """Runs that started from `start` on, for as long as the histogram's step."""

    start: str
    runs: int
    succeeded: int
    failed: int


class RunHistogram(TypedDict):
    """Runs by the time of their start, in steps of `step_s` seconds; steps without runs are left out.  `failed` counts
    crashed runs, too."""

    step_s: float
    steps: list[StartedRuns]


class RunsOverview(TypedDict):
    """Totals over all runs that meet the conditions.

    `success` is about the runs that a score decides, by `condition`.  `cost` is the sum over runs with a known cost,
    `priced` their number.  `first` and `last` are the times of the first and the last start, null if there are no runs.
    """

    runs: int
    outcomes: list[OutcomeCount]
    condition: str
    success: SuccessRate
    cost: float | None
    priced: int
    input_tokens: int
    output_tokens: int
    first: str | None
    last: str | None
    histogram: RunHistogram


class RecordedEvent(TypedDict):
    """An event of a run.  `id` is stable; `seq` may change until the run is sealed (see `completeness.sealed`).

    `previews`, if requested, has the values of `refs` as texts, cut at the requested length, where `…` is added.  A
    value that is not stored, or is not text, has no preview.
    """

    id: str
    run: str
    seq: int
    time: str
    kind: str
    priority: str
    span: str | None
    actor: str | None
    late: bool
    data: dict[str, Any]
    refs: dict[str, str]
    previews: NotRequired[dict[str, str]]


# Functional, because one of the names is a keyword.
EventsMoved = TypedDict("EventsMoved", {"run": str, "from": int})
EventsMoved.__doc__ = (
    """Live: a late event moved others. From seq `from` on, the events of the run have other seqs now."""
)


class RunLog(TypedDict):
    """A log event as stored, with refs in place of payloads: state, checkpoints, annotations and others."""

    name: str
    time: str
    trace: str | None
    span: str | None
    attributes: dict[str, Any]
    scope: str
    resource: dict[str, Any]


class OtlpRequest(TypedDict):
    """An OTLP request in JSON: one of the two."""

    resourceSpans: NotRequired[list[dict[str, Any]]]
    resourceLogs: NotRequired[list[dict[str, Any]]]


# --- operations ------------------------------------------------------------------------------------------------------

_STREAM = (
    "Server-sent events. A message without a type is an event of a run as JSON; `changed` is one that was sent before "
    "and has other data now; `moved` says from which seq on events of a run have other seqs than before; `end` says "
    "why the stream ends, and whether to connect again."
)
IdPart = Annotated[str | None, Bounds(pattern="^[0-9a-f]{1,32}$", description="Part of the run's id.")]
StreamedAtMost = Annotated[int | None, Bounds(ge=1, le=1_000, description="Ends after so many events.")]

AfterSeq = Annotated[int, Bounds(ge=0, le=999_999_999, description="Only events with a greater seq.")]
Last = Annotated[int | None, Bounds(ge=1, le=1_000, description="Only the last so many; live: from there on.")]
ForkOf = Annotated[
    str | None, Bounds(max_length=300, pattern=NO_NUL, description="Only forks of the run with this id.")
]
LinkedRun = Annotated[
    str | None,
    Bounds(max_length=300, pattern=NO_NUL, description="Only runs that name this run (its id) and are no part of it."),
]


WithErrors = Annotated[
    bool | None, Bounds(description="Only runs in which something failed (true), or nothing did (false).")
]


OutcomeIs = Annotated[
    Sequence[OutcomeWord],
    Bounds(max_length=8, name="outcome", description="Only runs with one of these outcomes; repeated."),
]
SuspectIs = Annotated[
    Strength | None,
    Bounds(description="Only runs whose first suspect is at least so strong, as far as suspects were looked for."),
]
CostAbove = Annotated[
    float | None, Bounds(ge=0, description="Only runs that cost more, in the price table's currency.")
]
SortName = Literal["attention", "started", "elapsed", "turns", "tool_calls", "input_tokens", "cost", "errors", "score"]
SortBy = Annotated[
    SortName,
    Bounds(
        description="`attention`: what waits, then what crashed or is lost, what failed (strong suspects first), what "
        "runs, all others; in each the newest first. `score`: by the newest score that is a number."
    ),
]
Ascending = Annotated[bool, Bounds(description="The least first; default: the greatest first.")]
Steps = Annotated[int, Bounds(ge=1, le=500, description="At most so many steps of the histogram.")]


class RunOperations:
    """Runs, and what was recorded in them."""

    # Before those with a run in their path, which it would also fit.
    @watch("/runs/stream", scope=READ, tag="runs", answer_text=_STREAM, also_refuses={410: ""}, route_name="stream")
    def events_of_all_runs(
        self,
        *,
        kinds: Kinds = (),
        priority: Priority = None,
        since: Time = None,
        preview: Preview = 0,
        limit: StreamedAtMost = None,
    ) -> RecordedEvent:
        """Events of all runs, live, as they become known: server-sent events.

        It begins with what becomes known from now on, with `since` with what became known since then, whenever it
        happened, and goes on behind `Last-Event-ID`. Events of one run are in order; a fork's events begin where it
        parts from its parent.
        """
        ...

    @get_list("/runs", scope=READ, tag="runs", page_size=50)
    def runs(
        self,
        *,
        errors: WithErrors = None,
        fork_of: ForkOf = None,
        trace: TraceId = None,
        linked: LinkedRun = None,
        id: IdPart = None,  # noqa: A002 - its name in the API
        score: ScoreTest = None,
        outcomes: OutcomeIs = (),
        suspect: SuspectIs = None,
        cost_above: CostAbove = None,
        sort: SortBy = "started",
        ascending: Ascending = False,
        limit: Most = None,
        **where: Unpack[RunConditions],
    ) -> Page[RunSummary]:
        """List runs, newest first, or sorted by something else. Only runs that meet all conditions.

        `text` is searched in names, sessions, users, agents and tags. `since` and `until` limit the time of the start.
        `fork_of` is the id of the run from which they were forked. `trace` is the id of a trace that has spans of them:
        runs that share one are no part of each other. `linked` is the id of a run that they name and are no part of.
        `score` is a condition for the run's latest score of a name; besides `=` and `>=` there are `>`, `<` and `<=`.
        """
        ...

    # Before the run, whose path it would also fit.
    @get("/runs/overview", scope=READ, tag="runs")
    def runs_overview(
        self,
        *,
        errors: WithErrors = None,
        score: ScoreTest = None,
        outcomes: OutcomeIs = (),
        suspect: SuspectIs = None,
        cost_above: CostAbove = None,
        steps: Steps = 60,
        **where: Unpack[RunConditions],
    ) -> RunsOverview:
        """Totals over all runs that meet the conditions: outcomes, rate of success, cost, tokens, when they started.

        The conditions are those of the list of runs. A run has succeeded when its newest score that is a number or a
        boolean is at least 0.5.
        """
        ...

    @get("/runs/{run}", scope=READ, tag="runs")
    def run(self, run: RunName) -> RunDetail:
        """Summary of a run: status, agents, models, usage, cost, metadata, error, forks.

        `completeness` says whether parts of the record are missing. `links` has the paths of further answers.
        """
        ...

    @get_list(
        "/runs/{run}/events",
        scope=READ,
        tag="runs",
        page_size=None,
        page_limit=Bounds(ge=1, le=1_000, description="Maximum number; default: 100; live: any."),
        cursor_after="last",
    )
    def events(
        self,
        run: RunName,
        *,
        after: AfterSeq = 0,
        kinds: Kinds = (),
        priority: Priority = None,
        since: Time = None,
        preview: Preview = 0,
        limit: Most = None,
        last: Last = None,
    ) -> Page[RecordedEvent]:
        """Events of a run, in order of `seq`.

        A page may have fewer than `limit` events although more follow: continue while there is a `next_cursor`.

        With `Accept: text/event-stream`, the answer is a live stream of server-sent events: first the events that are
        there, then each one as it becomes known, until the run has ended. It goes on behind `Last-Event-ID`.
        """
        ...

    # On the same path, for whoever accepts a stream.
    @watch(
        "/runs/{run}/events",
        scope=READ,
        tag="runs",
        answer_text=_STREAM,
        also_answers={204: "The run has ended, and the client has received all its events: do not connect again."},
        also_refuses={410: ""},
    )
    def live_events(
        self,
        run: RunName,
        *,
        after: AfterSeq = 0,
        kinds: Kinds = (),
        priority: Priority = None,
        since: Time = None,
        preview: Preview = 0,
        limit: StreamedAtMost = None,
        last: Last = None,
    ) -> RecordedEvent:
        """Events of a run as they happen: first those that are there, then each one as it becomes known, until the run
        has ended."""
        ...

    @get_list("/runs/{run}/logs", scope=READ, tag="calls", page_size=500)
    def logs(self, run: RunName, *, limit: Most = None) -> Page[RunLog]:
        """Log events of a run as stored, in order of time: state, checkpoints, annotations and other log events."""
        ...

    @download(
        "/runs/{run}/test",
        scope=READ,
        tag="runs",
        media_type="text/x-python",
        read=as_words,
        answer_text="The file.",
        also_refuses={409: "The run has no model call that a test could play.", 404: "", 413: ""},
        route_name="test",
    )
    def test_of(self, run: RunName) -> str:
        """The run as a pytest file: the recorded answers of its model, and asserts that the agent does the same again.

        It takes the package's fixtures `playhead_recorder` and `mock_model`, and runs the program's own tools. It holds
        what was recorded, and nothing else: what is masked there is masked here. Runs with more than 500 model calls
        get 413.
        """
        ...

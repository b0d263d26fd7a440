"""Answers about the differences between two runs."""

from typing import Annotated, Any, Literal, TypedDict

from playhead.wire.operations.bounds import Bounds, Cursor, Limit, RunName
from playhead.wire.operations.operation import READ, get


class ComparedRun(TypedDict):
    """One of the two runs."""

    run: str
    name: str | None
    fork_of: str | None
    fork_at: int | None
    events: int
    calls: int


Did = Literal["called", "answered", "returned", "failed", "open"]
"""What a call did: a model called tools or answered, another call returned; it failed, or has not ended."""


class ComparedCall(TypedDict):
    """A call: of a model (`kind` is `llm`, `name` the model), a tool, a retriever or an embedding.

    `status`: `open`, `failed` or `completed`.  `turn` is the number of the model call, or of the one that led to this
    call; null if there was none before it.  `shown` is the call in one line: `get_user(ada)`, of a model the tools
    that it called, else its answer, cut.  `refs` has the refs of its inputs and results.
    """

    seq: int
    ended_seq: int | None
    event: str
    kind: str
    name: str | None
    actor: str | None
    status: str
    turn: int | None
    did: Did
    shown: str
    refs: dict[str, Any]


class CallPair(TypedDict):
    """Two corresponding calls; `op` is `same`, `similar`, `changed`, `only_a` or `only_b`.

    `similar`: both did the same. Two models called the same tools in other words, or answered the same to other input;
    two tool calls have equal arguments but for prose (texts of 8 words or more), and equal results.
    `differs` lists the differences: of the inputs `model`, `system`, `tools`, `settings`, `messages` (those that were
    new in the call), `input`, `arguments`; of the results `status`, `error`, `answer`, `result`.
    """

    op: str
    a: ComparedCall | None
    b: ComparedCall | None
    differs: list[str]


class ChangedText(TypedDict):
    """A difference as text: removed lines begin with `-`, added lines with `+`.  `what` names the field."""

    what: str
    lines: list[str]


class FirstDifference(CallPair):
    """The first pair of calls that differs, with its changes.

    `number` is that of the pair, counted from 0 after the common beginning: the pair is `items[number]` if `items` is
    not a later page.
    """

    number: int
    changes: list[ChangedText]


class CommonPart(TypedDict):
    """The common beginning of both runs.

    `calls` is the number of equal calls; `a` and `b` are the seqs at which the last of them ended.  `shared` is the
    number of events that are stored once for both, because one of the runs is a fork.
    """

    calls: int
    a: int
    b: int
    shared: int


class Both(TypedDict):
    """A value for each of the two runs."""

    a: Any
    b: Any


class ComparedOutcome(TypedDict):
    """Outcomes of the runs.  `differs` lists the fields that differ; `answers` has the final answers as values."""

    status: Both
    error: Both
    answer: Both
    answers: Both
    llm_calls: Both
    tool_calls: Both
    input_tokens: Both
    output_tokens: Both
    elapsed_ms: Both
    differs: list[str]


class PairCounts(TypedDict):
    """Number of pairs of calls by `op`."""

    same: int
    similar: int
    changed: int
    only_a: int
    only_b: int


class Comparison(TypedDict):
    """Comparison of two runs.

    `parts` is the first difference, null if there is none.  `acts` is the first difference in what was done: a tool
    call that only one of them made, with other arguments, or that failed in one of them; null if both did the same.
    `sentence` says in words where they part, `more` what was equal until then and what differs in the end; names and
    values in them stand between backticks.  `items` are the pairs after the common beginning.  Every call of both runs
    is in the common beginning or in one pair.
    """

    a: ComparedRun
    b: ComparedRun
    common: CommonPart
    parts: FirstDifference | None
    acts: FirstDifference | None
    sentence: str
    more: list[str]
    counts: PairCounts
    outcome: ComparedOutcome
    items: list[CallPair]
    next_cursor: str | None


# --- operations ------------------------------------------------------------------------------------------------------

OtherRun = Annotated[
    str,
    Bounds(
        description="The other run: 32 hex digits.",
        help="The other run: its id, any part of it that no other run has, or `last`.",
        names_run=True,
    ),
]


class CompareOperations:
    """Comparison of two runs."""

    @get("/runs/{a}/compare/{b}", scope=READ, tag="runs", in_worker=True)
    def compare(self, a: RunName, b: OtherRun, *, limit: Limit = 100, cursor: Cursor = None) -> Comparison:
        """Comparison of two runs: common beginning, first difference, pairs of corresponding calls, outcomes.

        `items` are the pairs after the common beginning. Ids of tool calls are not compared.
        """
        ...

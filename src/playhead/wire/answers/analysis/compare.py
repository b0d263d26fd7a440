"""Answers about how two runs differ."""

from typing import Any, TypedDict


class ComparedRun(TypedDict):
    """One of the two runs."""

    run: str
    name: str | None
    fork_of: str | None
    fork_at: int | None
    events: int
    calls: int


class ComparedCall(TypedDict):
    """A call: of a model (`kind` is `llm`, `name` the model), a tool, a retriever or an embedding.

    `status`: `open`, `failed` or `completed`.  `refs` name what it was asked and what came of it.
    """

    seq: int
    ended_seq: int | None
    event: str
    kind: str
    name: str | None
    actor: str | None
    status: str
    refs: dict[str, Any]


class CallPair(TypedDict):
    """Calls that stand for each other: `same`, `changed`, `only_a` or `only_b`.

    `differs` names what is not the same of a changed pair: of what was asked `model`, `system`, `tools`, `settings`,
    `messages` (those that were new to the call), `input`, `arguments`; of what came of it `status`, `error`, `answer`,
    `result`.
    """

    op: str
    a: ComparedCall | None
    b: ComparedCall | None
    differs: list[str]


class ChangedText(TypedDict):
    """One thing that differs, as the lines that went (`-`) and came (`+`)."""

    what: str
    lines: list[str]


class FirstDifference(CallPair):
    """The first pair that is not the same, and how."""

    changes: list[ChangedText]


class CommonPart(TypedDict):
    """What both runs begin with: so many calls that are the same, up to the seqs at which the last of them ended.

    `shared`: how many events are the very same ones, because one of the runs is a fork that shares them.
    """

    calls: int
    a: int
    b: int
    shared: int


class Both(TypedDict):
    """A figure of each run."""

    a: Any
    b: Any


class ComparedOutcome(TypedDict):
    """What the runs came to; `differs` names what is not the same, and `answers` has what they answered, as values."""

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
    """How many pairs of calls there are of each sort."""

    same: int
    changed: int
    only_a: int
    only_b: int


class Comparison(TypedDict):
    """How two runs differ.

    `parts` is the first difference, null when there is none.  `items` are the pairs behind the common part.  Every call
    of both is in the common part or in one pair.
    """

    a: ComparedRun
    b: ComparedRun
    common: CommonPart
    parts: FirstDifference | None
    counts: PairCounts
    outcome: ComparedOutcome
    items: list[CallPair]
    next_cursor: str | None

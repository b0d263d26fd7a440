"""Promises: decisions, answers and events that runs wait for."""

from typing import Annotated, Any, Literal, TypedDict

from playhead.wire.operations.bounds import NO_NUL, RUN_ID, Bounds, Most
from playhead.wire.operations.operation import ADMIN, INGEST, READ, get, get_list, post
from playhead.wire.operations.page import Page

# --- answers ---------------------------------------------------------------------------------------------------------

Kind = Literal["approval", "input", "event", "interrupt"]


class PromiseAnswer(TypedDict):
    """The answer to a promise: the first one counts.  `outcome` says which: `approved` or `denied`, `answered` with a
    `value`, or `expired`: nobody had answered when the run stopped waiting.  `time` is that of the database."""

    outcome: Literal["approved", "denied", "answered", "expired"]
    value: Any
    by: str | None
    reason: str | None
    time: str


class Promise(TypedDict):
    """What a run waits for.  `kind`: `approval` of an `action`, `input` of a person, `event` from outside, `interrupt`
    of a run that is to stop.

    `run` is null for a promise that several runs may wait for, by `key`.  `name` is the tool or the event, `details`
    its arguments or what is asked; `schema` describes the expected value as JSON Schema.  `answer` is null while it is
    open.  `deadline`: when the run stops waiting.
    """

    id: str
    kind: Kind
    run: str | None
    key: str
    name: str | None
    action: str | None
    risk: str | None
    details: Any
    schema: Any
    created: str
    deadline: str | None
    answer: PromiseAnswer | None


# --- operations ------------------------------------------------------------------------------------------------------

_HUNDRED_YEARS = 3_155_760_000

PromiseId = Annotated[str, Bounds(pattern=RUN_ID, description="The promise's id: 32 hex digits.")]
NewId = Annotated[str, Bounds(pattern=RUN_ID, description="32 hex digits that stand for what is asked.")]
OpenedKind = Annotated[
    Kind,
    Bounds(
        description="`approval`: whether an action may be taken; `input`: a question; `event`: something that happens "
        "elsewhere; `interrupt`: a request that the run stops."
    ),
]
WaitingRun = Annotated[str | None, Bounds(pattern=RUN_ID, description="The run; null: several runs may wait for it.")]
PromiseKey = Annotated[
    str, Bounds(max_length=2_000, description="The place in the run, or a key of the program's own.")
]
Name = Annotated[
    str | None,
    Bounds(max_length=2_000, description="The tool, the event, or who asks for an interrupt."),
]
Action = Annotated[
    str | None,
    Bounds(max_length=2_000, description="What is asked: the action to approve of, the question, or why to stop."),
]
Risk = Annotated[str | None, Bounds(max_length=2_000, description="How risky the action is, in the program's words.")]
Details = Annotated[Any, Bounds(description="What belongs to the question, as JSON: of a tool, its arguments.")]
Schema = Annotated[Any, Bounds(name="schema", description="JSON Schema of the value that is expected.")]
Seconds = Annotated[float | None, Bounds(ge=0, le=_HUNDRED_YEARS, description="How long to wait; null: for ever.")]
Outcome = Annotated[
    Literal["approved", "denied", "answered"],
    Bounds(description="Of an approval: approved or denied; else: answered."),
]
AnswerValue = Annotated[Any, Bounds(description="The answer to a question, or what an event brings.")]
By = Annotated[str | None, Bounds(max_length=200, pattern=NO_NUL, description="Who answers.")]
Reason = Annotated[str | None, Bounds(max_length=10_000, description="Why.")]
State = Annotated[Literal["open", "answered", "all"], Bounds(description="Which ones.")]
OfKind = Annotated[Kind | None, Bounds(description="Only this kind.")]
OfRun = Annotated[str | None, Bounds(pattern=RUN_ID, description="Only those of this run.")]


class PromiseOperations:
    """What runs wait for: approvals, answers, events, requests to stop."""

    @get_list("/promises", scope=READ, tag="promises", page_size=100)
    def promises(
        self, *, state: State = "open", kind: OfKind = None, run: OfRun = None, limit: Most = None
    ) -> Page[Promise]:
        """List what runs wait for, oldest first."""
        ...

    @get("/promises/{promise}", scope=READ, tag="promises")
    def promise(self, promise: PromiseId) -> Promise:
        """A promise with its answer; `answer` is null while it is open."""
        ...

    # A program opens its promises and may let them expire, but only `admin` may answer them.
    @post("/promises", scope=INGEST, tag="promises")
    def open_promise(
        self,
        id: NewId,  # noqa: A002 - the name in the body
        kind: OpenedKind,
        key: PromiseKey,
        run: WaitingRun = None,
        name: Name = None,
        action: Action = None,
        risk: Risk = None,
        details: Details = None,
        expected: Schema = None,
        seconds: Seconds = None,
    ) -> Promise:
        """Open a promise: a run waits for it. Opening it again changes nothing, and returns it with its answer."""
        ...

    @post(
        "/promises/{promise}",
        scope=ADMIN,
        tag="promises",
        also_refuses={409: "It has an answer already, which the message says; or nobody waits any more."},
    )
    def answer_promise(
        self,
        promise: PromiseId,
        outcome: Outcome,
        *,
        value: AnswerValue = None,
        by: By = None,
        reason: Reason = None,
    ) -> Promise:
        """Answer a promise. The first answer counts: 409 for a second one, whose message says what the first was."""
        ...

    @post("/promises/{promise}/expire", scope=INGEST, tag="promises")
    def expire_promise(self, promise: PromiseId) -> Promise:
        """Say that nobody waits for this promise any more. If it was answered meanwhile, it keeps that answer."""
        ...

"""What came of a run, and what it rests on."""

from typing import Literal, NotRequired, TypedDict

from playhead.wire.operations.bounds import RunName
from playhead.wire.operations.operation import READ, get
from playhead.wire.operations.promises import Promise

OutcomeWord = Literal["succeeded", "failed", "crashed", "cancelled", "lost", "waiting", "running", "unknown"]
"""What came of a run.

`crashed`: an error came out of it.  `failed` and `succeeded`: a score says so.  `waiting`: it is running and has an
open promise.  `lost`: its process is gone and nothing says how it ended.  `unknown`: it ended without an error, and
nobody scored it.
"""

CallStatus = Literal["open", "completed", "failed", "cancelled"]
"""Of a call: whether it is under way, or how it ended."""


class OutcomeOfRun(TypedDict):
    """What came of a run.  `because` is what that rests on: a condition for a score such as `reward>=0.5` with the
    score's `value`, or a status."""

    word: OutcomeWord
    because: str
    value: float | bool | str | None


class SourceLine(TypedDict):
    """A line of a stack.  `library`: it is not the program's own code.  `code` is the source line, if recorded."""

    file: str
    line: int | None
    function: str | None
    code: str | None
    library: bool


class RaisedError(TypedDict):
    """An exception with where it was raised: the innermost line of the program's own code, null if not recorded."""

    type: str
    message: str
    at: SourceLine | None


class ErrorStep(TypedDict):
    """A step that an error went through: a tool, an agent, the run."""

    seq: int
    kind: str
    name: str


class RunError(TypedDict):
    """An error with its way: one exception, however many calls it went through.

    `seq` is the event of the innermost call that failed, `turn` the turn that it belongs to, `call` that call in one
    line.  `after_ms` is how long the call took.  `causes`: the exceptions that it was raised from, innermost first.
    `went_through`: innermost first, without the call itself; `handled`: a caller went on after it.  `stack` is the text
    of the stack and `frames` its lines, outermost first; both are of the exception that came out, and are empty where
    none was recorded.
    """

    type: str
    message: str
    seq: int
    turn: int | None
    call: str | None
    group: str | None
    after_ms: float | None
    at: SourceLine | None
    causes: list[RaisedError]
    went_through: list[ErrorStep]
    handled: bool
    frames: list[SourceLine]
    stack: str | None


class AgentNow(TypedDict):
    """An agent of a run, its last state: under way, finished with an answer, or raised.

    `text` is what it answered (cut at 300 characters), or in one line the call that is under way.  `seq` is that
    event's; `since_ms` counts from the beginning of the run, `elapsed_ms` is how long it has taken.
    """

    group: str | None
    name: str | None
    status: CallStatus
    seq: int
    turn: int | None
    text: str | None
    since_ms: float
    elapsed_ms: float | None


class TaskRuns(TypedDict):
    """Runs of the same task (what they have in common, such as `tag:task:6`), and how many of them succeeded."""

    task: str
    runs: int
    scored: int
    succeeded: int


class RunVerdict(TypedDict):
    """What came of a run, and what there is to say about it at once; its suspects are asked for by themselves.

    `condition` is when a run has succeeded.  `error` is the one that came out of the run, null if none did;
    `other_errors` counts those that were handled.  `waits_for` are its open promises.  `agents` has every agent's last
    state (at most 50; those under way and those that raised first).  `answer` is the last answer to the user, cut at
    2,000 characters, at `answer_seq`.  `task` is null if the run has none.  `first_error` and `last` are the turns to
    open: null where there is none.
    """

    run: str
    outcome: OutcomeOfRun
    condition: str
    error: RunError | None
    other_errors: int
    waits_for: list[Promise]
    agents: list[AgentNow]
    answer: str | None
    answer_seq: int | None
    task: TaskRuns | None
    turns: int
    first_error: int | None
    last: int | None
    missing: NotRequired[list[str]]


class VerdictOperations:
    """What came of a run."""

    @get("/runs/{run}/verdict", scope=READ, tag="runs", in_worker=True, looks_beyond=True)
    def verdict(self, run: RunName) -> RunVerdict:
        """What came of a run, and why: its error and the way that it took, what it waits for, what is under way, the
        last answer. Suspected steps are asked for by themselves, because they take longer."""
        ...

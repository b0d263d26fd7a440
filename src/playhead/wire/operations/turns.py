"""A run as it is read: turn by turn.

A turn is a call of a model with what it led to: the answer, or the tools that were called because of it.  Turns are
numbered from 1 in the order in which their model calls began, like the moments `turn:N`.
"""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from playhead.wire.operations.bounds import NO_NUL, Bounds, Most, RunName
from playhead.wire.operations.calls import CallError
from playhead.wire.operations.operation import READ, get, get_list
from playhead.wire.operations.page import CutText, Page
from playhead.wire.operations.verdict import RunError
from playhead.wire.operations.why import Option, Strength, ValueOrigin

# --- the list --------------------------------------------------------------------------------------------------------

RowKind = Literal["agent", "user", "turn", "call", "cut", "wait"]


class ShownCall(TypedDict):
    """A tool call in one line: `get_user_details(aarav_garcia_1177)` is its `name`, and between the brackets `shown`.

    `shown` has the values of the arguments in the order of the tool's definition, cut at 80 characters: those that its
    `required` names first, in that order, then the others by name.  `status` is `open`, `completed`, `failed` or
    `cancelled`; `seq` and `ended_seq` are null where the call was asked for and not made (yet), which is `open`.
    `writes`: whether the tool's definition says that it changes something; null: nothing is said.
    """

    seq: int | None
    ended_seq: int | None
    call_id: str | None
    name: str
    shown: str
    status: str
    elapsed_ms: float | None
    writes: bool | None


class TurnRow(TypedDict):
    """A line of a run.  `kind`:

    - `agent`: an agent began to work (`seq` to `ended_seq`); the lines of its work have its `group`
    - `user`: a message of the user, which is in the context of the next turn
    - `turn`: a call of a model, number `turn`; `calls` are the tools that were called because of it
    - `call`: a tool call that no model asked for
    - `cut`: messages left the context (a compression)
    - `wait`: the run waits, or waited, for `promise`

    `group` is the span of the agent that this belongs to, null for what the run's outermost agent does; of an `agent`,
    its own span, and `within` the group that it stands in.  `text` is what was said, or the agent's name, cut at 200
    characters; null if the turn said nothing.  `to` is to whom: `user` for an answer, else null.  `internal`: the
    answer went to nobody in the conversation, such as a summary that replaced messages.  `status` is `open`,
    `completed`, `failed` or `cancelled`, of a wait also `denied`; `raised`: it, or a tool call of it, ended with an
    error.  `elapsed_ms` of a turn is that of the model call and of its tools, from the first start to the last end;
    `model_ms` that of the model call alone.  `turns` is the number of turns of an agent, without those of agents within
    it.  Tokens and `cost` are those of the turn, or of the agent's turns together; null if not known.  `started_ms`
    counts from the beginning of the run.
    """

    kind: RowKind
    seq: int
    ended_seq: int | None
    turn: int | None
    group: str | None
    within: str | None
    agent: str | None
    model: str | None
    text: str | None
    to: Literal["user"] | None
    internal: bool
    calls: list[ShownCall]
    status: str
    raised: bool
    started_ms: float
    elapsed_ms: float | None
    model_ms: float | None
    first_chunk_ms: float | None
    turns: int | None
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    promise: str | None


# --- one turn --------------------------------------------------------------------------------------------------------


class ContextPart(TypedDict):
    """A kind of content of a context, and its size: `system`, `tools` (definitions), `user`, `model`, `results`, and
    `new` (messages since the agent's last call)."""

    kind: Literal["system", "tools", "user", "model", "results", "new"]
    tokens: int


class SeenContext(TypedDict):
    """What the model saw.  `basis` is that of `tokens`, `parts_basis` that of the parts, whose sum `tokens` is.

    `cached` tokens came from the provider's cache.  `limit` is the model's window; null if it is not known.
    `complete`: the record has the whole context; false where the provider keeps a part of it (`previous_response_id`).
    """

    messages: int
    tokens: int | None
    basis: str
    limit: int | None
    parts: list[ContextPart]
    parts_basis: str
    cached: int | None
    complete: bool


class NewMessage(TypedDict):
    """A message that is new in the context, or that left it.  `seq` is the event that added it to the run.

    `result_of`: it is the result of this tool call (of an earlier turn, by `turn`).  `value` is the message, null if it
    is not stored; of those that left the context it is absent.
    """

    seq: int | None
    role: str
    message: str
    result_of: ShownCall | None
    turn: int | None
    value: NotRequired[dict[str, Any] | None]


class NewInContext(TypedDict):
    """What is new since the last call of this agent, which is turn `since` (null: this is its first).

    Of each list at most 100 are shown; `added_total`, `dropped_total` and `summarised_total` count all.  `compression`
    is the seq of the compression that took messages away.
    """

    since: int | None
    added: list[NewMessage]
    dropped: list[NewMessage]
    summarised: list[NewMessage]
    added_total: int
    dropped_total: int
    summarised_total: int
    compression: int | None


class TurnThought(TypedDict):
    """Reasoning: `text`, and where it comes from: `captured` (the provider returned it), `structured` (the model wrote
    it in its answer), or `inferred` (concluded from the messages; not the model's own words)."""

    basis: Literal["captured", "structured", "inferred"]
    text: str
    strength: Strength | None
    rule: str | None


class TurnChoice(TypedDict):
    """Why the turn did what it did, as a chain: what set it off, what was chosen, what was left.

    `trigger` is the kind of the newest input (as in inferred reasoning), `trigger_text` its text, cut.  `reason` is
    that of the first tool call, or of the answer; `kind` that of the attribution.
    """

    trigger: str
    trigger_text: str | None
    kind: str | None
    reason: str | None
    strength: Strength | None
    rule: str | None
    options: list[Option]


class TurnArgument(TypedDict):
    """An argument of a tool call: its `path`, like `flights[0].date`, in the order of the tool's definition, and where
    the value comes from.  `origin` is null for values that are not traced (code called the tool)."""

    path: str
    value: Any
    origin: ValueOrigin | None


class TurnCall(ShownCall):
    """A tool call of a turn.

    `result` is the ref of the result and `result_text` its text, of a long one the first 20,000 characters of
    `result_length`; null: it has none, or it is not stored (`missing`).  `kind` and `reason` say why it was called.
    `beside` are calls of other agents that were under way at its end.
    """

    arguments: list[TurnArgument]
    result: str | None
    result_text: str | None
    result_length: int | None
    missing: bool
    error: CallError | None
    raised: RunError | None
    kind: str | None
    reason: str | None
    strength: Strength | None
    rule: str | None
    promise: str | None
    beside: list[str]


class TurnEffect(TypedDict):
    """What a turn led to: the later event `seq` (of `turn`), in words, and why that is said."""

    seq: int
    turn: int | None
    text: str
    why: str
    strength: Strength
    rule: str


class StateChange(TypedDict):
    """A field of the state that this turn changed.  `before` is null where there was none."""

    path: str
    before: Any
    after: Any


class RunTurn(TypedDict):
    """One turn of a run, from the start of its model call `seq` to `last_seq`, the last event that belongs to it.

    `number` of `total`.  `answer` is the message that the model answered, null if there is none (yet, or not stored:
    `missing`); `to` says whom it was for, as in the list.  `error` is that of the model call.  `then` and `choice` take
    longer than the rest: they are empty, and null, without `why=true`.
    """

    run: str
    number: int
    total: int
    seq: int
    ended_seq: int | None
    last_seq: int
    event: str
    group: str | None
    agent: str | None
    model: str | None
    provider: str | None
    status: str
    time: str
    elapsed_ms: float | None
    model_ms: float | None
    first_chunk_ms: float | None
    stream: bool
    finish_reasons: list[str]
    usage: dict[str, int]
    cost: float | None
    saw: SeenContext
    new: NewInContext
    thoughts: list[TurnThought]
    choice: TurnChoice | None
    answer: dict[str, Any] | None
    answer_ref: str | None
    to: Literal["user"] | None
    calls: list[TurnCall]
    error: RunError | None
    then: list[TurnEffect]
    state: list[StateChange]
    missing: list[str]
    cut: NotRequired[list[CutText]]


# --- search in a run -------------------------------------------------------------------------------------------------


class RunHit(TypedDict):
    """A place in a run where the text stands: the event `seq` (of `turn`, if it is part of one).

    `where` is `user`, `answer`, `reasoning`, `system`, `arguments`, `result`, `error`, `state` or `name`.  `ref` is the
    content, `offset` and `length` count characters in the text of its `part`; `quote` is the text with some words
    before and after.
    """

    seq: int
    turn: int | None
    where: str
    ref: str | None
    part: int
    offset: int
    length: int
    quote: str


class RunHits(TypedDict):
    """A page of the places in a run where a text stands, in the order of the run.

    A content that several events name, such as a system prompt, counts once, at its first; arguments and results count
    at each call.  `contents` is the number of contents that were read for this page.  A page may have fewer items than
    were asked for, or none, although more follow: continue while there is a `next_cursor`.
    """

    items: list[RunHit]
    next_cursor: str | None
    contents: int


# --- operations ------------------------------------------------------------------------------------------------------

TurnNumber = Annotated[int, Bounds(ge=1, le=999_999_999, description="The number of the turn, from 1.")]
AfterRow = Annotated[int, Bounds(ge=0, le=999_999_999, description="Only lines with a greater seq.")]
Why = Annotated[bool, Bounds(description="Also why: `choice`, the origins of arguments, and `then`.")]
Sought = Annotated[
    str,
    Bounds(
        name="q",
        min_length=1,
        max_length=1_000,
        pattern=NO_NUL,
        description="The text to find, as it stands there; upper and lower case are the same.",
    ),
]


class TurnOperations:
    """A run turn by turn."""

    @get_list("/runs/{run}/turns", scope=READ, tag="runs", page_size=200, in_worker=True)
    def turns(self, run: RunName, *, after: AfterRow = 0, limit: Most = None) -> Page[TurnRow]:
        """Lines of a run: agents, messages of the user, turns with their tool calls, compressions, what it waited for.

        In order of their seq. What is under way has the status `open`.
        """
        ...

    @get("/runs/{run}/turns/{turn}", scope=READ, tag="runs", in_worker=True)
    def turn(self, run: RunName, turn: TurnNumber, *, why: Why = False) -> RunTurn:
        """One turn: what the model saw, what was new, what it answered, what it called, what followed."""
        ...

    @get_list("/runs/{run}/search", scope=READ, tag="runs", page_size=50, in_worker=True)
    def search_run(self, run: RunName, text: Sought, *, limit: Most = None) -> RunHits:
        """Places in a run where a text stands: names, messages, reasoning, arguments, results, errors, state.

        The texts themselves are read, whether the run has ended or not; no index is needed.
        """
        ...

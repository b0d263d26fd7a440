"""Search of the decisions and the texts of all runs."""

from collections.abc import Mapping
from typing import Annotated, Literal, TypedDict

from playhead.wire.operations.bounds import NO_NUL, Bounds, Most, Status, Time
from playhead.wire.operations.operation import READ, get_list

# --- answers ---------------------------------------------------------------------------------------------------------


class FoundValue(TypedDict):
    """An argument of a tool call.  `path` is like `flights[0].date`; `value` is a text, of a long one its first 200
    characters.  `source` and `suspect` are those of attributions (`ValueOrigin`), null where the value was not traced.
    """

    path: str
    value: str
    source: str | None
    suspect: bool | None


class FoundDecision(TypedDict):
    """A decision that was found.

    `kind` is tool_call, tool_request (asked for by a model; its execution was not recorded), answer, handoff, branch,
    approval or stop.  `attribution` says why a tool was called (`Attribution.kind`).  `result` of a tool call is ok,
    error (it raised, or its result reports an error), empty, cancelled, open or unknown (not recorded).  `after` is the
    result of the tool call of the same agent that had ended last, `first` if there was none.  `chosen` is what was
    decided where that is no tool.
    """

    run: str
    seq: int
    kind: str
    time: str
    agent: str | None
    tool: str | None
    values: list[FoundValue]
    attribution: str | None
    result: str | None
    after: str | None
    chosen: str | None
    run_status: str


class TextQuote(TypedDict):
    """A place in a text.  `offset` and `length` count characters in the text of a part; for a part that is not text, in
    its canonical JSON.  `quote` is the text with some words before and after it."""

    part: int
    offset: int
    length: int
    quote: str


class SeenIn(TypedDict):
    """A run that a content was a part of, and the seq of the event with which it entered."""

    run: str
    seq: int


class FoundText(TypedDict):
    """A content that was found.  `role` is that of a message.  `since` is when the first run began that was indexed
    with it.  `quotes`: where the words stand.  `seen`: up to 5 runs (if asked for by ref: up to `limit`), newest first;
    `more_runs`: there are others."""

    ref: str
    role: str | None
    since: str
    quotes: list[TextQuote]
    seen: list[SeenIn]
    more_runs: bool


class DecisionsFound(TypedDict):
    """A page of decisions that were found.  Send `next_cursor` as `cursor` to get the next page; null: this is the last
    page.  A page may have fewer items than `limit`, even none, although more follow.

    `unindexed`: number of sealed runs that the index does not have yet and that were not searched, at most 1000.  Runs
    that are not sealed are not searched.
    """

    items: list[FoundDecision]
    next_cursor: str | None
    unindexed: int


class TextsFound(TypedDict):
    """A page of contents that were found; the rest is as in `DecisionsFound`."""

    items: list[FoundText]
    next_cursor: str | None
    unindexed: int


# --- operations ------------------------------------------------------------------------------------------------------

_FOUND_PER_PAGE = 50
_OFF = {409: "Search is off."}

DecisionKind = Annotated[
    Literal["tool_call", "tool_request", "answer", "handoff", "branch", "approval", "stop"] | None,
    Bounds(description="What the agent did. `tool_request`: a model asked for a tool whose execution is not recorded."),
]
Reason = Annotated[
    Literal["user_request", "follow_up", "error_recovery", "plan_step", "agent_message", "agent_initiative", "unknown"]
    | None,
    Bounds(description="Why the tool was called."),
]
Source = Annotated[
    Literal["user", "tool_result", "assistant", "system", "definition", "derived", "not_found", "program", "invented"]
    | None,
    Bounds(description="Where a value of the arguments is from."),
]
Suspect = Annotated[bool | None, Bounds(description="Whether a value of the arguments is in doubt.")]
Result = Annotated[
    Literal["ok", "error", "empty", "cancelled", "open", "unknown"] | None,
    Bounds(description="What came of the tool call. `open`: it has not ended; `unknown`: that is not recorded."),
]
ResultBefore = Annotated[
    Literal["first", "ok", "error", "empty", "cancelled", "unknown"] | None,
    Bounds(description="What came of the agent's tool call before this one. `first`: there was none."),
]
OfTool = Annotated[
    str | None, Bounds(max_length=300, pattern=NO_NUL, description="Only decisions about the tool of this name.")
]
OfAgent = Annotated[
    str | None, Bounds(max_length=300, pattern=NO_NUL, description="Only decisions of the agent of this name.")
]
Role = Annotated[
    Literal["system", "user", "assistant", "tool", "developer"] | None,
    Bounds(description="Only messages of this role."),
]
StatusOfRun = Annotated[Status | None, Bounds(description="Only decisions of runs with this status.")]
Arguments = Annotated[
    Mapping[str, str] | None,
    Bounds(
        name="argument",
        as_pairs=True,
        max_length=20,
        description="`name=value`: an argument that the call has; may be repeated.",
    ),
]
AnyValue = Annotated[str | None, Bounds(max_length=10_000, pattern=NO_NUL, description="Value of any argument.")]
Words = Annotated[
    str | None, Bounds(name="q", max_length=1_000, pattern=NO_NUL, description='Words, `"phrases"`, `or`, `-not`.')
]
AnyRef = Annotated[str | None, Bounds(max_length=200, description="A content: who else saw it?")]


class SearchOperations:
    """Search for decisions and texts in all sealed runs. The collector indexes a run in the background, after it was
    sealed."""

    @get_list(
        "/search/decisions", scope=READ, tag="search", page_size=50, client_page=_FOUND_PER_PAGE, needs="search",
        also_refuses=_OFF,
    )  # fmt: skip
    def search_decisions(
        self,
        *,
        kind: DecisionKind = None,
        tool: OfTool = None,
        arguments: Arguments = None,
        value: AnyValue = None,
        attribution: Reason = None,
        source: Source = None,
        suspect: Suspect = None,
        result: Result = None,
        after: ResultBefore = None,
        agent: OfAgent = None,
        status: StatusOfRun = None,
        since: Time = None,
        until: Time = None,
        limit: Most = None,
    ) -> DecisionsFound:
        """Decisions of all sealed runs that meet all conditions: newest runs first, in each run the last decision
        first.

        Names and values have to be equal to those asked for. `argument` is by path (`flights[0].date`), by path without
        indices (`flights.date`) or by its last part (`date`). `source` and `suspect` are about the values that
        `argument` and `value` name, or about any value. `status` is that of the run; `since` and `until` limit the time
        when the run began.
        """
        ...

    @get_list(
        "/search/content", scope=READ, tag="search", page_size=20, client_page=_FOUND_PER_PAGE, one_item_of="ref",
        needs="search", also_refuses=_OFF,
    )  # fmt: skip
    def search_content(
        self,
        words: Words = None,
        *,
        ref: AnyRef = None,
        role: Role = None,
        since: Time = None,
        until: Time = None,
        limit: Most = None,
    ) -> TextsFound:
        """Contents of all sealed runs in whose text the words of `q` stand, those first that came up last, with quotes
        and the runs that saw them. Or, with `ref`: that content, and the runs that saw it.

        Messages, system instructions, arguments, results, reasoning, outputs and states are searched. `role` is that of
        messages. `since` and `until` limit the time when the first run began that had the content.
        """
        ...

"""Answers about reasons: of tool calls and the values in their arguments, of decisions, and of events.

They have their evidence: places in the context with quotes and offsets, the `rule` that found it, and the `strength` of
that rule (strong, likely or weak).  Offsets count characters in the text of a part; for a part that is not text, in its
canonical JSON.

Decisions of agents come with their options. The decision tree of a run has the path that it took, the options that it
left, and the runs that went another way.
"""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from playhead.wire.operations.bounds import AtEvent, Bounds, Cursor, Limit, Most, RunName
from playhead.wire.operations.operation import READ, get, get_list
from playhead.wire.operations.page import CutText, Page

Strength = Literal["strong", "likely", "weak"]
"""An ordered scale, not a probability. Each rule has a fixed strength; answers name the rule."""


class ContextQuote(TypedDict):
    """A place in a model's context.

    `seq` is the event that added its content to the run, null for content of every call (system instructions, tool
    definitions).  `source` is user, tool_result, assistant, system or definition.  `quote` is the text with some words
    before and after it.
    """

    seq: int | None
    content: str | None
    source: str
    part: int
    offset: int
    length: int
    quote: str


class AnotherSubject(TypedDict):
    """A sign that an argument belongs to another subject than the one that the call names.

    The call names the subject `value` at `path`, but the argument occurs only in records of the subjects `others`.
    """

    path: str
    value: str
    others: list[str]


class LiteralOrigin(TypedDict):
    """A literal or name in code that a model wrote.  `source`: where it occurs before; `invented` if nowhere."""

    text: str
    source: str


class ValueOrigin(TypedDict):
    """Origin of a value in a call's arguments; `path` is like `flights[0].date`.

    `source` is user, tool_result, assistant, system, definition (only in the tool's definition), derived, not_found (a
    usual word of code, which stands nowhere), program (built by the program, which made the call by itself), or
    invented.  `how` is exact, normalised, implied, or the way it was derived.  `first` and `last` are the first and
    last places of the value in the context.  `suspect`: the value has no origin, or facts in it have none
    (`unfounded`), or it belongs to another subject than the call (`another_subject`).
    """

    path: str
    value: Any
    source: str
    how: str
    strength: Strength
    rule: str
    note: str
    suspect: bool
    evidence: list[ContextQuote]
    first: ContextQuote | None
    last: ContextQuote | None
    unfounded: list[str]
    literals: list[LiteralOrigin]
    another_subject: AnotherSubject | None


class Evidence(TypedDict):
    """Evidence for an attribution; `what` is message, result, error, plan, reasoning, said, assistant or system."""

    what: str
    seq: int | None
    content: str | None
    part: int
    offset: int
    length: int
    quote: str


class Attribution(TypedDict):
    """Reason of a tool call.

    `kind` is user_request, follow_up, error_recovery, plan_step, agent_message, agent_initiative or unknown.
    `decided_at` is the seq of the end of the model call that requested it, null if code called the tool.  `arguments`
    are those that the model chose.  `suspects`: paths of the values that are suspect (see `ValueOrigin`).
    """

    run: str
    seq: int
    event: str
    name: str
    call_id: str | None
    actor: str | None
    decided_at: int | None
    arguments: Any
    kind: str
    strength: Strength
    rule: str
    reason: str
    evidence: list[Evidence]
    values: list[ValueOrigin]
    suspects: list[str]
    cut: NotRequired[list[CutText]]


class Decision(TypedDict):
    """A decision of an agent.

    `kind` is tool_selection, tool_arguments, answer, handoff, approval, branch or stop.  `call` is the seq of the model
    call that made it, null if code did.  `reason` is that of an annotation, or the model's text beside its choice.
    """

    seq: int
    event: str
    kind: str
    time: str
    actor: str | None
    call: int | None
    chosen: Any
    reason: str | None


class Option(TypedDict):
    """An option of a decision.

    `origin` is tool_definition, enum (values that a definition allows), same_response, annotation or approval.
    `considered` quotes the model's reasoning or text that mentions the option.
    """

    name: str
    description: str | None
    origin: str
    chosen: bool
    considered: str | None


class CallRange(TypedDict):
    """A model call of some run, from `seq` to `ended_seq`."""

    run: str
    seq: int
    ended_seq: int | None


class ElsewhereChoice(TypedDict):
    """A choice that other calls made with exactly this context.  `same`: it equals the choice of this decision."""

    chosen: Any
    same: bool
    calls: list[CallRange]


class DecisionContext(TypedDict):
    """Context of a decision: its thread, the number of messages, and the seqs of events that added the new ones."""

    call: int | None
    thread: str | None
    messages: int | None
    new: list[int]


class DecisionDetail(Decision):
    """A decision with its context and reasons, its options, and the choices of other calls with the same context."""

    run: str
    context: DecisionContext
    reasoning: str | None
    options: list[Option]
    elsewhere: list[ElsewhereChoice]
    attributions: list[Attribution]
    cut: NotRequired[list[CutText]]


class OutcomeScore(TypedDict):
    """The latest score of this name of a run as a whole; `label` is what the evaluator calls a number."""

    name: str
    value: float | bool | str
    label: str | None


class RunOutcome(TypedDict):
    """How a run ended, and its scores, newest first.  `status` is `running`, `completed`, `failed` or `cancelled`."""

    scores: list[OutcomeScore]
    status: str
    ended: str | None
    events: int
    errors: int


class UntakenOption(TypedDict):
    """An option that was open and not chosen.

    `origin` is tool_definition, enum (values that a definition allows), annotation or approval.  `considered` quotes
    the model's reasoning or text that mentions it.
    """

    name: str
    origin: str
    considered: str | None


class TreeBranch(TypedDict):
    """A run that has the path up to `at` in common with this one, and its outcome.

    `kind`: `fork` (a fork of this run, or another fork of a run above), `parent` (the run from which this one was
    forked, or one above it), or `sibling` (a run with a model call that had exactly the same context).  `at` is the seq
    in this run from which it goes its own way, `seq` the one in its own record.  `chosen` is its first choice from
    there on, null if it has none yet.  `same`: a sibling chose the same here, and only then met something else; null
    for forks and parents.
    """

    kind: str
    run: str
    name: str | None
    at: int
    seq: int
    chosen: Any
    same: bool | None
    outcome: RunOutcome


class TreeNode(Decision):
    """A decision on the path, with the options that were left and the runs that go another way from here."""

    untaken: list[UntakenOption]
    branches: list[TreeBranch]


class DecisionTree(TypedDict):
    """The decisions of a run in order, which are the path that it took, and the branches beside it.

    `items` is a page of the path; send `next_cursor` as `cursor` to get the next page.  `branches` has the runs that go
    another way behind the last decision; on the last page only.  `more_branches`: there are more runs than are shown
    (100 forks of each run, 100 siblings: those that have most in common with this run).
    """

    run: str
    name: str | None
    outcome: RunOutcome
    items: list[TreeNode]
    branches: list[TreeBranch]
    more_branches: bool
    next_cursor: str | None
    cut: NotRequired[list[CutText]]


class CausalNode(TypedDict):
    """An event as a node of a graph.  `distance` is the number of edges from the requested event."""

    seq: int
    event: str
    kind: str
    time: str
    actor: str | None
    label: str
    distance: int


class CausalEdge(TypedDict):
    """An edge: the event with seq `cause` is a cause of the event with seq `effect`.

    `why` is user_request, follow_up, error_recovery, plan_step, agent_initiative, value (of the argument at `path`),
    requested, returned, entered, answered, said, read, cites, replies, noted or ended.  `rule` is the rule that
    found the edge: of an attribution, of a value's origin, or of causes.
    """

    cause: int
    effect: int
    why: str
    path: str | None
    strength: Strength
    rule: str
    quote: str | None


class CausalGraph(TypedDict):
    """Causes and effects of an event.

    `roots` are the events without a cause among the nodes, usually messages of the user.  `truncated`: the graph has
    more nodes than the answer.
    """

    run: str
    seq: int
    direction: str
    nodes: list[CausalNode]
    edges: list[CausalEdge]
    roots: list[int]
    truncated: bool
    cut: NotRequired[list[CutText]]


# --- operations ------------------------------------------------------------------------------------------------------

Direction = Annotated[
    Literal["back", "forward", "both"],
    Bounds(description="`back`: causes of the event; `forward`: its effects."),
]


class WhyOperations:
    """Decisions of agents, reasons of tool calls, origins of their arguments, and causes of events."""

    @get_list("/runs/{run}/decisions", scope=READ, tag="why", page_size=100, in_worker=True)
    def decisions(self, run: RunName, *, limit: Most = None) -> Page[Decision]:
        """Decisions of the agents: tools, tool arguments, answers, handoffs, approvals, branches, stops."""
        ...

    @get("/runs/{run}/decisions/{seq}", scope=READ, tag="why", in_worker=True)
    def decision(self, run: RunName, at: AtEvent) -> DecisionDetail:
        """A decision with its context, the other options, and the reasons for it.

        `elsewhere` lists the answers of other model calls with exactly this context. For an event that is not a
        decision: the decision made in the call that the event belongs to.
        """
        ...

    @get("/runs/{run}/tree", scope=READ, tag="why", in_worker=True)
    def tree(self, run: RunName, *, limit: Limit = 100, cursor: Cursor = None) -> DecisionTree:
        """The path of decisions that the run took, the options that were left, and the runs that went another way.

        Those are its forks, the runs above it, and runs with a model call that had exactly the same context; each with
        its first choice and its outcome.
        """
        ...

    @get_list("/runs/{run}/attributions", scope=READ, tag="why", page_size=100, in_worker=True)
    def attributions(self, run: RunName, *, limit: Most = None) -> Page[Attribution]:
        """Reason of each tool call, and origin of every value in its arguments."""
        ...

    @get("/runs/{run}/attributions/{seq}", scope=READ, tag="why", in_worker=True, route_name="attribution")
    def why(self, run: RunName, at: AtEvent) -> Attribution:
        """Reason of the tool call that the event belongs to, and origin of every value in its arguments."""
        ...

    @get("/runs/{run}/causes/{seq}", scope=READ, tag="why", in_worker=True)
    def causes(self, run: RunName, at: AtEvent, *, direction: Direction = "both") -> CausalGraph:
        """Causes of an event, back to the user's messages, and its effects: nodes and edges of a graph."""
        ...

"""What the query API answers to "why": decisions, attributions with the provenance of values, causes.  See answers.py.

Every answer carries what it rests on: places in the context with quotes and offsets, and a confidence between 0 and 1.
An offset counts characters in a part's text; the text of a part that is no text is its canonical JSON.
"""

from typing import Any, NotRequired, TypedDict

from playhead.wire.answers.page import CutText


class Place(TypedDict):
    """A place in a model's context.

    `seq` is the event with which its content entered the run, null for what every call carries (system instructions,
    tool definitions).  `source` is user, tool_result, assistant, system or definition.  `quote` has some words around.
    """

    seq: int | None
    content: str | None
    source: str
    part: int
    offset: int
    length: int
    quote: str


class AnotherSubject(TypedDict):
    """Whose a value is when it is not that of what the call names: the call names `value` at `path`, and the value
    stands in records of `others` only."""

    path: str
    value: str
    others: list[str]


class LiteralOrigin(TypedDict):
    """A literal or name of code that a model wrote, and who said it; invented: nobody."""

    text: str
    source: str


class ValueOrigin(TypedDict):
    """Where a value in a call's arguments is from; `path` is like `flights[0].date`.

    `source` is user, tool_result, assistant, system, definition (stands in the tool's definition only), derived, or
    invented; `how` is exact, normalised, implied, or how it was derived.  `first` and `last` are where it stands in the
    context, whatever it is from.  `suspect`: it comes from nowhere, or (`unfounded`) facts in it do, or it is that of
    something else than what the call names (`another_subject`).
    """

    path: str
    value: Any
    source: str
    how: str
    confidence: float
    note: str
    suspect: bool
    evidence: list[Place]
    first: Place | None
    last: Place | None
    unfounded: list[str]
    literals: list[LiteralOrigin]
    another_subject: AnotherSubject | None


class Evidence(TypedDict):
    """What speaks for an attribution: `what` is message, result, error, plan, reasoning, said, assistant or system."""

    what: str
    seq: int | None
    content: str | None
    part: int
    offset: int
    length: int
    quote: str


class Attribution(TypedDict):
    """Why a tool was called.

    `kind` is user_request, follow_up, error_recovery, plan_step, agent_message, agent_initiative or unknown.
    `decided_at` is the end
    of the model call that asked for it, null when code called it by itself.  `arguments` are those that the model
    chose.  `suspects`: paths of values that come from nowhere, or are another one's.
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
    confidence: float
    reason: str
    evidence: list[Evidence]
    values: list[ValueOrigin]
    suspects: list[str]
    cut: NotRequired[list[CutText]]


class Decision(TypedDict):
    """A point where the agent chose.

    `kind` is tool_selection, tool_arguments, answer, handoff, approval, branch or stop; `call` is the model call that
    it was made in, if any.  `reason` is what was said about it: an annotation's reason, or the words beside a choice.
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
    """Something that could have been chosen.

    `origin` is tool_definition, enum (values that a definition allows), same_response, annotation or approval.
    `considered` quotes the model where its reasoning or its words name it.
    """

    name: str
    description: str | None
    origin: str
    chosen: bool
    considered: str | None


class CallPlace(TypedDict):
    """A model call of some run, from `seq` to `ended_seq`."""

    run: str
    seq: int
    ended_seq: int | None


class ElsewhereChoice(TypedDict):
    """What other calls with exactly this context answered; `same`: it is what was chosen here."""

    chosen: Any
    same: bool
    calls: list[CallPlace]


class DecisionContext(TypedDict):
    """What was before the decision: the thread, how many messages it has, and the events of those that were new."""

    call: int | None
    thread: str | None
    messages: int | None
    new: list[int]


class DecisionDetail(Decision):
    """A decision with what led to it, what else was open, and what was chosen elsewhere in exactly this context."""

    run: str
    context: DecisionContext
    reasoning: str | None
    options: list[Option]
    elsewhere: list[ElsewhereChoice]
    attributions: list[Attribution]
    cut: NotRequired[list[CutText]]


class CausalNode(TypedDict):
    """An event as a node of a graph.  `distance` is the number of edges from the event in question."""

    seq: int
    event: str
    kind: str
    time: str
    actor: str | None
    label: str
    distance: int


class CausalEdge(TypedDict):
    """`effect` rests on `cause`.

    `why` is user_request, follow_up, error_recovery, plan_step, agent_initiative, value (of the argument at `path`),
    requested, returned, entered, answered, said, read, cites, replies, noted or ended.
    """

    cause: int
    effect: int
    why: str
    path: str | None
    confidence: float
    quote: str | None


class CausalGraph(TypedDict):
    """What an event rests on, and what rested on it.

    `roots` are events without a cause among the nodes: the user's words, usually.  `truncated`: there is more.
    """

    run: str
    seq: int
    direction: str
    nodes: list[CausalNode]
    edges: list[CausalEdge]
    roots: list[int]
    truncated: bool
    cut: NotRequired[list[CutText]]

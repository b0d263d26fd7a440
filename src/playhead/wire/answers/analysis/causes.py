"""Answers about causes and effects of events."""

from typing import NotRequired, TypedDict

from playhead.wire.answers.page import CutText
from playhead.wire.answers.strength import Strength


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

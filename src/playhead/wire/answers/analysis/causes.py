"""Answers about causes: which event rests on which."""

from typing import NotRequired, TypedDict

from playhead.wire.answers.page import CutText
from playhead.wire.answers.strength import Strength


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
    requested, returned, entered, answered, said, read, cites, replies, noted or ended.  `rule` found it: that of an
    attribution or a value, or one of causes.
    """

    cause: int
    effect: int
    why: str
    path: str | None
    strength: Strength
    rule: str
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

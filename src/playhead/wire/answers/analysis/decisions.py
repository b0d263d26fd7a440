"""Answers about decisions of agents and their options."""

from typing import Any, NotRequired, TypedDict

from playhead.wire.answers.analysis.provenance import Attribution
from playhead.wire.answers.page import CutText


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

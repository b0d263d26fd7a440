"""Answers about decisions: where the agent chose, and what else was open."""

from typing import Any, NotRequired, TypedDict

from playhead.wire.answers.analysis.provenance import Attribution
from playhead.wire.answers.page import CutText


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

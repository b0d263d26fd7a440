"""Answers about provenance: why a tool was called, and where each value in its arguments is from.

Every answer carries what it rests on: places in the context with quotes and offsets, the `rule` that gave it, and the
`strength` of that rule (strong, likely or weak).
An offset counts characters in a part's text; the text of a part that is no text is its canonical JSON.
"""

from typing import Any, NotRequired, TypedDict

from playhead.wire.answers.page import CutText
from playhead.wire.answers.strength import Strength


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
    strength: Strength
    rule: str
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
    strength: Strength
    rule: str
    reason: str
    evidence: list[Evidence]
    values: list[ValueOrigin]
    suspects: list[str]
    cut: NotRequired[list[CutText]]

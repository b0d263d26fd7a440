"""Answers about provenance: the reason of a tool call, and the origin of each value in its arguments.

Every answer has its evidence: places in the context with quotes and offsets, the `rule` that found it, and the
`strength` of that rule (strong, likely or weak).  Offsets count characters in the text of a part; for a part that is
not text, in its canonical JSON.
"""

from typing import Any, NotRequired, TypedDict

from playhead.wire.answers.page import CutText
from playhead.wire.answers.strength import Strength


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

    `source` is user, tool_result, assistant, system, definition (only in the tool's definition), derived, or invented.
    `how` is exact, normalised, implied, or the way it was derived.  `first` and `last` are the first and last places of
    the value in the context.  `suspect`: the value has no origin, or facts in it have none (`unfounded`), or it belongs
    to another subject than the call (`another_subject`).
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

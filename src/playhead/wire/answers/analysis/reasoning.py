"""Answers about what a model was thinking: as it was captured, as it was written down, and as it can be inferred."""

from typing import Any, NotRequired, TypedDict

from playhead.wire.answers.calls import LlmCall
from playhead.wire.answers.page import CutText
from playhead.wire.answers.strength import Strength


class Quoted(TypedDict):
    """Words of a recorded text: the content `ref`, its `part` (for messages), and offsets in that part's text.

    `seq` is where it entered the run, null when that is not known.
    """

    seq: int | None
    ref: str | None
    part: int
    start: int
    end: int
    text: str


class ReasonedOption(TypedDict):
    """A way that the model considered, with what it saw for and against it."""

    name: Quoted
    about: list[Quoted]
    pros: list[Quoted]
    cons: list[Quoted]


class StructuredReasoning(TypedDict):
    """Reasoning that the model wrote down in a form: between tags in its answer, or in its captured thinking.

    `source` is `answer` or `thinking`.  What fits none of the fields is kept in `rest`, so that nothing is lost.
    """

    source: str
    tag: str
    whole: Quoted
    goal: list[Quoted]
    observation: list[Quoted]
    options: list[ReasonedOption]
    decision: list[Quoted]
    rest: list[Quoted]


class InferredStep(TypedDict):
    """What something inferred rests on: `what` it is evidence of, and the words."""

    what: str
    quote: Quoted


class ChangedArgument(TypedDict):
    """An argument that a repeated tool call gave another value."""

    path: str
    before: Any
    after: Any


class InferredReasoning(TypedDict):
    """What can be concluded from what was new in the context since the last decision.  Never the model's own words.

    `trigger` is what the model was just told: `user_message`, `tool_result`, `tool_error`, `model_error` (the call
    before failed), `system_message`, `compression`, or `none`.  `goal` is the request that it most likely served, and
    `goal_origin` says where that is from: `user_message` (the latest), `earlier_user_message` or `system_message`.
    `pattern` reads like `tool_error -> retry_with_changed_argument`; null while the call has not answered.
    `strength` and `rule` are those of the weaker of trigger and goal.
    """

    basis: str
    trigger: str
    trigger_quotes: list[Quoted]
    goal: Quoted | None
    goal_origin: str | None
    action: str | None
    pattern: str | None
    changed: list[ChangedArgument]
    summary: str
    evidence: list[InferredStep]
    strength: Strength
    rule: str


class Explanation(TypedDict):
    """What a model that the operator configured says about a decision (`seq`), or about the whole run (`seq` null).

    It is an opinion, made afterwards from `refs`: the contents that the model was shown; `shown` says how much of them.
    `goal`, `key_decisions`, `mistakes` and `alternatives` (what could have been done) are read from its answer, whose
    whole `text` is kept.  It is stored as content under `ref`; `cached` says that it was made earlier.
    """

    run: str
    seq: int | None
    model: str
    ref: str
    cached: bool
    created: str
    text: str
    goal: str | None
    key_decisions: list[str]
    mistakes: list[str]
    alternatives: list[str]
    refs: list[str]
    shown: str


class Reasoning(TypedDict):
    """What the model was thinking at a call.

    `captured` is thinking as its provider gave it, null when it gave none; `ref` names it, and a `ref` whose `captured`
    is null says that the content is not stored.  `structured` is what the model wrote down in a form, `inferred` what
    follows from what it was told, and `explanation` what a model said afterwards, if it was asked.
    """

    run: str
    call: LlmCall
    ref: str | None
    captured: Any
    structured: list[StructuredReasoning]
    inferred: InferredReasoning
    explanation: Explanation | None
    cut: NotRequired[list[CutText]]

"""Answers about a model's reasoning: captured, structured, inferred, and explained by another model.

Also the answer of a model that was asked once more what a recorded call asked, with some of it changed.
"""

from typing import Any, NotRequired, TypedDict

from playhead.wire.operations.calls import LlmCall
from playhead.wire.operations.page import CutText
from playhead.wire.operations.why import Strength


class Quoted(TypedDict):
    """A quote from a recorded text: the content's `ref`, the `part` (of a message), and offsets in that part's text.

    `seq` is the event that added the content to the run, null if not known.
    """

    seq: int | None
    ref: str | None
    part: int
    start: int
    end: int
    text: str


class ReasonedOption(TypedDict):
    """An option that the model considered, with its arguments for and against it."""

    name: Quoted
    about: list[Quoted]
    pros: list[Quoted]
    cons: list[Quoted]


class StructuredReasoning(TypedDict):
    """Reasoning that the model wrote between tags, in its answer or in its captured thinking.

    `source` is `answer` or `thinking`.  Text that belongs to none of the fields is in `rest`.
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
    """Evidence for an inference: `what` it supports, and the quote."""

    what: str
    quote: Quoted


class ChangedArgument(TypedDict):
    """An argument whose value differs in a repeated tool call."""

    path: str
    before: Any
    after: Any


class InferredReasoning(TypedDict):
    """Conclusions from the messages that were new in the context since the last decision; not the model's own words.

    `trigger` is the kind of the newest input: `user_message`, `tool_result`, `tool_error`, `model_error` (the call
    before failed), `system_message`, `compression`, or `none`.  `goal` is the request that the call most likely served;
    `goal_origin` is `user_message` (the latest), `earlier_user_message` or `system_message`.  `pattern` has the form
    `tool_error -> retry_with_changed_argument`; null until the call has ended.  `strength` and `rule` are those of
    trigger or goal, whichever is weaker.
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
    """Explanation of a decision (`seq`), or of the whole run (`seq` null), by a model that the operator configured.

    It is an opinion, made afterwards from the contents in `refs`; `shown` says how much of them the model got.  `goal`,
    `key_decisions`, `mistakes` and `alternatives` are parsed from its answer, which is in `text`.  The explanation is
    stored as content under `ref`; `cached`: it was made by an earlier request.
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
    """Reasoning of a model at a call.

    `captured` is the thinking that the provider returned and `ref` its content; if only `captured` is null, the content
    is not stored, and if both are null, there was none.  `structured` is reasoning that the model wrote between tags.
    `inferred` follows from the call's input.  `explanation` is the stored one of another model, null if there is none.
    """

    run: str
    call: LlmCall
    ref: str | None
    captured: Any
    structured: list[StructuredReasoning]
    inferred: InferredReasoning
    explanation: Explanation | None
    cut: NotRequired[list[CutText]]


class AskedAnswer(TypedDict):
    """What a model answered: the tools that it asked for, as `{"name", "arguments"}`, and its text."""

    tools: list[dict[str, Any]]
    text: str | None


class AskedAgain(TypedDict):
    """A call of a run asked again, of a model that the operator configured.  Nothing of it becomes a part of the run.

    `seq` is that of the recorded call, `changed` what differs from it (`model`, `system`, `messages`).  `answer` is the
    new answer, `recorded` the one in the record, null if it has none; `same`: both are equal.  `settings` are those of
    the recorded request that were taken over.  `usage` has the tokens that were reported.  The whole is kept as content
    under `ref` until the run is deleted.
    """

    run: str
    seq: int
    model: str
    created: str
    changed: list[str]
    system: str | None
    messages: list[dict[str, Any]] | None
    settings: dict[str, Any]
    answer: AskedAnswer
    recorded: AskedAnswer | None
    same: bool
    finish_reason: str | None
    usage: dict[str, int]
    ref: str

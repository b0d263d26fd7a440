"""Answers about a model's reasoning: captured, structured, inferred, and explained by another model.

Also the answer of a model that was asked once more what a recorded call asked, with some of it changed.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired, TypedDict

from playhead.wire.operations.bounds import MOMENT, AtEvent, Bounds, RunName
from playhead.wire.operations.calls import LlmCall
from playhead.wire.operations.operation import ADMIN, READ, StrictBody, get, post
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


class RejectedOption(TypedDict):
    """An option that the model did not take, and why: in its words, else its arguments against it."""

    option: Quoted
    because: list[Quoted]


class StructuredReasoning(TypedDict):
    """Reasoning that the model wrote between tags, in its answer or in its captured thinking.

    `source` is `answer` or `thinking`.  Text that belongs to none of the fields is in `rest`.  `selected_option` is the
    name of the option that `decision` names, else what it says before its reason; null without a decision.
    `rationale` is that reason, else the arguments for the option.
    """

    source: str
    tag: str
    whole: Quoted
    goal: list[Quoted]
    observation: list[Quoted]
    options: list[ReasonedOption]
    decision: list[Quoted]
    selected_option: Quoted | None
    rationale: list[Quoted]
    rejected_because: list[RejectedOption]
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
    trigger or goal, whichever is weaker.  `similar_calls` counts the tool calls in the context that name a tool which
    this call requested, `same_calls` those of them with equal arguments.
    """

    basis: str
    trigger: str
    trigger_quotes: list[Quoted]
    goal: Quoted | None
    goal_origin: str | None
    action: str | None
    pattern: str | None
    changed: list[ChangedArgument]
    similar_calls: int
    same_calls: int
    summary: str
    evidence: list[InferredStep]
    strength: Strength
    rule: str


class Explanation(TypedDict):
    """Explanation of a decision (`seq`), or of the whole run (`seq` null), by a model that the operator configured.

    It is an opinion, made afterwards from the contents in `refs`; `shown` says how much of them the model got.  `goal`,
    `key_decisions`, `mistakes` and `alternatives` are parsed from its answer, which is in `text`.  `confidence` is the
    share (0 to 1) that the model gives itself, null if it gave none.  The explanation is stored as content under `ref`;
    `cached`: it was made by an earlier request.
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
    confidence: float | None
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

    `seq` is that of the recorded call, `changed` what differs from it (`model`, `system`, `messages`, `settings`).
    `answer` is the new answer, `recorded` the one in the record, null if it has none; `same`: both are equal.
    `settings` are those that were sent: of the recorded request, with the changes.  `usage` has the tokens that were
    reported.  The whole is kept as content under `ref` until the run is deleted.
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


# --- operations ------------------------------------------------------------------------------------------------------

Explained = Annotated[
    int | str | None,
    Bounds(
        name="seq",
        description="A seq, an event id or `turn:N`: explain the decision it belongs to; default: the whole run.",
    ),
]
Streamed = Annotated[bool, Bounds(description="Stream the answer, as with `Accept: text/event-stream`.")]
Again = Annotated[bool, Bounds(description="Ask the model again, although an explanation is stored.")]
AskedCall = Annotated[int | str | None, Bounds(description=f"{MOMENT}: an event of the call; default: the last call.")]
AskedModel = Annotated[
    str | None,
    Bounds(max_length=300, description="One of the configured models; default: PLAYHEAD_EXPLAIN_MODEL."),
]
OtherSystem = Annotated[str | None, Bounds(description="System instructions in place of the recorded ones.")]
OtherMessages = Annotated[
    Sequence[Mapping[str, Any]] | None,
    Bounds(
        min_length=1,
        max_length=10_000,
        description="Messages of Chat Completions in place of the recorded ones, but for the system instructions.",
    ),
]
OtherSettings = Annotated[
    Mapping[str, int | float | str | Sequence[str] | None] | None,
    Bounds(
        description="Settings in place of the recorded ones, such as `temperature`. Null leaves one out; what is not "
        "named stays as recorded.",
    ),
]


class ReasoningOperations:
    """Reasoning of a model at a call, and what other models say to it."""

    @get("/runs/{run}/reasoning/{seq}", scope=READ, tag="moments", in_worker=True)
    def reasoning(self, run: RunName, at: AtEvent) -> Reasoning:
        """Reasoning of the model at the call that the event belongs to.

        Four parts: thinking that the provider returned, structured reasoning in the model's text, what can be inferred
        from the call's input, and a stored explanation, if there is one.
        """
        ...

    @post(
        "/runs/{run}/explain",
        scope=READ,
        tag="moments",
        needs="explainer",
        also_refuses={409: "", 502: ""},
        answer_text="The explanation. Streamed: events `text`, `explanation` and `error`.",
        media_type="text/event-stream",
    )
    def explain(
        self, run: RunName, at: Explained = None, *, stream: Streamed = False, again: Again = False
    ) -> Explanation:
        """Ask a model to explain a decision or the whole run: goal, key decisions, mistakes, alternatives.

        The answer is the opinion of the model that the operator configured. 409 when none is configured, 502 when it
        does not answer. The explanation is stored and returned again without asking the model, unless `again` is true.
        A stream has events `text` (`{"text": a piece}`), then `explanation` (the whole answer) or `error`.
        """
        ...

    # Not for the scope `read`: whoever asks spends the operator's money on any prompt. Other members of the body are
    # refused, because a misspelt one would be ignored: the unchanged call would be sent, and cost money.
    @post(
        "/runs/{run}/ask-again",
        scope=ADMIN,
        tag="why",
        needs="chat_models",
        also_refuses={413: "", 502: "", 409: ""},
        strict_body=StrictBody("AskAgainBody", "What is asked, and what differs from the record."),
    )
    def ask_again(
        self,
        run: RunName,
        at: AskedCall = None,
        *,
        model: AskedModel = None,
        system: OtherSystem = None,
        messages: OtherMessages = None,
        settings: OtherSettings = None,
    ) -> AskedAgain:
        """Ask a recorded model call again, with another prompt, other messages or settings, or of another model.

        The model is one that the operator configured; it is sent the recorded context and tools, with the changes. Its
        answer is compared with the recorded one, and kept as content beside the run, never as an event of it. 409 when
        no model is configured, 502 when it does not answer.
        """
        ...

"""Answers about compressions of a context: removed messages, lost facts, and lost facts that were needed later."""

from typing import Any, Literal, NotRequired, TypedDict

from playhead.wire.operations.bounds import AtEvent, Most, RunName
from playhead.wire.operations.operation import READ, get, get_list, post
from playhead.wire.operations.page import CutText, Page
from playhead.wire.operations.reasoning import Quoted
from playhead.wire.operations.why import Strength

FoundBy = Literal["rule", "model"]


class MessageCounts(TypedDict):
    """Numbers of messages before the compression (with the answer to the call before) and after it.

    `before` is the sum of `kept`, `summarised` and `dropped`; `moved` of the kept ones stand in another order.
    """

    before: int
    after: int
    kept: int
    moved: int
    summarised: int
    dropped: int


class TokensSaved(TypedDict):
    """Input tokens of the last call before and of the first call after; null if not known.

    `basis`: `reported` by the provider, else as declared by the program, `calibrated` (one number estimated and scaled
    by the reported other one) or `estimated`.
    """

    before: int | None
    after: int | None
    saved: int | None
    basis: str


class RecordedCompression(TypedDict):
    """A compression: messages were removed from a context.

    `origin` is `declared` (by the program), `inferred` (from the input of a call) or `provider`.  `strategy` is
    `summary`, `sliding_window`, `tool_result_masking`, `dropped_tool_results`, `hybrid` (masking and summary), `edit`,
    `selection`, `unknown`, or the declared one.  `call` is the seq of the first model call after it, `summariser` that
    of the model call that wrote the summary; null if none is known.  `refs` has the threads `before` and `after`, the
    `summary` and the `policy`.

    Of a managed context: `trigger` is `threshold`, `manual` or `limit_error`, `note` what the program said, `fallback`
    why the policy's fallback was used, `preserved_messages` how many messages no compression removes; else null and 0.
    """

    run: str
    seq: int
    event: str
    time: str
    actor: str | None
    origin: str
    strategy: str | None
    call: int | None
    summariser: int | None
    trigger: str | None
    note: str | None
    fallback: str | None
    preserved_messages: int
    messages: MessageCounts
    tokens: TokensSaved
    refs: dict[str, str]


class ContextMessage(TypedDict):
    """A message of the context: its `position` (from 0), and the `seq` at which it was added to the run.

    `after` is its position in the new context, `moved` whether its order among the kept ones changed.  `summary` is
    the ref of the message that summarises it, `replaced_by` the ref of the message at its position now (a masked
    result, an edit).  `value` is the message, unless it was kept.  `lost` is the number of lost facts that were said
    here first, or were read here when they were needed later; `needed` counts those that were needed.
    `tags` and `preserved` are those that the program gave it.
    """

    position: int
    seq: int | None
    role: str | None
    message: str
    value: NotRequired[Any]
    after: int | None
    moved: bool
    summary: str | None
    replaced_by: str | None
    lost: int
    needed: int
    tags: list[str]
    preserved: bool


class FactNeeded(TypedDict):
    """Evidence that a lost fact was needed later, at `seq`.

    `how`: `asked_again` (the agent asked the user for it), `told_again` (the user repeated it), `looked_up_again` (a
    tool returned it again), `wrong_value` (the agent used `value` instead, which is in no message), `missed` (an answer
    or an error says that it is missing), `used` (the agent had it from another source).
    """

    how: str
    seq: int
    value: str | None
    quotes: list[Quoted]
    strength: Strength
    rule: str


class LostFact(TypedDict):
    """A fact in the removed messages that is neither in the summary nor in the kept messages.

    `by`: whether a `rule` found it, or a `model` says so, which is an opinion.  `kind`: `identifier`, `number`, `date`,
    `name`, `path`, `url`, `quoted` or `code`, and of sentences `goal`, `instruction`, `preference` or `error`; of a
    model also `decision` and `fact`.  `label` is its name in the text.
    It occurs `times` times; `quotes` has the first few.
    """

    by: FoundBy
    kind: str
    text: str
    label: str | None
    times: int
    quotes: list[Quoted]
    needed: list[FactNeeded]


class NeededFacts(TypedDict):
    """Lost facts of one message that one later step needed.

    `seq` is the event of that step and `how` the evidence, as in `FactNeeded`; `used_seq` is the event that used them,
    if that is another one.  `read_seq` is the event of the message that they were read from: of the messages that say
    a fact, the one that says most of those that the step needed.  `values` are what the agent used instead.  `strength`
    is that of the strongest evidence.
    """

    how: str
    seq: int
    used_seq: int | None
    read_seq: int
    facts: list[str]
    values: list[str]
    strength: Strength
    rule: str


class KeptIn(TypedDict):
    """Where a fact still stands: in the `summary`, in the `system` instructions, or in what was `kept` or said anew.

    `ref`, `part`, `start` and `end` are those of the first text that has it word by word; null if it stands there only
    in another form.
    """

    where: str
    ref: str | None
    part: int | None
    start: int | None
    end: int | None


class PreservedFact(TypedDict):
    """A fact in the removed messages that the context after the compression still has; see `LostFact`."""

    by: FoundBy
    kind: str
    text: str
    label: str | None
    times: int
    quotes: list[Quoted]
    kept_in: list[KeptIn]


class CompressionAudit(RecordedCompression):
    """What happened to each message of a compression, and to the facts in removed messages.

    `summary` is the summarising message.  `needs` are the facts that were needed later, in groups of one need, each
    fact in the group of its strongest evidence; the strongest groups are first.  `lost` begins with the facts that
    were needed later; `lost_total` is the number of all lost facts.  `preserved` are those facts of the removed
    messages that are not lost; of each list 500 are shown.  Later needs were searched up to the event `searched_to`.
    `strength` and `rule` belong to `strategy` and `summary`.  `missing`: refs that are not stored; facts in them are
    not found.
    """

    kept: list[ContextMessage]
    summarised: list[ContextMessage]
    dropped: list[ContextMessage]
    summary: Any
    strength: Strength
    rule: str
    reason: str
    needs: list[NeededFacts]
    lost: list[LostFact]
    lost_total: int
    needed_total: int
    preserved: list[PreservedFact]
    preserved_total: int
    searched_to: int
    missing: list[str]
    cut: NotRequired[list[CutText]]


class JudgedCompression(TypedDict):
    """What a model that the operator configured says about the facts of a compression.

    It is the opinion of `model`, and stands beside what the rules of the audit found: each fact has `by: model`, and
    neither evidence that it was needed nor a place where it is kept.  Facts are quoted from the removed messages;
    `unquoted` is the number of those whose words are in none of them, which are left out.  `shown` says how much the
    model was shown, `text` is its whole answer.
    """

    run: str
    seq: int
    model: str
    created: str
    lost: list[LostFact]
    preserved: list[PreservedFact]
    unquoted: int
    shown: str
    text: str


# --- operations ------------------------------------------------------------------------------------------------------


class CompressionOperations:
    """Compressions of contexts and the facts lost in them."""

    @get_list("/runs/{run}/compressions", scope=READ, tag="moments", page_size=100, in_worker=True)
    def compressions(self, run: RunName, *, limit: Most = None) -> Page[RecordedCompression]:
        """Compressions of contexts, declared or inferred, with counts of messages and tokens before and after."""
        ...

    @get("/runs/{run}/compressions/{seq}", scope=READ, tag="moments", in_worker=True)
    def compression(self, run: RunName, at: AtEvent) -> CompressionAudit:
        """Audit of a compression: what happened to each message, which facts were lost and needed later."""
        ...

    @post(
        "/runs/{run}/compressions/{seq}/judge",
        scope=READ,
        tag="moments",
        needs="explainer",
        also_refuses={409: "", 502: ""},
    )
    def judge_compression(self, run: RunName, at: AtEvent) -> JudgedCompression:
        """Ask a model which facts a compression lost, beside those that rules find.

        The answer is the opinion of the model that the operator configured. 409 when none is configured, 502 when it
        does not answer. The model is asked each time.
        """
        ...

"""Answers about compressions of a context: what went, which facts were lost, which of them were needed."""

from typing import Any, NotRequired, TypedDict

from playhead.wire.answers.analysis.reasoning import Quoted
from playhead.wire.answers.page import CutText
from playhead.wire.answers.strength import Strength


class MessageCounts(TypedDict):
    """How many messages there were before (with the answer to the call before) and after, and what became of them.

    `before` is always `kept` + `summarised` + `dropped`.
    """

    before: int
    after: int
    kept: int
    summarised: int
    dropped: int


class TokensSaved(TypedDict):
    """Input tokens of the call before and of the first call after; null when not known.

    `basis`: `reported` by the provider, else `calibrated` (estimated, with what was reported of one as the measure for
    the other) or `estimated`.
    """

    before: int | None
    after: int | None
    saved: int | None
    basis: str


class Compression(TypedDict):
    """A context that lost messages.

    `origin` is `declared` (by who made it) or `inferred` (from what a call was given).  `strategy` is `summary`,
    `sliding_window`, `tool_result_masking`, `dropped_tool_results`, `hybrid` (masked and summed up), `edit`,
    `selection`, or what was declared.  `call` is the seq of the first model call after it, `refs` are the threads
    `before` and `after` and the `summary`.
    """

    run: str
    seq: int
    event: str
    time: str
    actor: str | None
    origin: str
    strategy: str | None
    call: int | None
    messages: MessageCounts
    tokens: TokensSaved
    refs: dict[str, str]


class MessagePlace(TypedDict):
    """A message of the context: where it was (`position`, from 0), and where it had entered the run (`seq`).

    `after` is its position in the new context; `summary` names the message that stands for it now, `replaced_by` one
    that took its place (a masked result, an edit).  `value` is the message, of those that were not kept.
    """

    position: int
    seq: int | None
    role: str | None
    message: str
    value: NotRequired[Any]
    after: int | None
    summary: str | None
    replaced_by: str | None


class FactNeeded(TypedDict):
    """That a lost fact was needed later, at `seq`.

    `how`: `asked_again` (the agent asked the user for it), `told_again`, `looked_up_again` (a tool gave it once more),
    `wrong_value` (the agent named `value` instead, which nobody had said), `used` (the agent had it from elsewhere).
    """

    how: str
    seq: int
    value: str | None
    quotes: list[Quoted]
    strength: Strength
    rule: str


class LostFact(TypedDict):
    """Something said in what went that neither the summary nor what was kept says.

    `kind`: `identifier`, `number`, `date`, `name`, `path`, `url`, `quoted` or `code`; `label` is what the text called
    it.  `places` are the first few of `times` places.
    """

    kind: str
    text: str
    label: str | None
    times: int
    places: list[Quoted]
    needed: list[FactNeeded]


class CompressionAudit(Compression):
    """What became of every message, and of the facts in those that went.

    `summary` is the message that sums up.  `lost` begins with facts that were needed later; `lost_total` counts all.
    `searched_to` is the last event that was looked at for needs.  `strength` and `rule` are about strategy and summary.
    `missing`: refs not stored (what they said cannot be missed).
    """

    kept: list[MessagePlace]
    summarised: list[MessagePlace]
    dropped: list[MessagePlace]
    summary: Any
    strength: Strength
    rule: str
    reason: str
    lost: list[LostFact]
    lost_total: int
    needed_total: int
    searched_to: int
    missing: list[str]
    cut: NotRequired[list[CutText]]

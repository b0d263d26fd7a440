"""Answers about tokens: sizes of a run's contexts, the models' limits, and cost.

`basis` says how a number of tokens was determined: `reported` by the provider, `calibrated` (an estimate from the
text's length, scaled by what the provider reported for this model in other calls), or `estimated` (from the text's
length alone).
"""

from typing import Annotated, NotRequired, TypedDict

from playhead.wire.operations.bounds import Bounds, Cursor, Limit, RunName
from playhead.wire.operations.operation import READ, get


class Calibration(TypedDict):
    """`factor` by which a model counts more tokens than the estimate, from the given number of `calls` in `scope`.

    `scope` is `run` (calls of this run) or `project` (calls of other runs, if none of this run reported).
    """

    factor: float
    calls: int
    scope: str


class ModelPrice(TypedDict):
    """Prices of a million tokens, in the table's currency.

    `matched` is the model's name in the price table, `source` the source of its price, null if none is given.
    """

    matched: str
    input: float
    output: float
    cache_read: float | None
    cache_write: float | None
    source: str | None


class ModelTokens(TypedDict):
    """A model of the run: context `limit` in tokens, price, calibration of estimates, and usage.

    Null means not known.  `cost` is the sum over calls with known cost; the `unpriced_calls` are not in it, because
    they reported no usage or the model has no price.
    """

    model: str | None
    calls: int
    limit: int | None
    price: ModelPrice | None
    calibration: Calibration | None
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int | None
    cache_hit_share: float | None
    cost: float | None
    unpriced_calls: int


class SectionTokens(TypedDict):
    """Tokens of a section of the system prompt."""

    name: str
    tokens: int


class TokenSplit(TypedDict):
    """What the context of a call consists of, and its output, in tokens.

    `system`: system instructions; `tools`: definitions of tools; `retrieved`: results of tools in messages; `history`:
    all other messages.  The four add up to the call's context.  `basis` is the weakest of the parts: the provider
    counts the whole, so that its parts are `calibrated` at best.  `sections`: what `system` consists of, where the
    program rendered it of sections (`playhead.Prompt`); text around them is in none.
    """

    system: int
    tools: int
    history: int
    retrieved: int
    output: int
    basis: str
    sections: NotRequired[list[SectionTokens]]


class TotalSplit(TokenSplit):
    """Sums over `calls` calls: what is sent again in each call counts each time."""

    calls: int


class CompressionTokens(TypedDict):
    """What a compression saved, and what its summary cost.

    `origin`, `strategy`, `trigger`, `note`, `fallback` and `policy` (a ref) are those of the compression.  `before` and
    `after` are the input tokens of the same agent's calls around it, where the provider counted both; else as declared;
    `saved` is their difference, negative if the context grew.  `summary_calls` are the seqs of the model calls that
    wrote the summary, with their tokens and cost.  Null means not known: a provider that summarises on the way to an
    answer may count both together.
    """

    origin: str
    strategy: str | None
    trigger: str | None
    note: str | None
    fallback: str | None
    policy: str | None
    before: int | None
    after: int | None
    saved: int | None
    summary_calls: list[int]
    summary_input_tokens: int | None
    summary_output_tokens: int | None
    summary_cost: float | None


class CompressionTotals(TypedDict):
    """What all compressions of a run saved, each once, and what their summaries cost.

    `declared` of the `compressions` were declared by the program.  `saved` is the sum over those where it is known;
    `unknown` is the number of the others.  `summary_calls` is the number of model calls that wrote summaries.
    """

    compressions: int
    declared: int
    saved: int | None
    unknown: int
    summary_calls: int
    summary_input_tokens: int | None
    summary_output_tokens: int | None
    summary_cost: float | None


class TokenTotals(TypedDict):
    """Totals of the run: reported usage with that of providers' own summaries, cost, and the largest context.

    `cache_hit_share` is the share of reported input tokens that came from a provider's cache; null if none reported it.
    `peak_call` is the seq of the call with the largest context.  `split` is of all calls, so that it takes long in long
    runs; with `calls=true` there is none.
    """

    calls: int
    unreported_calls: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    reasoning_tokens: int | None
    cache_hit_share: float | None
    cost: float | None
    unpriced_calls: int
    context_peak: int | None
    peak_call: int | None
    peak_ratio: float | None
    warnings: int
    compressions: list[int]
    compressed: CompressionTotals
    split: NotRequired[TotalSplit | None]


class TokenPoint(TypedDict):
    """Change of a context's size by an event, in tokens.  `added` is negative if a compression reduced the size.

    `context` is the size directly after the event, for the conversation of the model call `call` (a seq).  `level` is
    `ok`, or `warning` from the share `warn_at` of the model's limit on, or null if the limit is not known.  Points of
    ended model calls have `cost` and `cache_hit_share`; those of compressions have `compression`.  With `split=true`,
    those of `llm_called` have `split`; null if a part of the context is not stored.
    """

    seq: int
    event: str
    time: str
    kind: str
    actor: str | None
    call: int | None
    model: str | None
    role: str | None
    added: int | None
    added_basis: str | None
    context: int | None
    context_basis: str | None
    limit: int | None
    ratio: float | None
    level: str | None
    usage: dict[str, int]
    cache_hit_share: float | None
    cost: float | None
    compression: NotRequired[CompressionTokens]
    split: NotRequired[TokenSplit | None]


class PriceTable(TypedDict):
    """The price table that was used: as of `date`, from `source`, in `currency`."""

    date: str
    source: str
    currency: str


class TokenTimeline(TypedDict):
    """Sizes of a run's contexts: one point for each message, model call and compression, in order.

    `items` is a page of the points; send `next_cursor` as `cursor` to get the next page.
    """

    run: str
    warn_at: float
    prices: PriceTable
    models: list[ModelTokens]
    totals: TokenTotals
    items: list[TokenPoint]
    next_cursor: str | None


# --- operations ------------------------------------------------------------------------------------------------------

Split = Annotated[
    bool,
    Bounds(description="Also what the contexts consist of: system, tools, history, retrieved; and the output."),
]
CallsOnly = Annotated[
    bool,
    Bounds(description="Only compressions and model calls: a point where each call begins and one where it ends."),
]


class TokenOperations:
    """Tokens and cost of a run's contexts."""

    @get("/runs/{run}/tokens", scope=READ, tag="runs", in_worker=True)
    def tokens(
        self,
        run: RunName,
        *,
        limit: Limit = 1_000,
        cursor: Cursor = None,
        split: Split = False,
        calls: CallsOnly = False,
    ) -> TokenTimeline:
        """Sizes of the contexts in tokens, limits of the models, compressions, usage, cost, share of cached input.

        Each number of tokens has a basis: reported, calibrated or estimated.
        """
        ...

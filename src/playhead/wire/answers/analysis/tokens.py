"""Answers about tokens: how a run's contexts grew, against their models' limits, and what that cost.

`basis` says where a number of tokens is from: `reported` by the provider, `calibrated` (an estimate from the text's
length, scaled so that it fits what the provider reported for this model elsewhere), or `estimated` (from the text's
length alone).
"""

from typing import TypedDict


class Calibration(TypedDict):
    """How much more tokens a model counts than the plain estimate: `factor`, resting on so many calls of `scope`.

    `scope` is `run` (calls of this run) or `project` (calls of other runs, when this one has none that reported).
    """

    factor: float
    calls: int
    scope: str


class ModelPrice(TypedDict):
    """What a million tokens cost, in the table's currency.

    `matched` is the table's name for the model, `source` what that line was checked against; null: nothing.
    """

    matched: str
    input: float
    output: float
    cache_read: float | None
    cache_write: float | None
    source: str | None


class ModelTokens(TypedDict):
    """A model of the run: how many tokens its context may have, what it costs, and how estimates for it are made.

    What is null is not known, which is not zero.  `cost` sums the calls whose cost is known; `unpriced_calls` are not
    in it, because they reported no usage, or because the model has no price.
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


class TokenTotals(TypedDict):
    """The whole run: usage as providers reported it, its cost, and how full its contexts became.

    `cache_hit_share` is the part of reported input tokens that came from a provider's cache; null when no call said.
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
    peak_ratio: float | None
    warnings: int
    compressions: list[int]


class TokenPoint(TypedDict):
    """What an event did to a context.  `added` is negative where a compression removed more than it added.

    `context` is the total right after it, of the conversation that `call` (a seq) belongs to; `level` is `ok`, or
    `warning` from `warn_at` of the model's limit on, or null when the limit is not known.  On an ended model call stand
    what it cost and how much of its input came from a cache.
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


class PriceTable(TypedDict):
    """Which prices were used: as of `date`, from `source`, in `currency`."""

    date: str
    source: str
    currency: str


class TokenTimeline(TypedDict):
    """How a run's contexts grew: one point for each message, model call and compression, in order.

    `items` is a part of them; give `next_cursor` back as `cursor` for the next part.
    """

    run: str
    warn_at: float
    prices: PriceTable
    models: list[ModelTokens]
    totals: TokenTotals
    items: list[TokenPoint]
    next_cursor: str | None

"""Handlers of tokens and cost of a run's contexts."""

from playhead.wire.operations.tokens import TokenOperations, TokenTimeline
from playhead_collector.analysis.tokens.tokens import answer_tokens
from playhead_collector.handlers.asking import Asking
from playhead_collector.handlers.handling import handles
from playhead_collector.read.paging import read_seq


@handles(TokenOperations.tokens)
async def tokens(
    asking: Asking,
    run: str,
    *,
    limit: int = 1_000,
    cursor: str | None = None,
    split: bool = False,
    calls: bool = False,
) -> TokenTimeline:
    record = await asking.record(run)
    return await answer_tokens(record, asking.prices, limit, read_seq(cursor), split=split, calls=calls)

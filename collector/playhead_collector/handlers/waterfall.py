"""Handler of the calls of a run in time."""

from playhead.wire.operations.waterfall import Waterfall, WaterfallOperations
from playhead_collector.analysis.waterfall import answer_waterfall
from playhead_collector.handlers.asking import Asking
from playhead_collector.handlers.handling import handles
from playhead_collector.read.paging import read_seq


@handles(WaterfallOperations.waterfall)
async def waterfall(
    asking: Asking, run: str, *, after: int = 0, limit: int = 5_000, cursor: str | None = None
) -> Waterfall:
    return await answer_waterfall(await asking.record(run), after=after, limit=limit, cursor=read_seq(cursor))

"""Handlers of comparisons of two runs."""

from playhead.wire.operations.compare import CompareOperations, Comparison
from playhead_collector.analysis.compare.comparison import answer_compare
from playhead_collector.handlers.asking import Asking
from playhead_collector.handlers.handling import handles
from playhead_collector.read.paging import read_seq


@handles(CompareOperations.compare)
async def compare(asking: Asking, a: str, b: str, *, limit: int = 100, cursor: str | None = None) -> Comparison:
    return await answer_compare(await asking.record(a), await asking.record(b), limit=limit, after=read_seq(cursor))

"""Handlers of differences between two events of a run."""

from playhead.wire.operations.moments import Diff, DiffOperations
from playhead_collector.handlers.asking import Asking
from playhead_collector.handlers.handling import handles
from playhead_collector.read.diff import answer_diff


@handles(DiffOperations.diff)
async def diff(
    asking: Asking,
    run: str,
    before: int | str | None = None,
    after: int | str | None = None,
    *,
    hydrate: bool = True,
) -> Diff:
    begin, end = (None if at is None else str(at) for at in (before, after))
    return await answer_diff(await asking.record(run), begin, end, hydrate, asking.prices)

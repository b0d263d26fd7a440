"""Handlers of what came of a run."""

from playhead.wire.operations.verdict import RunVerdict, VerdictOperations
from playhead_collector.analysis.turns.verdict import answer_verdict
from playhead_collector.handlers.asking import Asking
from playhead_collector.handlers.handling import handles


@handles(VerdictOperations.verdict)
async def verdict(asking: Asking, run: str) -> RunVerdict:
    return await answer_verdict(await asking.record(run))

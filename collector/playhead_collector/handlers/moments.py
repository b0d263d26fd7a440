"""Handlers of moments of a run."""

from playhead.wire.operations.moments import MomentOperations, StateAt
from playhead_collector.handlers.asking import Asking
from playhead_collector.handlers.handling import handles
from playhead_collector.read.state import answer_state


@handles(MomentOperations.state)
async def state(asking: Asking, run: str, *, at: int | str | None = None, hydrate: bool = False) -> StateAt:
    return await answer_state(await asking.record(run), None if at is None else str(at), hydrate, asking.prices)

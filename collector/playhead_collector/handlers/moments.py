"""Handlers of moments of a run."""

from playhead.wire.operations.moments import CheckpointEntry, MomentOperations, StateAt
from playhead.wire.operations.page import Page
from playhead_collector.handlers.asking import Asking
from playhead_collector.handlers.handling import handles
from playhead_collector.read.events import list_checkpoints
from playhead_collector.read.paging import read_seq
from playhead_collector.read.state import answer_state


@handles(MomentOperations.state)
async def state(asking: Asking, run: str, *, at: int | str | None = None, hydrate: bool = False) -> StateAt:
    return await answer_state(await asking.record(run), None if at is None else str(at), hydrate, asking.prices)


@handles(MomentOperations.checkpoints)
async def checkpoints(asking: Asking, run: str, *, preview: int = 0, limit: int | None = None) -> Page[CheckpointEntry]:
    return await list_checkpoints(await asking.record(run), asking.page(limit), read_seq(asking.cursor), preview)

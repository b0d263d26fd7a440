"""Handlers of a run turn by turn."""

from typing import Any

from playhead.wire.operations.turns import TurnOperations
from playhead_collector.handlers.asking import Asking
from playhead_collector.handlers.handling import handles


@handles(TurnOperations.turns)
async def turns(asking: Asking, run: Any, *, after: Any = 0, limit: Any = None) -> Any:
    raise NotImplementedError


@handles(TurnOperations.turn)
async def turn(asking: Asking, run: Any, turn: Any, *, why: Any = False) -> Any:
    raise NotImplementedError


@handles(TurnOperations.search_run)
async def search_run(asking: Asking, run: Any, text: Any, *, limit: Any = None) -> Any:
    raise NotImplementedError

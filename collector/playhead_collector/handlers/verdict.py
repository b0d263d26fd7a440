"""Handlers of what came of a run."""

from typing import Any

from playhead.wire.operations.verdict import VerdictOperations
from playhead_collector.handlers.asking import Asking
from playhead_collector.handlers.handling import handles


@handles(VerdictOperations.verdict)
async def verdict(asking: Asking, run: Any) -> Any:
    raise NotImplementedError

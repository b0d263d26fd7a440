"""[workers]: work that a collector does in the background, when clients and the projector leave it time.

What is the same for all such work: it goes on for ever, waits while the store or the worker processes cannot be had,
and survives its own faults.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from playhead_collector.errors import Refused, StoreUnavailable
from playhead_collector.workers.ports import Analysis
from playhead_collector.workers.questions import AnalysisQuestion

log = logging.getLogger(__name__)

DELETED: Final = 404
"""Status of a refusal for a run that was deleted meanwhile."""
_RETRY_SECONDS = 30.0
_LEAST_SECONDS = 0.05
# Codes of refusals that concern the worker processes, not the runs.
_NO_PROCESS = frozenset({"too_many_questions", "analysis_not_started"})


async def keep_working(run_once: Callable[[], Awaitable[float]], what: str) -> None:
    """Calls `run_once` for ever. It returns the seconds until the next call, and may raise StoreUnavailable. `what`
    names the work in the log."""
    while True:
        wait_seconds = _RETRY_SECONDS
        with suppress(StoreUnavailable):  # the projection runner reports it
            try:
                wait_seconds = await run_once()
            except StoreUnavailable:
                raise
            except Exception:
                log.exception("%s failed; trying again in %.0f s", what, _RETRY_SECONDS)
        await asyncio.sleep(max(wait_seconds, _LEAST_SECONDS))


async def ask_when_free(analysis: Analysis, question: AnalysisQuestion) -> Any:
    """Returns the answer of a worker process. Raises Refused; StoreUnavailable if no process is free: ask again
    later."""
    try:
        return json.loads(await analysis.ask(question))
    except Refused as error:
        if error.code in _NO_PROCESS:
            raise StoreUnavailable(str(error)) from error
        raise

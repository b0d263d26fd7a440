"""[workers]: work that a collector does in the background, when clients and the projector leave it time.

What is the same for all such work: it goes on for ever, waits while the store or the worker processes cannot be had,
and survives its own faults.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final

from playhead_collector.background import BackgroundLoop, keep_working
from playhead_collector.errors import Refused, StoreUnavailable
from playhead_collector.workers.ports import Analysis
from playhead_collector.workers.questions import AnalysisQuestion

DELETED: Final = 404
"""Status of a refusal for a run that was deleted meanwhile."""
# Codes of refusals that concern the worker processes, not the runs.
_NO_PROCESS = frozenset({"too_many_questions", "analysis_not_started"})


class SpareTimeWorker(ABC):
    """Work of one kind that goes on for ever, a portion at a time. It rests as long as it has worked."""

    def __init__(
        self, name: str, what: str, *, poll_seconds: float, is_busy: Callable[[], bool], clock: Callable[[], float]
    ) -> None:
        """Looks for work every `poll_seconds`, and waits while `is_busy()`. `clock` gives seconds; `name` is that of
        the task in debuggers, `what` names the work in the log."""
        self._what = what
        self._poll_seconds = poll_seconds
        self._is_busy = is_busy
        self._clock = clock
        self._loop = BackgroundLoop(self._keep_working, name)

    def start(self) -> None:
        """Starts the background loop."""
        self._loop.start()

    async def stop(self) -> None:
        """Stops. Work in progress is abandoned, and done again after the next start."""
        await self._loop.stop()

    async def run_once(self) -> float:
        """Does a portion of what is due. Returns the seconds until the next call. Raises StoreUnavailable."""
        if self._is_busy():
            return self._poll_seconds
        began = self._clock()
        return self._clock() - began if await self._work() else self._poll_seconds

    @abstractmethod
    async def _work(self) -> bool:
        """Does a portion of what is due; returns whether something was. Raises StoreUnavailable."""

    async def _keep_working(self) -> None:
        await keep_working(self.run_once, self._what)


async def ask_when_free(analysis: Analysis, question: AnalysisQuestion) -> Any:
    """Returns the answer of a worker process. Raises Refused; StoreUnavailable if no process is free: ask again
    later."""
    try:
        return json.loads(await analysis.ask(question))
    except Refused as error:
        if error.code in _NO_PROCESS:
            raise StoreUnavailable(str(error)) from error
        raise

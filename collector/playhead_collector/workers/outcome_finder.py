"""store → [workers]: finds out in the background what lists of runs say about them: the first suspect of a
failed run, the cost by the prices in force.

Suspects are computed in a worker process for background work, and so is what happened in runs that an older version of
Playhead projected. Clients' questions and a backlog of the projector go first, and it rests as long as it has worked.
Several collectors on one database may do the same work twice, and store the same.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from time import monotonic, time_ns
from typing import Any

from playhead.projection.happened import LastMoment
from playhead.projection.run_row import FirstSuspect
from playhead.wire.operations.suspects import SuspectOperations, Suspects
from playhead_collector.errors import Refused, StoreUnavailable
from playhead_collector.projection import Pricing
from playhead_collector.store.ports.outcomes import FailedRun, OutcomeStore, UndescribedRun
from playhead_collector.workers.ports import Analysis
from playhead_collector.workers.questions import AnalysisQuestion
from playhead_collector.workers.spare_time import DELETED, SpareTimeWorker, ask_when_free

log = logging.getLogger(__name__)

_DESCRIBED_AT_A_TIME = 64
# Computing so many costs takes some milliseconds.
_PRICED_AT_A_TIME = 500


class OutcomeFinder(SpareTimeWorker):
    """Finds out what came of runs, in the background."""

    def __init__(
        self,
        outcomes: OutcomeStore,
        analysis: Analysis,
        prices: Pricing,
        *,
        find_suspects: bool = True,
        poll_seconds: float = 1.0,
        is_busy: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = monotonic,
        wall_ns: Callable[[], int] = time_ns,
    ) -> None:
        """Looks for work every `poll_seconds`, and waits while `is_busy()`. `clock` gives seconds, `wall_ns` ns since
        1970."""
        super().__init__(
            "playhead outcome finder",
            "finding out what came of runs",
            poll_seconds=poll_seconds,
            is_busy=is_busy,
            clock=clock,
        )
        self.counts: Counter[str] = Counter()  # described, priced, suspected, failed
        self._outcomes = outcomes
        self._analysis = analysis
        self._prices = prices
        self._price_table = prices.number
        self._has_priced_all = False
        self._find_suspects = find_suspects
        self._wall_ns = wall_ns

    async def _work(self) -> bool:
        return await self._describe() or await self._price() or await self._suspect()

    # --- what happened ---------------------------------------------------------------------------------------------

    async def _describe(self) -> bool:
        due = await self._outcomes.undescribed_runs(_DESCRIBED_AT_A_TIME)
        for run in due:
            await self._outcomes.write_moment(run, await self._moment_of(run))
            self.counts["described"] += 1
        return bool(due)

    async def _moment_of(self, run: UndescribedRun) -> LastMoment | None:
        """Returns what happened in a run that an older version of Playhead projected."""
        answer = await self._ask(AnalysisQuestion("happened", run.project_id, (run.run,), {}))
        return None if answer is None or answer["moment"] is None else LastMoment(**answer["moment"])

    # --- costs -----------------------------------------------------------------------------------------------------

    async def _price(self) -> bool:
        if self._has_priced_all:  # runs that come later are priced when they are projected
            return False
        due = await self._outcomes.unpriced_runs(self._price_table, _PRICED_AT_A_TIME)
        self._has_priced_all = not due
        for project_id in dict.fromkeys(project_id for project_id, _ in due):
            costs = {row.run: self._prices.cost_of(row.usage) for project, row in due if project == project_id}
            await self._outcomes.write_costs(project_id, self._price_table, costs)
        self.counts["priced"] += len(due)
        return bool(due)

    # --- suspects --------------------------------------------------------------------------------------------------

    async def _suspect(self) -> bool:
        due = await self._outcomes.failed_runs(1) if self._find_suspects else ()
        for run in due:
            suspect = await self._first_suspect(run)
            await self._outcomes.write_suspect(run, suspect, self._wall_ns())
            self.counts["suspected"] += suspect is not None
        return bool(due)

    async def _first_suspect(self, run: FailedRun) -> FirstSuspect | None:
        values = {"run": run.run, "limit": 1}
        question = AnalysisQuestion(
            SuspectOperations.suspects.key, run.project_id, (), {"values": values, "cursor": None}
        )
        answer: Suspects | None = await self._ask(question)
        if answer is None or not answer["items"]:
            return None
        first = answer["items"][0]
        reason = first["findings"][0]["reason"] if first["findings"] else first["rule"]
        return FirstSuspect(
            first["strength"], first["rule"], reason, first["seq"], first["turn"], found_ns=self._wall_ns()
        )

    # --- the worker processes --------------------------------------------------------------------------------------

    async def _ask(self, question: AnalysisQuestion) -> Any:
        """Returns the answer; None if it takes too long, or the run cannot be read. Raises StoreUnavailable if no
        process is free."""
        try:
            return await ask_when_free(self._analysis, question)
        except StoreUnavailable:
            raise
        except Refused as error:
            if error.status != DELETED:
                self._note_failure(question, error)
        except Exception as error:  # noqa: BLE001 - logged; one run must not keep the others from being looked at
            self._note_failure(question, error)
        return None

    def _note_failure(self, question: AnalysisQuestion, error: Exception) -> None:
        self.counts["failed"] += 1
        values: Mapping[str, Any] = question.options.get("values", {})
        run = question.runs[0] if question.runs else values.get("run")
        log.warning("lists do not say what happened in run %s: %s", run, error)

"""store → [workers]: keeps the search index up to date: indexes sealed runs in the background, a few at a time.

A worker process for background work reads and indexes the runs, so this module only sends questions to it. It begins
with nothing while clients' questions are answered or the projector has a backlog, and rests as long as it has worked.
"""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from time import monotonic

from playhead_collector.analysis.search.settings import SearchSettings
from playhead_collector.errors import Refused, StoreUnavailable
from playhead_collector.store.ports.search import SearchIndex, UnindexedRun
from playhead_collector.workers.ports import Analysis
from playhead_collector.workers.questions import AnalysisQuestion
from playhead_collector.workers.spare_time import DELETED, SpareTimeWorker, ask_when_free

log = logging.getLogger(__name__)

# Runs per question to the worker: indexing short ones takes some tens of milliseconds.
_AT_A_TIME = 8


class SearchIndexer(SpareTimeWorker):
    """Indexes sealed runs in the background."""

    def __init__(
        self,
        index: SearchIndex,
        analysis: Analysis,
        settings: SearchSettings,
        *,
        poll_seconds: float = 1.0,
        is_busy: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Looks for sealed runs every `poll_seconds`, and waits while `is_busy()`. `clock` gives seconds."""
        super().__init__(
            "playhead search indexer",
            "indexing runs for search",
            poll_seconds=poll_seconds,
            is_busy=is_busy,
            clock=clock,
        )
        self.counts: Counter[str] = Counter()  # indexed, without_sources, failed
        self._search_index = index
        self._analysis = analysis
        self._settings = settings

    async def _work(self) -> bool:
        due = await self._search_index.unindexed_runs(_AT_A_TIME)
        for project_id in dict.fromkeys(run.project_id for run in due):
            await self._index([run for run in due if run.project_id == project_id])
        return bool(due)

    async def _index(self, runs: Sequence[UnindexedRun]) -> None:
        """Indexes runs of a project together. If that fails: one by one; then without the sources of values, which take
        most of the time. A run that cannot be read at all is left out."""
        if await self._try_to_index(runs, attribute=True):
            return
        for run in runs:
            if len(runs) > 1 and await self._try_to_index([run], attribute=True):
                continue
            if await self._try_to_index([run], attribute=False):
                self.counts["without_sources"] += 1
                continue
            self.counts["failed"] += 1
            log.warning("run %s cannot be indexed, and is not found by searches", run.run)
            await self._search_index.leave_unindexed(run.project_id, run.run)

    async def _try_to_index(self, runs: Sequence[UnindexedRun], *, attribute: bool) -> bool:
        options = {
            "attribute": attribute, "language": self._settings.language, "characters": self._settings.characters
        }  # fmt: skip
        question = AnalysisQuestion("index", runs[0].project_id, tuple(run.run for run in runs), options)
        try:
            answer = await ask_when_free(self._analysis, question)
        except StoreUnavailable:
            raise
        except Refused as error:
            return len(runs) == 1 and error.status == DELETED
        except Exception:  # one run must not keep the others from being indexed
            log.exception("indexing %s failed; please report this", ", ".join(run.run for run in runs))
            return False
        self.counts["indexed"] += len(answer["indexed"])
        return True


def indexer_of(
    settings: SearchSettings | None, index: SearchIndex, analysis: Analysis, is_busy: Callable[[], bool]
) -> SearchIndexer | None:
    """Returns the indexer of a collector; None without `settings`: search is off."""
    return None if settings is None else SearchIndexer(index, analysis, settings, is_busy=is_busy)
